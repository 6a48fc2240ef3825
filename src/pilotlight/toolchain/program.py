"""A linked program: what it holds for which addresses, and whether that is for a board."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError

_MACHINES = {"arm": "EM_ARM", "riscv": "EM_RISCV", "xtensa": "EM_XTENSA"}  # by the start of a toolchain's name


@dataclass(frozen=True)
class LoadedPart:
    """Bytes and the address that they are stored at."""

    address: int
    data: bytes


def loaded_parts(program: Path, board: Board) -> list[LoadedPart]:
    """What a program stores on a board; one for another core, or with nothing for the board's flash, is refused."""
    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            machine = elf["e_machine"]
            segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD" and s["p_filesz"]]
            parts = [LoadedPart(s["p_paddr"], s.data()) for s in segments]
    except (ELFError, OSError, ValueError) as error:
        raise PilotlightError(
            f"{program} is not a program that can be read: {error}", hint="build the project again", kind="broken-file"
        ) from error
    expected = next((m for name, m in _MACHINES.items() if board.toolchain.startswith(name)), None)
    if expected is not None and machine != expected:
        raise _other_board(program, board, f"it is for another core, {machine.removeprefix('EM_')}")
    stored = [m for m in board.memories if m.kind == "flash"] or list(board.memories)
    if not any(m.base <= part.address < m.base + m.size for m in stored for part in parts):
        first = f"it starts at {parts[0].address:#010x}" if parts else "it is empty"
        raise _other_board(program, board, f"nothing of it lies in the board's flash: {first}")
    return parts


def _other_board(program: Path, board: Board, reason: str) -> PilotlightError:
    return PilotlightError(
        f"{program} is not a program for {board.name}: {reason}", hint="build the project again", kind="wrong-board"
    )
