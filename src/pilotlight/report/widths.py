"""Which results use 16 bits, as lines of a summary."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from pilotlight.report.style import number


def add_widths(grid: Table, figures: dict[str, Any] | None) -> None:
    """What a search chose, its loss and its cost; for other models the MACs with 16 bits, if there are any."""
    if figures is None:
        return
    macs = figures["macs"]
    if figures["numerics"] == "tflm":
        grid.add_row("numerics", "tflm", "every operator gives the bytes of TensorFlow Lite for Microcontrollers")
    if "wider" in figures:
        allowed = f"allowed {figures['max_loss']:.2%}, int8 alone loses {figures['int8_loss']:.2%}"
        grid.add_row("loss", f"{figures['loss']:.2%}", f"{figures['rule']}; {allowed}")
        for row in figures["wider"]:
            where = ", ".join(part for part in (row["module"], row["source"]) if part)
            grid.add_row("wider", row["as"], f"{row['op']} at {where}")
        cost = figures["cost"]
        text = f"bytes of arena and {cost['weights']:+,} of weights more than int8 takes"
        grid.add_row("cost", f"{cost['arena']:+,}", text)
    if macs["int16x8"]:
        grid.add_row("int16x8", number(macs["int16x8"]), f"of {number(sum(macs.values()))} MACs")
