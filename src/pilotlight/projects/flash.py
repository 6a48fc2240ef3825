"""What flashes a project: the tool of its environment, or one that the board's file names."""

from __future__ import annotations

from pathlib import Path

from pilotlight.device.flashing import Flasher, FlashJob, OwnFlasher, choose_flasher
from pilotlight.projects.boot import project_board, project_program
from pilotlight.projects.manifest import read_manifest


def project_flasher(
    folder: Path, wanted: str | None = None, probe: str | None = None, port: str | None = None
) -> tuple[Flasher, FlashJob]:
    """The tool that is wanted, or the first that is installed, and what it is to do. The project must be built."""
    manifest = read_manifest(folder)
    commands = manifest.commands.get("flash")
    program = None if manifest.program is None and commands else project_program(folder, manifest)
    job = FlashJob(project_board(folder, manifest), folder, program, probe, port)
    return choose_flasher(job, wanted, [OwnFlasher(commands)] if commands else []), job
