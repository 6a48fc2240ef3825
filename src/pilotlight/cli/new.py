"""`pilotlight new`: a project around a model."""

from __future__ import annotations

from pathlib import Path

import click

from pilotlight import boards
from pilotlight.cli.options import Request, model_command
from pilotlight.cli.project import show_project, stored_arguments, write_project
from pilotlight.cli.talk import Talk
from pilotlight.emit.output import check_folder
from pilotlight.errors import PilotlightError
from pilotlight.projects.template import APPLICATIONS, DEFAULT_APPLICATION, all_templates, load_template


class TemplateHelp(click.Command):
    """Help that ends with the templates and their options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Templates"):
            formatter.write_dl([(template.name, template.title) for template in all_templates()])
        with formatter.section("Applications, as --app NAME"):
            formatter.write_dl(list(APPLICATIONS.items()))
        for template in all_templates():
            if template.options:
                with formatter.section(f"Options of the template {template.name}, as --option NAME=VALUE"):
                    formatter.write_dl([(o.name, f"{o.help}  [default: {o.default}]") for o in template.options])


@click.command("new", cls=TemplateHelp)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@model_command
@click.option("--template", "template_name", default="cmake", show_default=True, metavar="NAME",
              help="The environment of the project; see below.")
@click.option("--templates", type=click.Path(path_type=Path), metavar="FOLDER",
              help="A folder with templates of your own; also looked for in $PILOTLIGHT_TEMPLATES.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the template.")
@click.option("--app", default=DEFAULT_APPLICATION, show_default=True, metavar="NAME",
              help="What the project does; see below.")
@click.option("--code-in", metavar="MEM", help="The board's memory for the model's code, copied there at start-up.")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def command(
    talk: Talk, request: Request, folder: Path, template_name: str, templates: Path | None, options: tuple[str, ...],
    app: str, code_in: str | None, force: bool,
) -> None:
    """Write a complete project for MODEL into DIR: the model as C, an application, build files, a README.

    It builds without Pilotlight. `main.c` and `input.c` are yours; `pilotlight update` regenerates the rest.
    """
    check_folder(folder)
    template = load_template(template_name, templates)
    template.check_board(boards.load(request.board))
    given = dict(_option(text) for text in options)
    template.chosen(given)
    template.application(app)
    changes = write_project(
        talk, request, folder, template, given, code_in, app, stored_arguments(request, folder), templates,
        force=force,
    )
    show_project(talk, folder, template.name, request.board, changes)


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise PilotlightError(f"{text!r} is not NAME=VALUE, such as interval=500", kind="usage")
    return name, value
