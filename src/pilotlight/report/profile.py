"""Instructions by operator, in a table."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from pilotlight.report.style import QUIET, number, ratio, share, source_column, table


def cycles_table(result: dict[str, Any]) -> Table:
    """The operators of a run on a device, with the cycles that it counted."""
    rows = result["operators"]
    total = sum(row["cycles"] for row in rows)
    grid = table(show_footer=True)
    grid.add_column("#", justify="right", style=QUIET)
    grid.add_column("operator", footer="all")
    grid.add_column("cycles", number(total), justify="right", no_wrap=True)
    grid.add_column("share", justify="right", no_wrap=True)
    grid.add_column("per MAC", ratio(total, sum(row["macs"] for row in rows)), justify="right", no_wrap=True)
    grid.add_column("module", overflow="fold")
    source = source_column(grid, rows)
    for row in rows:
        cells = [str(row["index"]), row["what"], number(row["cycles"]), share(row["cycles"], total)]
        grid.add_row(*cells, ratio(row["cycles"], row["macs"]), row["module"] or "", source(row))
    return grid


def profile_table(result: dict[str, Any]) -> Table:
    """The operators in the order they run, and their sum."""
    rows, total = result["operators"], result["instructions"]
    cycles = result["cycles_estimate"] is not None
    grid = table(show_footer=True)
    grid.add_column("#", justify="right", style=QUIET)
    grid.add_column("operator", footer="all")
    types = any(row["type"] != "float32" for row in rows)
    if types:
        grid.add_column("type", style=QUIET)
    grid.add_column("instructions", number(total), justify="right", no_wrap=True)
    grid.add_column("share", justify="right", no_wrap=True)
    grid.add_column("per MAC", ratio(total, result["macs_executed"]), justify="right", no_wrap=True)
    if cycles:
        grid.add_column("cycles est.", number(result["cycles_estimate"]), justify="right", no_wrap=True)
    grid.add_column("module", overflow="fold")
    source = source_column(grid, rows)
    for row in rows:
        count = row["instructions"]
        cells = [str(row["index"]), row["what"], *([row["type"]] if types else []), number(count), share(count, total)]
        cells += [ratio(count, row["macs"])]
        cells += [number(row["cycles"])] if cycles else []
        grid.add_row(*cells, row["module"] or "", source(row))
    return grid
