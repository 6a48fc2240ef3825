"""Commands on a project that ask the device that runs it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from pilotlight import boards
from pilotlight.cli.entries import refuse_options
from pilotlight.cli.options import DIFFERENT, Graphs, Request, chosen_inputs
from pilotlight.cli.project import stored_arguments, stored_request
from pilotlight.cli.talk import Talk
from pilotlight.errors import PilotlightError
from pilotlight.projects.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from pilotlight.compiler import Build
    from pilotlight.programs import ProgramBuild


def is_project(request: Request, port: str | None) -> bool:
    """Whether the user names a folder instead of a model; a port is for these alone."""
    if Path(request.model).is_dir():
        return True
    if port is not None:
        raise PilotlightError(
            "--port is for projects, whose device is there already", hint="give the folder of one instead of a model",
            kind="usage",
        )
    return False


def project_model(talk: Talk, request: Request, **others: object) -> tuple[Build, Graphs] | ProgramBuild:
    """The model of a project, compiled as its manifest says; options of one's own are refused."""
    folder = Path(request.model)
    manifest = read_manifest(folder)
    given = [name for name in stored_arguments(request, folder) if name != "model"]
    given += ["board"] if request.board != boards.default_board() else []
    given += [name for name, value in others.items() if value is not None]
    if given:
        raise PilotlightError(
            f"--{given[0].replace('_', '-')} is not for a project, which has its own",
            hint=f"omit it; {folder / MANIFEST} says what the project was made with", kind="usage",
        )
    from pilotlight.projects.boot import need_server

    need_server(folder, manifest)
    stored = replace(stored_request(manifest.arguments, manifest.board, folder), source=manifest.arguments["model"])
    return stored.compile_graphs(talk)


def run_project(
    talk: Talk, request: Request, data: Path | None, timeout: float, port: str | None, report: Path | None
) -> int:
    """The model of a project on the device that runs it."""
    found, folder = project_model(talk, request, report=report), Path(request.model)
    build = found[0] if isinstance(found, tuple) else found
    if not isinstance(found, tuple):
        refuse_options(found, inputs=data)
    inputs, labels = chosen_inputs(talk, *found, data) if isinstance(found, tuple) else (None, None)
    from pilotlight.projects.connect import connect_project
    from pilotlight.report.profile import cycles_table
    from pilotlight.report.summary import device_table, run_title
    from pilotlight.session import run_connected

    with connect_project(folder, build, port, timeout) as device, talk.stage(f"running on {device.name}") as stage:
        run = run_connected(build, device, inputs, labels=labels, progress=stage.done)
    result = run.as_dict()
    shown: list[RenderableType] = []
    for session in run.sessions.values():
        row = session.as_dict() | {"board": run.board, "hardware": run.hardware}
        shown += [run_title(row), device_table(row, result)]
        shown += [cycles_table(row)] if row["operators"] else []
    talk.result({"folder": str(folder), **result}, *shown)
    return 0 if run.match else DIFFERENT
