"""What `--optimize ram` saved and what it costs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from pilotlight.report.style import number, share


def add_saving(grid: Table, saving: dict[str, Any] | None) -> None:
    """The arena with and without, the work that is done twice, and the stages that are cut into patches."""
    if saving is None:
        return
    if saving["arena"] >= saving["arena_before"]:
        grid.add_row("saved", number(0), "bytes: patches would save nothing, so it is compiled as for speed")
        return
    grid.add_row("saved", number(saving["arena_before"] - saving["arena"]), f"bytes: {saving_text(saving)}")
    for stage in saving["stages"]:
        rows, columns = stage["patch"]
        grid.add_row(
            "patches", number(stage["patches"]),
            f"of {rows} x {columns} for {stage['layers']} layers from {stage['where']}",
        )


def saving_text(saving: dict[str, Any]) -> str:
    """Such as `arena 37,840 -> 27,880, recomputes 0.6 % of the MACs, 5.7 % more instructions`."""
    extra = saving["macs"] - saving["macs_before"]
    parts = [f"arena {number(saving['arena_before'])} -> {number(saving['arena'])}"]
    parts.append(f"recomputes {share(extra, saving['macs_before'])} of the MACs" if extra else "recomputes nothing")
    before, now = saving.get("instructions_before"), saving.get("instructions")
    if before and now:
        change = share(abs(now - before), before)
        parts.append(f"{change} {'more' if now >= before else 'fewer'} instructions than {number(before)}")
    return ", ".join(parts)
