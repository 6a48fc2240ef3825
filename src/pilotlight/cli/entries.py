"""Commands on a model with several entry points: what they print for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError

if TYPE_CHECKING:
    from pilotlight.programs import EntryBuild, ProgramBuild
    from pilotlight.session.program import ProgramSession
    from pilotlight.toolchain import BuildInfo


def refuse_options(build: ProgramBuild, **given: Any) -> None:
    """Options that are for models with one entry point."""
    for option, value in given.items():
        if value:
            raise PilotlightError(
                f"--{option} is not supported for {build.name}, which has the entry points {', '.join(build.entries)}",
                hint=f"omit --{option}, or name a model with one entry point", kind="unsupported",
            )


def describe_entries(
    build: ProgramBuild, of_entry: Callable[[EntryBuild], dict[str, Any]],
    tables: Callable[[dict[str, Any]], list[RenderableType]],
) -> tuple[dict[str, Any], list[RenderableType]]:
    """The JSON object of a program, and what a terminal shows."""
    from pilotlight.figures.record import hardware

    entries = {name: of_entry(entry) for name, entry in build.entries.items()}
    data = {"name": build.name, "board": build.board.name, "target": build.board.cpu,
            "hardware": hardware(build.board), "entries": entries}
    return data, [table for row in entries.values() for table in tables(row)]


def run_entries(talk: Talk, build: ProgramBuild, timeout: float) -> ProgramSession:
    """One boot, the entry points in turns."""
    from pilotlight.session.program import run_program

    with talk.stage(f"compiling for {build.board.name}"):
        _ = build.info
    with talk.stage(f"running on {build.board.name}") as stage:
        session = run_program(build, timeout=timeout, progress=stage.done)
    if talk.command is not None:
        session.command = talk.command
    return session


def compiled_entries(build: ProgramBuild, info: BuildInfo, folder: Path) -> tuple[dict[str, Any], list[RenderableType]]:
    """What `compile` says about the files it wrote."""
    from pilotlight.figures.build import figures
    from pilotlight.figures.files import file_rows
    from pilotlight.figures.record import hardware
    from pilotlight.report.files import files_table
    from pilotlight.report.summary import run_title, summary_table

    def of_entry(entry: EntryBuild) -> dict[str, Any]:
        return {"name": entry.name, "board": build.board.name, "hardware": hardware(build.board),
                **figures(entry, info.of_entry(entry.entry))}

    rows = file_rows(build)
    data, shown = describe_entries(build, of_entry, lambda row: [run_title(row), summary_table(row)])
    return data | {"folder": str(folder), "files": rows}, [files_table(rows, str(folder)), *shown]
