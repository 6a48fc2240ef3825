"""The console of a project: the board on a port, or the emulator with what was built."""

from __future__ import annotations

from pathlib import Path

from pilotlight.boards import Board
from pilotlight.device import port_of
from pilotlight.device.console import Console, EmulatedConsole, LineConsole
from pilotlight.projects.boot import project_board, project_program
from pilotlight.projects.manifest import read_manifest


def open_console(folder: Path, port: str | None = None, baud: int = 115200) -> tuple[Console, Board, Path | None]:
    """What the board says, the board, and the program that it runs, where it was built here. An emulated board is
    booted unless a port is named."""
    manifest = read_manifest(folder)
    board = project_board(folder, manifest)
    if port is None and board.emulator is not None:
        image = project_program(folder, manifest)
        return EmulatedConsole(board, image), board, image
    program = None if manifest.program is None else folder / manifest.program
    known = program if program is not None and program.is_file() else None
    return LineConsole(port or port_of(board), baud), board, known
