"""Finding compilers: GCC where it is installed, else `zig cc`."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pilotlight.boards import Board
from pilotlight.errors import MissingPackageError, MissingToolError, PilotlightError
from pilotlight.system import platform_name
from pilotlight.toolchain import zig


@dataclass(frozen=True)
class Toolchain:
    """A compiler for a board's core. Without objdump, a library disassembles."""

    name: str
    kind: str  # one of options.TOOLCHAINS
    command: tuple[str, ...]
    objdump: str | None = None
    target: str = ""  # zig's

    def flags(self, board: Board) -> list[str]:
        """The core and its options."""
        return zig.core_flags(board.flags, self.target) if self.kind == "zig" else list(board.flags)


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads((Path(__file__).parent / "toolchains.toml").read_text(encoding="utf-8"))


def compilers() -> dict[str, tuple[str, str | None]]:
    """For each toolchain, GCC's program and the Debian package that provides it, if there is one."""
    return {name: (row["prefix"] + "gcc", row.get("package")) for name, row in _table().items()}


def has_zig(name: str) -> bool:
    """Whether zig takes the place of a toolchain here."""
    return "zig" in _table()[name] and zig.program() is not None


def find(board: Board, kind: str | None = None) -> Toolchain:
    """The compiler for a board, of a kind if one is asked for; MissingToolError says what to install."""
    row = _row(board)
    found = {tool: shutil.which(row["prefix"] + tool) for tool in ("gcc", "objdump")}
    gcc = found["gcc"]
    if gcc is not None and found["objdump"] is not None and kind != "zig":
        return Toolchain(board.toolchain, "gcc", (gcc,), found["objdump"])
    if kind != "gcc" and "zig" in row and zig.program() is not None:
        return Toolchain(board.toolchain, "zig", (zig.checked_program(), "cc"), None, row["zig"])
    if kind == "zig":
        if "zig" not in row:
            raise PilotlightError(
                f"zig does not compile for {board.cpu}, the core of {board.name}",
                hint="omit --toolchain zig", kind="usage",
            )
        why = f"to build for {board.name}"
        raise MissingPackageError("ziglang", platform_name(), "it has no program", row.get("package"), why)
    program = row["prefix"] + ("objdump" if gcc else "gcc")
    others = ["pip install ziglang"] if "zig" in row and kind is None else []
    raise MissingToolError(program, row.get("package"), f"to build for {board.name}", *others)


def compiler(board: Board) -> str:
    """How a board's GCC is called, whether it is installed or not."""
    return str(_row(board)["prefix"]) + "gcc"


def reason_without(board: Board, need_compiler: bool = True) -> str | None:
    """Why a board is reported without code size: its compiler is absent and no package provides it.

    An absent compiler that a package provides is a reason only where it is not needed; find() raises otherwise.
    """
    row = _row(board)
    program = row["prefix"] + "gcc"
    if shutil.which(program) or ("zig" in row and zig.program()) or ("package" in row and need_compiler):
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
