"""`pilotlight inspect`: what is in a model, what it needs, and whether it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.console import RenderableType

from pilotlight.cli.entries import describe_entries
from pilotlight.cli.options import Request, model_command
from pilotlight.cli.streaming import counted_stream
from pilotlight.cli.talk import Talk

FILES = (".onnx", ".tflite")

if TYPE_CHECKING:
    from pilotlight.compiler import Build
    from pilotlight.toolchain import BuildInfo


def _file_operators(talk: Talk, request: Request) -> list[dict[str, Any]]:
    """Of a file of another framework: its operators, shown before the model is imported, which may fail."""
    if not request.model.endswith(FILES):
        return []
    with talk.loading_pytorch():
        from pilotlight.capture.source import file_operators
        from pilotlight.report.inspection import file_operator_table
    uses = [use.as_dict() for use in file_operators(request.model)]
    talk.show(file_operator_table(uses))
    return uses


@click.command("inspect", short_help="Show what is in a model, what it needs, and whether it fits.")
@model_command
@click.option("--dump", is_flag=True, help="Also print the graph after the passes.")
@click.option(
    "--candidates", is_flag=True, help="Also print which kernels could compute each layer, and why one was chosen."
)
def command(talk: Talk, request: Request, dump: bool, candidates: bool) -> None:
    """Show a model's operators, parameters and multiply-accumulates, the exact flash and RAM it needs, and
    whether it fits the board. Nothing is run, but of a streaming model a few steps to count them, if the board is
    emulated."""
    uses = _file_operators(talk, request)
    build = request.compile(talk)
    with talk.stage(f"compiling for {build.board.name} to get sizes"):
        info = build.build_for(build.board, check=False, need_compiler=False)
    from pilotlight.figures.candidates import candidates as layers
    from pilotlight.figures.inspection import inspect_build
    from pilotlight.programs import ProgramBuild
    from pilotlight.report.inspection import candidate_table, inspection_tables

    def described(one: Build, own: BuildInfo) -> dict[str, Any]:
        found = inspect_build(one, own)
        if one.graph.streaming is not None:
            found["stream"] = counted_stream(talk, one)
        if uses:
            found["file_operators"] = uses
        if candidates:
            found["layers"] = layers(one)
        if dump:
            found["graph"] = str(one.lowered)
        return found

    def tables(found: dict[str, Any]) -> list[RenderableType]:
        more = [candidate_table(found["layers"])] if candidates else []
        return [*inspection_tables(found), *more, *([found["graph"]] if dump else [])]

    if isinstance(build, ProgramBuild):
        found, shown = describe_entries(build, lambda entry: described(entry, info.of_entry(entry.entry)), tables)
    else:
        found = described(build, info)
        shown = tables(found)
    overflow = build.overflow(info)
    if overflow is not None and talk.as_json:
        raise overflow
    talk.result(found, *shown)
    if overflow is not None:
        raise overflow
