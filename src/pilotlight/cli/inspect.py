"""`pilotlight inspect`: what is in a model, what it needs, and whether it fits."""

from __future__ import annotations

import click

from pilotlight.cli.options import Request, model_command
from pilotlight.cli.talk import Talk


@click.command("inspect", short_help="Show what is in a model, what it needs, and whether it fits.")
@model_command
@click.option("--dump", is_flag=True, help="Also print the graph after the passes.")
@click.option(
    "--candidates", is_flag=True, help="Also print which kernels could compute each layer, and why one was chosen."
)
def command(talk: Talk, request: Request, dump: bool, candidates: bool) -> None:
    """Show a model's operators, parameters and multiply-accumulates, the exact flash and RAM it needs, and
    whether it fits the board. Nothing is run."""
    build = request.compile(talk)
    with talk.stage(f"compiling for {build.board.name} to get sizes"):
        info = build.build_for(build.board, check=False, need_compiler=False)
    from pilotlight.figures.candidates import candidates as layers
    from pilotlight.figures.inspection import inspect_build
    from pilotlight.report.inspection import candidate_table, inspection_tables

    found = inspect_build(build, info)
    if candidates:
        found["layers"] = layers(build)
    if dump:
        found["graph"] = str(build.lowered)
    overflow = build.overflow(info)
    if overflow is not None and talk.as_json:
        raise overflow
    more = [candidate_table(found["layers"])] if candidates else []
    talk.result(found, *inspection_tables(found), *more, *([str(build.lowered)] if dump else []))
    if overflow is not None:
        raise overflow
