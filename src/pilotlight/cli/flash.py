"""`pilotlight flash`: a project's program onto the board."""

from __future__ import annotations

from pathlib import Path

import click

from pilotlight.cli.options import common
from pilotlight.cli.talk import Talk


@click.command("flash")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only print the commands.")
@click.option("--with", "tool", metavar="TOOL",
              help="pyocd, openocd, esptool, uf2, emulator, or the tool of the project's environment, such as west; "
              "default: the first that the board can be flashed with and that is installed.")
@click.option("--probe", metavar="ID", help="Which of several debug probes.")
@click.option("--port", metavar="PORT", help="The board's serial port, or the folder of its drive.")
@common
@click.pass_obj
def command(
    talk: Talk, folder: Path, dry_run: bool, tool: str | None, probe: str | None, port: str | None
) -> None:
    """Write the program of a built project to its board.

    For an emulated board, see whether the emulator takes it.
    """
    from pilotlight.projects.flash import project_flasher

    flasher, job = project_flasher(folder, tool, probe, port)
    lines = flasher.lines(job)
    data = {"folder": str(folder), "board": job.board.name, "with": flasher.name, "commands": lines}
    if dry_run:
        talk.result(data | {"ran": False}, "\n".join(lines))
        return
    said = flasher.flash(job)
    talk.result(data | {"ran": True}, said)
