"""`pilotlight inspect`: what is in a model, what it needs, and whether it fits."""

from __future__ import annotations

import click

from pilotlight.cli.options import Request, model_command
from pilotlight.cli.talk import Talk


@click.command("inspect", short_help="Show what is in a model, what it needs, and whether it fits.")
@model_command
@click.option("--dump", is_flag=True, help="Also print the graph after the passes.")
def command(talk: Talk, request: Request, dump: bool) -> None:
    """Show a model's operators, parameters and multiply-accumulates, the exact flash and RAM it needs, and
    whether it fits the board. Nothing is run."""
    build = request.compile(talk)
    with talk.stage(f"compiling for {build.board.name} to get sizes"):
        info = build.build_for(build.board, check=False, need_compiler=False)
    from pilotlight.figures.inspection import inspect_build
    from pilotlight.report.inspection import inspection_tables

    found = inspect_build(build, info)
    if dump:
        found["graph"] = str(build.lowered)
    overflow = build.overflow(info)
    if overflow is not None and talk.as_json:
        raise overflow
    talk.result(found, *inspection_tables(found), *([str(build.lowered)] if dump else []))
    if overflow is not None:
        raise overflow
