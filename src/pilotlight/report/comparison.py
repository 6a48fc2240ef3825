"""A model's layers on a board next to PyTorch's, and what a quantized one loses."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pilotlight.report.style import BAD, GOOD, QUIET, error_text, facts, number, source_column, table

_WORST = 5


def layers_table(result: dict[str, Any]) -> Table:
    """The steps in the order they run; an arrow marks the first that is not what it should be."""
    steps = result["steps"]
    grid = table()
    grid.add_column("#", justify="right", style=QUIET)
    grid.add_column("operator")
    grid.add_column("same", no_wrap=True)
    grid.add_column("difference", justify="right", no_wrap=True)
    grid.add_column("allowed", justify="right", no_wrap=True)
    noise = any(row["snr_db"] is not None for row in steps)
    if noise:
        grid.add_column("to float", justify="right", no_wrap=True)
    grid.add_column("module", overflow="fold")
    source = source_column(grid, steps)
    for row in steps:
        first = row["index"] == result["parted"]
        cells: list[RenderableType] = [f"> {row['index']}" if first else str(row["index"]), row["op"], _verdict(row)]
        cells += _difference(row)
        cells += [_decibels(row["snr_db"])] if noise else []
        grid.add_row(*cells, row["module"], source(row), style=BAD if first else None)
    return grid


def layers_text(result: dict[str, Any]) -> list[RenderableType]:
    """What the table says, in a sentence; for a quantized model the layers that lose most, and what stays float."""
    said: list[RenderableType] = [_sentence(result)]
    rows = [row for row in result.get("layers", ()) if row["snr_db"] is not None][:_WORST]
    if rows or result.get("float"):
        grid = facts()
        for row in rows:
            place = ", ".join(part for part in (row["module"], row["source"]) if part)
            grid.add_row("loses most", _decibels(row["snr_db"]), f"{row['op']} {place}")
        for row in result["float"]:
            grid.add_row("float", row["op"], fallback_text(row))
        said.append(grid)
    return said


def _sentence(result: dict[str, Any]) -> Text:
    runs = f"{result['runs']} run{'s' if result['runs'] != 1 else ''}"
    if result["match"]:
        held = [row for row in result["steps"] if row["match"]]
        module = sum(row["against"] != "the graph" for row in held)
        rest = f"; {len(held) - module} that compute no tensor of the module equal the compiled graph" \
            if module < len(held) else ""
        other = result["compared_with"]
        return Text(f"all {module} steps are what {other} computes{rest}; {runs}", GOOD)
    if result["parted"] is None:
        return Text(f"every step is what it should be, but the outputs are not; {runs}", BAD)
    row = next(row for row in result["steps"] if row["index"] == result["parted"])
    place = ", ".join(part for part in (row["module"], row["source"]) if part)
    if row["match"] is False:
        return Text(f"they part at step {row['index']}, {row['what']}{f'; {place}' if place else ''}", BAD)
    return Text(
        f"the board computes what the compiled graph says, which is not the module: nothing after step "
        f"{row['index'] - 1} is a tensor of it{f'; {place}' if place else ''}", BAD,
    )


def _verdict(row: dict[str, Any]) -> Text:
    if row["match"] is None:
        return Text("-", QUIET)
    return Text("yes", GOOD) if row["match"] else Text("NO", BAD)


def _difference(row: dict[str, Any]) -> tuple[str, str]:
    """Integers that differ, or the largest error; and what is allowed."""
    if row["match"] is None:
        return "", ""
    if row["differing"] is not None:
        return f"{number(row['differing'])} of {number(row['elements'])}", "" if row["limit"] else "0"
    return error_text(row["max_abs_error"]), error_text(row["limit"])


def _decibels(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} dB"


def fallback_text(row: dict[str, Any]) -> str:
    """Where a float operator is, why it is float, and what it costs."""
    costs = []
    if row["macs"]:
        costs.append(f"{number(row['macs'])} MACs, {row['share']:.1%} of all")
    if row["weights_bytes"]:
        costs.append(f"{number(row['weights_bytes'])} bytes of float weights")
    costs.append(f"{number(row['tensor_bytes'])} of float results")
    return f"{row['where']}: {row['reason']}; {', '.join(costs)}"
