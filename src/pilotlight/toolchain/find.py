"""Finding compilers."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pilotlight.boards import Board
from pilotlight.errors import MissingToolError, PilotlightError


@dataclass(frozen=True)
class Toolchain:
    name: str
    gcc: str
    objdump: str


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads((Path(__file__).parent / "toolchains.toml").read_text())


def compilers() -> dict[str, tuple[str, str | None]]:
    """For each toolchain, the compiler's program and the Debian package that provides it, if there is one."""
    return {name: (row["prefix"] + "gcc", row.get("package")) for name, row in _table().items()}


def find(board: Board) -> Toolchain:
    """The compiler and disassembler for a board; MissingToolError says which package provides them."""
    row = _row(board)
    found = {}
    for tool in ("gcc", "objdump"):
        program = row["prefix"] + tool
        path = shutil.which(program)
        if path is None:
            raise MissingToolError(
                program, row.get("package", "(no Debian package)"), f"to build for {board.name}"
            )
        found[tool] = path
    return Toolchain(board.toolchain, found["gcc"], found["objdump"])


def compiler(board: Board) -> str:
    """How a board's compiler is called, whether it is installed or not."""
    return str(_row(board)["prefix"]) + "gcc"


def reason_without(board: Board, need_compiler: bool = True) -> str | None:
    """Why a board is reported without code size: its compiler is absent and no package provides it.

    An absent compiler that a package provides is a reason only where it is not needed; find() raises otherwise.
    """
    row = _row(board)
    program = row["prefix"] + "gcc"
    if shutil.which(program) or ("package" in row and need_compiler):
        return None
    if "package" in row:
        return f"{program} is not installed (apt-get install {row['package']})"
    return f"{program} is not installed and no Debian package has it"


def _row(board: Board) -> dict[str, Any]:
    row = _table().get(board.toolchain)
    if row is None:
        raise PilotlightError(
            f"toolchain: unknown toolchain {board.toolchain!r}",
            where=str(board.path) if board.path else f"board {board.name}",
            hint=f"known toolchains: {', '.join(_table())}",
            kind="bad-board",
        )
    return row
