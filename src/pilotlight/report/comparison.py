"""The layers of a quantized model, worst first."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from pilotlight.report.style import HEAD, QUIET, facts, number


def comparison_title(result: dict[str, Any]) -> Text:
    return Text.assemble((result["name"], HEAD), (f"  int8 against float over {result['samples']} samples", QUIET))


def comparison_table(result: dict[str, Any]) -> Table:
    grid = facts()
    for row in result["layers"]:
        place = ", ".join(part for part in (row["module"], row["source"]) if part)
        grid.add_row(row["op"], f"{row['snr_db']:.1f} dB", place)
    for row in result["float"]:
        grid.add_row(row["op"], "float", fallback_text(row))
    return grid


def fallback_text(row: dict[str, Any]) -> str:
    """Where a float operator is, why it is float, and what it costs."""
    costs = []
    if row["macs"]:
        costs.append(f"{number(row['macs'])} MACs, {row['share']:.1%} of all")
    if row["weights_bytes"]:
        costs.append(f"{number(row['weights_bytes'])} bytes of float weights")
    costs.append(f"{number(row['tensor_bytes'])} of float results")
    return f"{row['where']}: {row['reason']}; {', '.join(costs)}"
