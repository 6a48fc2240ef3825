"""Boards: one TOML file each; adding one needs no code.

    load("mps2-an386") or load("my/board.toml") -> Board
    all_boards() -> [Board, ...] sorted by name; known_boards() also says which files are bad

A name is looked up in $PILOTLIGHT_BOARDS (folders separated as in $PATH), then ./boards/, then here.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from pilotlight.boards.board import (
    Board,
    BoardNames,
    Emulator,
    Flashing,
    Memory,
    MemoryNames,
    MicroPython,
    Placement,
    RegisterChange,
    Uart,
)
from pilotlight.boards.parse import parse_board
from pilotlight.errors import PilotlightError

__all__ = [
    "Board", "BoardNames", "Emulator", "Flashing", "Memory", "MemoryNames", "MicroPython", "Placement",
    "RegisterChange", "Uart", "all_boards", "default_board", "known_boards", "load", "parse_board",
]


def load(name_or_path: str | Path) -> Board:
    """The board of that name, or of that file if it ends in .toml."""
    text = str(name_or_path)
    files = _files()
    if text.endswith(".toml") and not Path(text).is_file():
        known = Path(text).stem in files
        raise PilotlightError(
            f"there is no board file {text}" + (f"; did you mean {Path(text).stem!r}?" if known else ""),
            hint="check the path, or choose one of `pilotlight boards`", kind="unknown-board",
        )
    if text.endswith(".toml"):
        return parse_board(Path(text))
    if text in files:
        return parse_board(files[text])
    near = difflib.get_close_matches(text, files, n=1, cutoff=0.4)
    raise PilotlightError(
        f"unknown board {text!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        hint=f"known boards: {', '.join(sorted(files))}",
        kind="unknown-board",
    )


def all_boards() -> list[Board]:
    """Every board whose file can be used."""
    return known_boards()[0]


def default_board() -> str:
    """The name of the default board: the first whose file says `default = true`."""
    return next(board.name for board in all_boards() if board.default)


def known_boards() -> tuple[list[Board], list[PilotlightError]]:
    """All boards, and what is wrong with the files of those that cannot be used."""
    found, bad = [], []
    for _, path in sorted(_files().items()):
        try:
            found.append(parse_board(path))
        except PilotlightError as error:
            bad.append(error)
    return found, bad


def _folders() -> list[Path]:
    user = [Path(p) for p in os.environ.get("PILOTLIGHT_BOARDS", "").split(os.pathsep) if p]
    return [*user, Path("boards"), Path(__file__).parent]


def _files() -> dict[str, Path]:
    """Board name -> file; a file is named after its board, and earlier folders win."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found
