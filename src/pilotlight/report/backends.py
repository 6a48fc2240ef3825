"""What each backend computes of a model, what it refused, and what an NPU's compiler expects of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from pilotlight.report.style import GOOD, QUIET, duration, number, table


def backend_tables(found: dict[str, Any]) -> Iterator[Table]:
    for partition in found.get("backends") or ():
        if partition["taken"]:
            yield _calls(partition)
        estimated = [row for row in partition["taken"] if "cycles" in (row.get("figures") or {})]
        if estimated:
            yield _estimates(estimated)
        if partition["refused"]:
            yield _refused(partition)


def _calls(partition: dict[str, Any]) -> Table:
    """A row for each call, with the bytes that cross."""
    grid = table()
    grid.add_column(f"calls of {partition['backend']}")
    for head in ("operators", "MACs", "bytes in", "bytes out"):
        grid.add_column(head, justify="right")
    for row in partition["taken"]:
        cells = [number(row[key]) for key in ("operators", "macs", "bytes_in", "bytes_out")]
        grid.add_row(Text(row["function"]), *cells)
    return grid


def _estimates(rows: list[dict[str, Any]]) -> Table:
    """What Vela expects of an NPU, and whether its TOSA was checked."""
    grid, first = table(), rows[0]["figures"]
    assumed = f"{first['system']}, {first['memory_mode']}"
    grid.add_column(f"Vela {first['vela']}'s estimate ({assumed})")
    for head in ("cycles", f"at {first['clock_hz'] / 1e6:g} MHz", "SRAM", "flash", "commands"):
        grid.add_column(head, justify="right")
    grid.add_column("TOSA")
    for row in rows:
        figures = row["figures"]
        compared = figures.get("compared_bytes")
        checked = Text("not checked", QUIET) if compared is None else Text(f"same {number(compared)} bytes", GOOD)
        cells = [number(figures[key]) for key in ("sram_bytes", "flash_bytes", "commands_bytes")]
        time = duration(figures["cycles"], figures["clock_hz"])
        grid.add_row(Text(row["function"]), number(figures["cycles"]), time, *cells, checked)
    return grid


def _refused(partition: dict[str, Any]) -> Table:
    grid = table()
    grid.add_column(f"not on {partition['backend']}")
    grid.add_column("where")
    grid.add_column("why")
    for row in partition["refused"]:
        grid.add_row(Text(row["op"]), Text(row["where"]), Text(row["reason"]))
    return grid
