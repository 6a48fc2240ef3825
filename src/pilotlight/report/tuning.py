"""What `pilotlight tune` shows."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from pilotlight.report.style import BAD, GOOD, HEAD, QUIET, number, table

WIDEST = 32  # a marked name such as dsp.depthwise.r2.straight.p48


def whole_table(result: dict[str, Any]) -> Table:
    """The model without and with the measurements."""
    grid = table()
    for head in ("", "instructions", "cycles (est.)", "code", "weights", "RAM"):
        grid.add_column(head, justify="right" if head else "left")
    keys = ("instructions", "cycles_estimate", "code", "weights", "ram")
    for name in ("default", "tuned"):
        grid.add_row(name, *(number(result[name][key]) for key in keys))
    return grid


def gain_text(result: dict[str, Any]) -> str:
    """In one line what it brought, and what was tried."""
    unit = "instructions" if result["tuned"]["cycles_estimate"] is None else "estimated cycles"
    measured = f"{result['measured']:,} of {result['candidates']:,} candidates measured"
    rate = f", {result['rate']:,.0f} a minute" if result["rate"] else ""
    left = f"; {result['left']:,} left for another time" if result["left"] else ""
    return f"{100 * result['gain']:.1f} % fewer {unit}; {measured}{rate}{left}"


def placement_text(placement: dict[str, Any]) -> str:
    """In one line which memories have the fewest cycles, or why that is not known."""
    if placement["text"] is None:
        return f"memories: as the board has them; {placement['reason']}"
    return f"memories: {placement['text']}, {100 * placement['gain']:.1f} % fewer estimated cycles with waits"


def flash_text(flash: dict[str, Any]) -> str:
    """In one line what the board counted in flash."""
    lost = f"; not faster there: {', '.join(flash['dropped'])}" if flash["dropped"] else ""
    if not flash["faster"]:
        return f"in flash: {flash['default']:,} cycles without, and nothing that was faster{lost}"
    gain = 100 * (1 - flash["tuned"] / flash["default"])
    return f"in flash: {flash['tuned']:,} cycles instead of {flash['default']:,}, {gain:.1f} % less{lost}"


def placement_table(placement: dict[str, Any]) -> Table:
    """Every placement that was compared, the board's own first."""
    grid = table()
    for head in ("weights in", "code in", "more RAM", "cycles with waits (est.)"):
        grid.add_column(head, justify="right" if head[-1] != "n" else "left")
    for row in placement["tried"]:
        style = GOOD if row["chosen"] else ""
        cells = (row["weights"], row["code"], number(row["ram"]), number(row["cycles"]))
        grid.add_row(*(Text(cell, style) for cell in cells))
    return grid


def layers_table(layers: list[dict[str, Any]]) -> Table:
    """For each layer what won over what, and by how much: its three best kernels, the one in use marked, the one that
    is used without measurements, and those that failed."""
    grid = table()
    for head in ("layers and kernels", "instructions", "cycles (est.)", "flash", "scratch", ""):
        words = head in ("", "layers and kernels")
        width = WIDEST if head == "layers and kernels" else None
        grid.add_column(head, justify="left" if words else "right", no_wrap=not words, min_width=width)
    for layer in layers:
        times = f" ({layer['times']} times)" if layer["times"] > 1 else ""
        grid.add_row(Text(layer["what"].partition(" #")[0] + times, HEAD))
        for row in layer["kernels"]:
            used, usual = row["name"] == layer["chosen"], row["name"] == layer["default"]
            if not (used or usual) and row not in layer["kernels"][:3] and row["failure"] in (None, "not measured"):
                continue
            mark, style = ("* ", GOOD) if used else ("  ", BAD if row["failure"] else "")
            cells = [number(row[key]) for key in ("instructions", "cycles", "flash", "scratch")]
            grid.add_row(Text(mark + row["name"], style), *cells, _note(layer, row, used, usual))
    return grid


def _note(layer: dict[str, Any], row: dict[str, Any], used: bool, usual: bool) -> Text:
    if row["failure"]:
        return Text(row["failure"], BAD if row["failure"] != "not measured" else QUIET)
    if used and usual:
        return Text("as without measurements", QUIET)
    if used and layer["gain"] is not None:
        return Text(f"{100 * layer['gain']:.1f} % less than {layer['default']}", GOOD)
    return Text("without measurements" if usual else "", QUIET)
