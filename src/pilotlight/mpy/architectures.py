"""The architectures that MicroPython loads native code for, and the boards whose cores they stand for."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight import boards
from pilotlight.boards import Board
from pilotlight.errors import PilotlightError


@dataclass(frozen=True)
class Architecture:
    """`number` is MicroPython's; code for `board` runs on every core of the architecture."""

    name: str
    number: int
    board: str
    word: int = 4


_ALL = (
    Architecture("x64", 2, "host", word=8),
    Architecture("armv6m", 4, "pico"),
    Architecture("armv7m", 5, "mps2-an385"),
    Architecture("armv7emsp", 7, "mps2-an386"),
    Architecture("armv7emdp", 8, "mps2-an500"),
    Architecture("rv32imc", 11, "esp32-c3"),
)
ARCHITECTURES = {architecture.name: architecture for architecture in _ALL}


def choose(arch: str | None, board: str | None) -> tuple[Architecture, str]:
    """The architecture, and the board that code is made for: the architecture's own, unless one with Helium was named.

    A board stands for its architecture only, since MicroPython loads the module on every core of that.
    """
    if arch is not None and arch not in ARCHITECTURES:
        raise PilotlightError(
            f"--arch {arch}: there is no such architecture", hint=f"known are {', '.join(ARCHITECTURES)}", kind="usage"
        )
    if board is None:
        if arch is None:
            raise PilotlightError(
                "--format mpy needs the architecture of the board's MicroPython",
                hint=f"give --arch {', '.join(ARCHITECTURES)}, or --board", kind="usage",
            )
        return ARCHITECTURES[arch], ARCHITECTURES[arch].board
    named = boards.load(board)
    found = of_board(named)
    if arch not in (None, found.name):
        raise PilotlightError(
            f"{named.name} has a {named.cpu}, whose architecture is {found.name}, not {arch}",
            hint="omit --arch or --board", kind="usage",
        )
    return found, board if "mve" in named.isa else found.board


def of_board(board: Board) -> Architecture:
    """What MicroPython for a board calls its architecture."""
    if board.is_host:
        return ARCHITECTURES["x64"]
    if "thumb1" in board.isa:
        return ARCHITECTURES["armv6m"]
    if "thumb2" in board.isa:
        double = "mve" in board.isa or "-mfpu=fpv5-d16" in board.flags
        return ARCHITECTURES["armv7emdp" if double else "armv7emsp" if "fpu32" in board.isa else "armv7m"]
    if "rv32" in board.isa:
        return ARCHITECTURES["rv32imc"]
    raise PilotlightError(
        f"native modules are not made for {board.name}: its core, {board.cpu}, is none of {', '.join(ARCHITECTURES)}",
        hint="choose another board", kind="usage",
    )
