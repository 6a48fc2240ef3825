"""`pilotlight debug`: gdb on the program of a project."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pilotlight.cli.options import common
from pilotlight.cli.talk import Talk


@click.command("debug")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("more", metavar="[-- GDB-ARGUMENTS]", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Only print the commands.")
@click.option("--with", "tool", metavar="TOOL",
              help="pyocd, openocd or emulator; default: the first that the board can be debugged with and that is "
              "installed.")
@click.option("--probe", metavar="ID", help="Which of several debug probes.")
@common
@click.pass_obj
def command(talk: Talk, folder: Path, more: tuple[str, ...], dry_run: bool, tool: str | None, probe: str | None) -> int:
    """Debug a built project with gdb, stopped in main.

    A real board is flashed with it first, by pyOCD or OpenOCD; an emulated one runs in QEMU.
    """
    from pilotlight.device.debugging import USUAL_PORT, DebugJob, choose_server, debug, gdb_command
    from pilotlight.projects.boot import project_board, project_program
    from pilotlight.projects.manifest import read_manifest

    manifest = read_manifest(folder)
    board = project_board(folder, manifest)
    job = DebugJob(board, folder, project_program(folder, manifest), probe)
    server = choose_server(board, tool)
    lines = [shlex.join(server.command(job, USUAL_PORT)), shlex.join(gdb_command(job, server, USUAL_PORT, more))]
    data = {"folder": str(folder), "board": board.name, "with": server.name, "commands": lines}
    if dry_run:
        talk.result(data | {"ran": False}, "\n".join(lines))
        return 0
    code = debug(job, server, more, aside=talk.as_json)
    talk.result(data | {"ran": True, "code": code})
    return code
