"""`pilotlight inspect`: what is in a model, what it needs, and whether it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.console import RenderableType

from pilotlight.cli.entries import describe_entries, refuse_options
from pilotlight.cli.options import Charge, Period, Request, model_command
from pilotlight.cli.streaming import counted_stream
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

FILES = (".onnx", ".tflite")

COUNTED_SECONDS = 30.0  # how long counting may take

if TYPE_CHECKING:
    from pilotlight.compiler import Build
    from pilotlight.measure.profile import Profile
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


def _counted(talk: Talk, build: Build) -> tuple[Profile | None, str | None]:
    """One inference on the example, where the board can be run and has a table of cycles; or why there is none."""
    from pilotlight.measure.profile import profile

    board = build.board
    if board.is_host or not board.runnable or board.cycles is None or build.graph.reference is None:
        return None, None
    try:
        with talk.stage(f"counting on {board.name}"), build.open(timeout=COUNTED_SECONDS) as running:
            if build.graph.states:
                running.reset()
            running.flat(build.graph.truth.example)
    except PilotlightError as error:
        return None, f"not counted: {error.message}"
    counts = running.device.counts
    if counts is None or not counts.runs:
        return None, running.device.counts_reason
    return profile(build.runnable_info, counts), None


def _check_tosa(talk: Talk, build: Build) -> None:
    """What the NPU is given against the model's own integers, where Arm's reference model is installed."""
    from pilotlight.npu import check, reference

    if reference.program() is None:
        return
    with talk.stage("comparing TOSA with the model's integers"):
        compared = check.check_parts(build.lowered)
    for partition in build.lowered.partitions:
        for row in partition.taken:
            if row["function"] in compared:
                row["figures"]["compared_bytes"] = compared[row["function"]]


@click.command("inspect", short_help="Show what is in a model, what it needs, and whether it fits.")
@model_command
@click.option("--dump", is_flag=True, help="Also print the graph after the passes.")
@click.option(
    "--candidates", is_flag=True, help="Also print which kernels could compute each layer, and why one was chosen."
)
@click.option("--no-count", is_flag=True, help="Do not run an inference to count its instructions.")
@click.option("--every", type=Period(), metavar="TIME",
              help="Also print what an inference every so often takes: 1s, 250ms, 5min, 1h or 1d.")
@click.option("--battery", type=Charge(), metavar="CHARGE", help="With --every: days on a battery, such as 220mAh.")
def command(
    talk: Talk, request: Request, dump: bool, candidates: bool, no_count: bool, every: float | None,
    battery: float | None,
) -> None:
    """Show a model's operators, parameters and multiply-accumulates, the exact flash and RAM it needs, and
    whether it fits the board. On a board that is emulated and has a table of cycles, one inference (of a streaming
    model a few steps) is run to count it, and its time is shown."""
    if battery is not None and every is None:
        raise PilotlightError("--battery needs --every", hint="such as --every 1s --battery 220mAh", kind="usage")
    if every is not None and no_count:
        raise PilotlightError("--every needs what --no-count leaves out", hint="omit one of them", kind="usage")
    uses = _file_operators(talk, request)
    build = request.compile(talk)
    with talk.stage(f"compiling for {build.board.name} to get sizes"):
        info = build.build_for(build.board, check=False, need_compiler=False)
    from pilotlight.figures.candidates import candidates as layers
    from pilotlight.figures.inspection import inspect_build
    from pilotlight.measure.energy import energy
    from pilotlight.programs import ProgramBuild
    from pilotlight.report.inspection import candidate_table, inspection_tables

    overflow = build.overflow(info)
    if isinstance(build, ProgramBuild):
        refuse_options(build, every=every)

    def described(one: Build, own: BuildInfo) -> dict[str, Any]:
        streams, alone = one.graph.streaming is not None, not isinstance(build, ProgramBuild)
        if request.choices.get("npu"):
            _check_tosa(talk, one)
        counts = alone and not (streams or no_count or overflow)
        counted, reason = _counted(talk, one) if counts else (None, None)
        found = inspect_build(one, own, counted) | ({"counts_reason": reason} if reason else {})
        if streams:
            found["stream"] = counted_stream(talk, one)
        if every is not None and streams:
            raise PilotlightError(
                "--every is for models that run at any time; a stream has the pace of its hop",
                hint="the load of the core is shown if --rate is given", kind="usage",
            )
        if every is not None and overflow is None:
            found["energy"] = energy(one.board, counted.timing if counted else None, every, battery).as_dict()
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
    if overflow is not None and talk.as_json:
        raise overflow
    talk.result(found, *shown)
    if overflow is not None:
        raise overflow
