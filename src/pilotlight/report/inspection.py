"""What is in a model and what it needs, in tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pilotlight.report.backends import backend_tables
from pilotlight.report.style import BAD, GOOD, HEAD, QUIET, number, share, size, table
from pilotlight.report.summary import run_title, summary_table


def inspection_tables(found: dict[str, Any]) -> Iterator[RenderableType]:
    yield run_title(found)
    names = ", ".join(f"{count} {name}" for name, count in found["captured"].items())
    captured = f"; PyTorch's operators: {names}" if names else ""
    yield Text(f"{number(found['parameters'])} parameters{captured}")
    yield _operators(found)
    yield summary_table(found)
    yield from backend_tables(found)
    if found["memory"]:
        yield _memories(found)


def file_operator_table(uses: list[dict[str, Any]]) -> Table:
    """The operators of a file, those that are not supported first."""
    grid = table()
    grid.add_column("operators in the file")
    grid.add_column("nodes", justify="right")
    grid.add_column("")
    for use in uses:
        verdict = Text("supported", GOOD) if use["supported"] else Text(str(use["problem"]), BAD)
        grid.add_row(use["operator"], number(use["nodes"]), verdict)
    return grid


def _operators(found: dict[str, Any]) -> Table:
    grid = table()
    grid.add_column("operators that run")
    for head in ("steps", "MACs", "share"):
        grid.add_column(head, justify="right")
    for row in found["operators"]:
        macs = row["macs"] or None
        part = share(macs, found["macs_executed"]) if macs else "-"
        grid.add_row(row["op"], number(row["steps"]), number(macs), part)
    return grid


def _memories(found: dict[str, Any]) -> Table:
    """Every memory of the board; code that could not be compiled is not counted, and the table says so."""
    unknown = found["flash"]["code"] is None
    grid = table()
    for head in ("memory", "holds", "used", "free", ""):
        grid.add_column(head, justify="left" if head in ("memory", "") else "right")
    for use in found["memory"]:
        if use["free"] < 0:
            verdict = Text(f"{number(-use['free'])} bytes too many", BAD)
        elif use["used"] == 0:
            verdict = Text("not used", QUIET)
        else:
            verdict = Text("fits, code not counted" if unknown and use["kind"] == "flash" else "fits", GOOD)
        free = number(max(0, use["free"]))
        grid.add_row(use["name"], size(use["size"]), number(use["used"]), free, verdict)
    return grid


def candidate_table(layers: list[dict[str, Any]]) -> Table:
    """Under each layer the kernels that could compute it; the chosen one is marked."""
    grid = table()
    for head in ("layers and kernels", "instructions (est.)", "flash", "scratch", "why"):
        numbers = head not in ("layers and kernels", "why")
        grid.add_column(head, justify="right" if numbers else "left", no_wrap=numbers)
    for layer in layers:
        grid.add_row(Text(f"{layer['step']}: {layer['what'].partition(', (')[0]}", HEAD))
        for row in layer["candidates"]:
            name, style = (f"* {row['name']}", GOOD) if row["chosen"] else (f"  {row['name']}", "")
            cells = [number(row[key]) for key in ("instructions", "flash", "scratch")]
            grid.add_row(Text(name, style), *cells, row["why"])
    return grid
