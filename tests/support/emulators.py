"""Which emulator a test that runs many small images takes."""

from __future__ import annotations

from pilotlight import boards
from pilotlight.options import Options


def quickest(board: str) -> Options:
    """In this process, which boots at once, where the core allows."""
    return Options(emulator="unicorn" if boards.load(board).in_process else None)
