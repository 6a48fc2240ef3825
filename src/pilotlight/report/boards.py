"""The table of boards."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from rich.table import Table

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.report.style import size, table
from pilotlight.toolchain.find import reason_without

_MEMORIES = 48  # width of their column


def boards_table(found: Sequence[Board]) -> Table:
    """Emulated boards first: those can be run here."""
    result = table()
    result.add_column("board", no_wrap=True)
    result.add_column("core", no_wrap=True)
    result.add_column("runs", no_wrap=True)
    result.add_column("memories")
    for board in sorted(found, key=lambda b: (not b.is_host, b.emulator is None, not b.in_process, b.name)):
        memories = _lines([f"{m.name} {size(m.size)}" for m in board.memories])
        result.add_row(board.name, board.cpu, _runs(board), memories or "-")
    return result


def _lines(items: Sequence[str]) -> str:
    """Items separated by commas, wrapped only between items."""
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) > _MEMORIES:
            lines.append("")
        lines[-1] += f"{item}, "
    return "\n".join(line.strip() for line in lines).rstrip(",")


def _runs(board: Board) -> str:
    if board.is_host:
        return "here"
    return "emulated" if board.emulator else "its core" if board.in_process else "build only"


def missing_tools(found: Sequence[Board]) -> list[str]:
    """One line for every compiler or emulator that a board needs and this computer lacks."""
    lines: dict[str, list[str]] = {}
    for board in found:
        try:
            reason = reason_without(board, need_compiler=False)
        except PilotlightError as error:  # an unknown toolchain
            reason = error.message
        if reason:
            lines.setdefault(reason, []).append(board.name)
        emulator = board.emulator
        if emulator and not board.in_process and shutil.which(emulator.program) is None:
            text = f"{emulator.program} is not installed (apt-get install {emulator.package})"
            lines.setdefault(text, []).append(board.name)
    return [f"{text}: {', '.join(names)}" for text, names in lines.items()]
