"""How numbers and tables look, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table

PLAIN_WIDTH = 100  # for tables that go to a file or a pipe
GOOD, BAD, QUIET, HEAD = "green", "bold red", "dim", "bold"


def console(stream: TextIO) -> Console:
    """A console that prints tables on a terminal, or with a fixed width to a file."""
    return Console(file=stream, highlight=False, width=None if stream.isatty() else PLAIN_WIDTH)


def number(value: int | None) -> str:
    """With thousands separators; a dash if unknown."""
    return "-" if value is None else f"{value:,}"


def size(value: int) -> str:
    """Memories come in powers of two: 192 KB, 1 MB. Exact, or in bytes."""
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if value >= unit and value % unit == 0:
            return f"{value // unit:,} {name}"
    return f"{value:,} bytes"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def ratio(part: int | None, whole: int) -> str:
    return f"{part / whole:.2f}" if part is not None and whole else "-"


def error_text(value: float | None) -> str:
    """None stands for infinities and NaN, which JSON lacks."""
    return "not finite" if value is None else "0" if value == 0 else f"{value:.1e}"


def duration(cycles: int, clock_hz: int) -> str:
    """The time that cycles take at a clock: milliseconds, or microseconds where it is less than one."""
    us = 1e6 * cycles / clock_hz
    value, unit = (us, "µs") if us < 999.95 else (us / 1000, "ms")
    return f"{value:,.1f} {unit}" if value >= 9.995 else f"{value:.2f} {unit}"


def table(**more: object) -> Table:
    """A table with one line under its head and nothing else."""
    look = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0), "header_style": HEAD}
    return Table(**look, **more)  # type: ignore[arg-type]


def source_column(grid: Table, rows: Iterable[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    """Adds a column for source lines and gives its cells; a file that all rows share is said once, under the table."""
    files = {row["source"].rpartition(":")[0] for row in rows if row["source"]}
    grid.add_column("line" if len(files) == 1 else "source", style=QUIET, overflow="fold")
    if len(files) == 1:
        grid.caption, grid.caption_justify = f"lines are of {files.pop()}", "left"
        return lambda row: (row["source"] or "").rpartition(":")[2]
    return lambda row: row["source"] or ""


def facts() -> Table:
    """Name and value, one per line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style=HEAD)
    grid.add_column(justify="right")
    grid.add_column(style=QUIET)
    return grid
