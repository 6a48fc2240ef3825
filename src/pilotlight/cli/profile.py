"""`pilotlight profile`: where the time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.console import RenderableType

from pilotlight.cli.entries import describe_entries, run_entries
from pilotlight.cli.options import DIFFERENT, Request, Seconds, model_command
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

if TYPE_CHECKING:
    from pilotlight.session import Session


@click.command("profile", short_help="Count the instructions of every operator.")
@model_command
@click.option("--timeout", type=Seconds(), default=120.0, show_default=True, metavar="SECONDS",
              help="How long the board may take to answer.")
def command(talk: Talk, request: Request, timeout: float) -> int:
    """Count the instructions of every operator in one inference on the example inputs.

    Operators are shown with the module and the source line they came from; they add up to the total exactly.
    Exits with 1 if the outputs differ from PyTorch's.
    """
    build = request.compile(talk, to_run=True)
    from pilotlight.programs import ProgramBuild
    from pilotlight.session import run_session

    if build.board.is_host:
        raise PilotlightError(
            "instructions are counted on emulated boards, not on host",
            hint="choose an emulated board of `pilotlight boards`", kind="not-countable",
        )
    if isinstance(build, ProgramBuild):
        sessions = run_entries(talk, build, timeout).entries
        data, shown = describe_entries(
            build, lambda entry: _result(sessions[entry.entry]), _shown
        )
        talk.result(data, *shown)
        return 0 if all(session.match for session in sessions.values()) else DIFFERENT
    with talk.stage(f"compiling for {build.board.name}"):
        _ = build.info
    with talk.stage(f"running on {build.board.name}"):
        example = None if build.graph.streaming else [build.graph.truth.example]
        session = run_session(build, example, timeout=timeout)
    result = _result(session)
    talk.result(result, *_shown(result))
    return 0 if session.match else DIFFERENT


def _shown(result: dict[str, Any]) -> list[RenderableType]:
    from pilotlight.report.profile import profile_table
    from pilotlight.report.summary import run_title, tools_text

    return [run_title(result), profile_table(result), f"made with {tools_text(result)}"]


def _result(session: Session) -> dict[str, Any]:
    """The object that `profile --json` prints, of one entry point."""
    from pilotlight.figures.profile import profile_rows
    from pilotlight.figures.record import hardware

    build = session.build
    if session.profile is None:
        raise PilotlightError(
            f"nothing was counted: {session.counts_reason}", where=f"board {build.board.name}",
            kind="not-countable",
        )
    return {
        "name": build.name, "board": build.board.name, "target": build.board.cpu,
        "hardware": hardware(build.board), "match": session.match,
        "compared_with": session.compared_with, "warnings": session.warnings,
        "macs_executed": session.figures["macs_executed"], "instructions": session.profile.instructions,
        "cycles_estimate": session.profile.cycles, "operators": profile_rows(session.profile, build),
        "made": session.made,
    }
