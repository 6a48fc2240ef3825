"""`pilotlight report`: show a saved run, or compare two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from pilotlight.cli.options import check_writable, common
from pilotlight.cli.talk import Talk
from pilotlight.report.html import render_report, render_versus, write_page
from pilotlight.report.profile import profile_table
from pilotlight.report.record import read_run, whole
from pilotlight.report.rows import operator_rows
from pilotlight.report.summary import run_title, summary_table
from pilotlight.report.versus import versus, versus_tables


@click.command("report", short_help="Show a run that was saved as JSON, or compare two.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN.json")
@click.argument("other", type=click.Path(path_type=Path), metavar="[OTHER.json]", required=False)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.html",
              help="Write an HTML page; default: tables in the terminal.")
@common
@click.pass_obj
def command(talk: Talk, run: Path, other: Path | None, output: Path | None) -> None:
    """Show what `pilotlight run MODEL --json > RUN.json` saved, or compare two such files.

    Two runs are compared figure by figure, and operator by operator where module and kind are the same.
    Nothing is compiled or run.
    """
    if output is not None:
        check_writable(output, "-o")
    first = read_run(run)
    if other is None:
        _show(talk, run, first, output)
    else:
        _compare(talk, (run, other), first, output)
    if output is not None:
        talk.note(f"wrote {output}")


def _show(talk: Talk, path: Path, run: dict[str, Any], output: Path | None) -> None:
    with whole(path):
        shown: list[RenderableType] = [run_title(run), summary_table(run)]
        if run["operators"]:
            shown.append(profile_table({**run, "operators": operator_rows(run)}))
        page = render_report(run)
    if output is not None:
        write_page(page, output)
    talk.result(run, *shown)


def _compare(talk: Talk, paths: tuple[Path, Path], first: dict[str, Any], output: Path | None) -> None:
    runs = first, read_run(paths[1])
    for path, run in zip(paths, runs, strict=True):
        with whole(path):
            summary_table(run)
            operator_rows(run)
    found = versus((str(paths[0]), str(paths[1])), *runs)
    if output is not None:
        write_page(render_versus(found), output)
    talk.result(found.as_dict(), *versus_tables(found))
