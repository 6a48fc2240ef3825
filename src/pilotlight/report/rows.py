"""The operators of a run with their cost: steps of the network joined with what was counted."""

from __future__ import annotations

from typing import Any

from pilotlight.report.style import ratio, share


def operator_rows(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Every step; `cost` is instructions, or MACs if those were not counted, `bar` its percentage of the largest."""
    counted = {row["index"]: row for row in run["operators"] or ()}
    rows = []
    for step in run["network"]["steps"]:
        count = counted.get(step["index"], {})
        instructions = count.get("instructions")
        rows.append({
            **step, "instructions": instructions, "cycles": count.get("cycles"),
            "cost": step["macs"] if instructions is None else instructions,
            "per_mac": ratio(instructions, step["macs"]),
        })
    most, whole = max((row["cost"] for row in rows), default=0) or 1, sum(row["cost"] for row in rows)
    for row in rows:
        row["bar"], row["share"] = round(100 * row["cost"] / most, 2), share(row["cost"], whole)
    return rows
