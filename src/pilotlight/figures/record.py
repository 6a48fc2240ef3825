"""Parts of the object that `run --json` prints, from which pages and tables are made."""

from __future__ import annotations

from typing import Any

from pilotlight.boards import Board

FORMAT = 1  # of the object; changes when the meaning of a field changes


def hardware(board: Board) -> dict[str, Any]:
    """What a page says about a board, so that it does not need the board's file."""
    return {
        "title": board.title, "cpu": board.cpu, "clock_hz": board.clock_hz,
        "place": vars(board.place) if board.place else None,
    }


def layer_text(row: dict[str, Any]) -> str:
    """Which layer, and where it is in the user's model."""
    return f"{row['op']} {', '.join(part for part in (row['module'], row['source']) if part)}"
