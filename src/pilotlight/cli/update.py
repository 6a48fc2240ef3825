"""`pilotlight update`: a project's model again."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from pilotlight.cli.options import common
from pilotlight.cli.project import show_project, stored_request, write_project
from pilotlight.cli.talk import Talk
from pilotlight.projects.manifest import read_manifest
from pilotlight.projects.template import load_template


@click.command("update")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Also write those generated files anew that you have changed.")
@common
@click.pass_obj
def command(talk: Talk, folder: Path, force: bool) -> None:
    """Regenerate the model and the build files of a project.

    The model is compiled as it was by `pilotlight new`. What is yours stays (`main.c`, `input.c`); a generated file
    that you have changed stays too, and is named.
    """
    old = read_manifest(folder)
    templates = None if old.templates is None else folder / old.templates
    template = load_template(old.template, templates)
    request = stored_request(old.arguments, old.board, folder)
    with contextlib.redirect_stdout(sys.stderr):  # what the model's own code prints
        changes = write_project(
            talk, request, folder, template, old.options, old.code_in, old.app, old.arguments, templates, old=old,
            force=force,
        )
    show_project(talk, folder, template.name, old.board, changes)
