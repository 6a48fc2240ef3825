"""What an editor is told about a project: how it is built, flashed and debugged without Pilotlight."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from pilotlight.boards import Board
from pilotlight.device.debugging import SERVERS, USUAL_PORT, DebugJob
from pilotlight.device.flashing import FLASHERS, FlashJob

_NOT_BY_COMMANDS = ("emulator", "uf2", "esptool")  # keep nothing, or need files that are not made yet


def editor_values(board: Board, commands: dict[str, list[list[str]]], program: str | None) -> dict[str, Any]:
    """For the shared files of an editor: `debuggers` has the commands of servers that gdb can connect to."""
    if program is None:
        return {"debuggers": {}, "flash_lines": [], "gdb": ""}
    here, image = Path(), Path(program)
    job, flash = DebugJob(board, here, image), FlashJob(board, here, image)
    known = [flasher for flasher in FLASHERS if flasher.takes(flash) and flasher.name not in _NOT_BY_COMMANDS]
    arm = board.toolchain.startswith("arm")  # Cortex-Debug is for these
    return {
        "debuggers": {
            server.name: server.command(job, USUAL_PORT) for server in SERVERS
            if server.takes(board) and (arm or server.name == "emulator")
        },
        "flash_lines": [shlex.join(command) for command in commands.get("flash", [])]
        or (known[0].lines(flash) if known else []),
        "gdb": "gdb-multiarch",
    }
