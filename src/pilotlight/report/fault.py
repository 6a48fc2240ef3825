"""A fault that a board reported, for a person."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from pilotlight.report.style import BAD, facts

_IN_ROW = 4


def fault_table(fault: dict[str, Any]) -> Table:
    """Why and where first, then every register."""
    grid = facts()
    grid.add_row(Text("fault", BAD), "", Text(fault["what"], BAD))
    for k, reason in enumerate(fault["reasons"]):
        grid.add_row("why" if k == 0 else "", "", reason)
    registers = fault["registers"]
    grid.add_row("at", "", _place(fault["at"], registers.get("pc", 0)))
    grid.add_row("called from", "", _place(fault["called_from"], registers.get("from", 0)))
    words = [f"{name:<7} 0x{value:08x}" for name, value in registers.items()]
    for k in range(0, len(words), _IN_ROW):
        grid.add_row("registers" if k == 0 else "", "", "   ".join(words[k : k + _IN_ROW]))
    return grid


def _place(place: str | None, address: int) -> str:
    return f"{place} (0x{address:08x})" if place else f"0x{address:08x}, which no function of the program has"
