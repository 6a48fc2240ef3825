"""One build or one run in a few lines: whether it matches, what it needs, what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.table import Table
from rich.text import Text

from pilotlight.figures.record import layer_text
from pilotlight.report.comparison import fallback_text
from pilotlight.report.saving import add_saving
from pilotlight.report.streaming import add_stream
from pilotlight.report.style import (
    BAD,
    GOOD,
    HEAD,
    QUIET,
    duration,
    error_text,
    facts,
    number,
    ratio,
)
from pilotlight.report.timing import timing_rows
from pilotlight.report.widths import add_widths


def run_title(figures: dict[str, Any]) -> Text:
    title = figures["hardware"]["title"]
    return Text.assemble((figures["name"], HEAD), " on ", (figures["board"], HEAD), (f"  {title}", QUIET))


def summary_table(figures: dict[str, Any]) -> Table:
    """Everything known about a build, or about a run (then with `match`)."""
    grid, board = facts(), figures["hardware"]
    if "match" in figures:
        _add_match(grid, figures)
    flash, ram = figures["flash"], figures["ram"]
    harness = f"; the test harness adds {number(flash['harness'])}" if flash["harness"] else ""
    usual = board["place"] or {}
    grid.add_row("flash", number(flash_need(flash)), f"bytes: {flash_text(figures, usual)}{harness}")
    grid.add_row("RAM", number(ram_need(ram)), f"bytes: {ram_text(figures, usual)}")
    grid.add_row("arena", number(ram["arena"]), f"bytes: {arena_text(ram)}")
    grid.add_row("MACs", number(figures["macs_executed"]), _macs_text(figures))
    add_saving(grid, figures.get("saving"))
    add_widths(grid, figures.get("quantization"))
    for partition in figures.get("backends") or ():
        _add_partition(grid, partition)
    if figures.get("instructions") is not None:
        count, macs = figures["instructions"], figures["macs_executed"]
        grid.add_row("instructions", number(count), f"{ratio(count, macs)} per MAC" if macs else "")
    elif figures.get("counts_reason"):
        grid.add_row("instructions", "-", figures["counts_reason"])
    for row in timing_rows(figures):
        grid.add_row(*row)
    add_stream(grid, figures.get("stream"), board["clock_hz"])
    for reason in dict.fromkeys(figures["unknown"]):
        grid.add_row("unknown", "-", reason)
    if tools := tools_text(figures):
        grid.add_row("made with", "", tools)
    for key, text in figures.get("notes", {}).items():
        grid.add_row(Text(key), "", Text(text))
    return grid


def _add_partition(grid: Table, partition: dict[str, Any]) -> None:
    """What a backend computes, and what it refused, by reason."""
    taken = partition["taken"]
    operators = sum(row["operators"] for row in taken)
    calls = f"{operators} operators in {len(taken)} call{'s' if len(taken) != 1 else ''}"
    names = "; ".join(
        f"{count} {what}" if count > 1 else what for what, count in Counter(row["what"] for row in taken).items())
    grid.add_row("backend", partition["backend"], Text(f"{calls}: {names}" if taken else "computes nothing here"))
    reasons: dict[str, list[str]] = {}
    for row in partition["refused"]:
        reasons.setdefault(row["reason"], []).append(row["op"])
    for reason, kinds in reasons.items():
        told = ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in Counter(kinds).items())
        grid.add_row("", "", Text(f"not {told}: {reason}"))


def device_table(figures: dict[str, Any], run: dict[str, Any]) -> Table:
    """One entry point of a project that ran on a device: whether it matches, and what it took there."""
    grid, clock = facts(), run["hardware"]["clock_hz"]
    _add_match(grid, figures)
    if figures["cycles"] is not None:
        at = f", {duration(figures['cycles'], clock)} at {clock / 1e6:g} MHz" if clock else ""
        text = f"as the device counts them{at}" if run["emulator"] is None \
            else f"in {run['emulator']}, where all instructions take the same time"
        grid.add_row("cycles", number(figures["cycles"]), text)
    if run["stack"] is not None:
        grid.add_row("stack", number(run["stack"]), "bytes at most")
    for line in run["log"]:
        grid.add_row("said", "", line)
    return grid


def tools_text(figures: dict[str, Any]) -> str:
    """The compiler, and the emulator if it ran in one."""
    versions = (figures.get("made") or {}).get("versions", {})
    return ", ".join(versions[tool] for tool in ("compiler", "emulator") if versions.get(tool))


def _add_match(grid: Table, figures: dict[str, Any]) -> None:
    """The verdict, and per output the distance where there are several."""
    match, outputs = figures["match"], figures["outputs"]
    for index, output in enumerate(outputs):
        label = "match" if index == 0 else ""
        verdict = Text("yes", GOOD) if output["match"] else Text("NO", BAD)
        name = f"output {output['name']}: " if len(outputs) > 1 else ""
        grid.add_row(label, verdict, f"{name}{match_text(figures, index)}; {runs_text(figures['runs'])}")
    if not match and all(output["match"] for output in outputs):
        grid.add_row("reset", Text("NO", BAD), "after a reset the outputs are not the same")
    accuracy = figures.get("accuracy")
    if accuracy:
        grid.add_row("accuracy", percent(accuracy["board"]), accuracy_text(accuracy))
    for text in figures.get("warnings") or ():
        grid.add_row("warning", Text("!", BAD), text)
    for row in figures.get("worst_layers") or ():
        grid.add_row("loses most", f"{row['snr_db']:.1f} dB", layer_text(row))
    for row in figures.get("fallbacks") or ():
        grid.add_row("float", row["op"], fallback_text(row))


def runs_text(runs: int) -> str:
    return f"{runs} run{'s' if runs != 1 else ''}"


def match_text(figures: dict[str, Any], index: int, claimed: bool = False) -> str:
    """What one output was compared with and how far it is from that; for a quantized model also from float.

    If the bytes are `claimed` to be equal, that is not repeated.
    """
    output, other = figures["outputs"][index], figures["compared_with"]
    apart = f"largest difference {error_text(output['max_abs_error'])}, allowed {error_text(output['limit'])}"
    if other == "PyTorch" or not (other.startswith("the integer") or figures.get("snr_db")):
        return apart if other == "PyTorch" else f"{apart}, from {other}"
    equal = other.startswith("the integer") and output["match"] and not output["limit"]
    text = "" if equal and claimed else f"bytes equal {other}; " if equal else f"{apart}, from {other}; "
    return f"{text}{noise_text(figures, index)} against {figures['snr_against']}"


def noise_text(figures: dict[str, Any], index: int) -> str:
    """How close an output of a quantized model is to the float model."""
    decibels, share = ((figures[key] or [None] * (index + 1))[index] for key in ("snr_db", "agreement"))
    if share is not None:
        return f"{percent(share)} the same"
    return "no noise" if decibels is None else f"{decibels:.1f} dB"


def percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def accuracy_text(accuracy: dict[str, Any]) -> str:
    """PyTorch next to the board."""
    right = accuracy["right"]
    pt2e = "" if right["pt2e"] is None else f"; PT2E {right['pt2e']} ({percent(accuracy['pt2e'])})"
    return (
        f"{right['board']} of {accuracy['samples']} right; PyTorch {right['float']} ({percent(accuracy['float'])})"
        f"{pt2e}; {accuracy['different']} classes differ"
    )


def flash_need(flash: dict[str, int | None]) -> int | None:
    """The model alone; unknown if its code size is."""
    return None if flash["code"] is None else flash["code"] + (flash["weights"] or 0)


def ram_need(ram: dict[str, int | None]) -> int | None:
    return None if ram["stack"] is None else ram["total"]


def flash_text(figures: dict[str, Any], usual: dict[str, str]) -> str:
    """Such as `code 5,304, weights 24,248 in qspi`: a memory is named if it is not the board's default."""
    moved = _moved(figures, usual)
    if figures["ram"]["weights"]:
        moved.pop("weights", None)  # what is left here are tables, next to the code
    return _parts(figures["flash"], ("code", "weights"), moved)


def ram_text(figures: dict[str, Any], usual: dict[str, str]) -> str:
    """With the weights, if they were put into RAM."""
    ram, moved = figures["ram"], _moved(figures, usual)
    parts = ("arena", "state", "static", "stack", *(("weights",) if ram["weights"] else ()))
    return _parts(ram, parts, moved)


def _moved(figures: dict[str, Any], usual: dict[str, str]) -> dict[str, str]:
    chosen = figures["placement"] or {}
    moved = {part: memory for part, memory in chosen.items() if memory != usual[part]}
    return moved | ({"state": moved["arena"]} if "arena" in moved else {})


def _parts(sizes: dict[str, int | None], parts: Iterable[str], moved: dict[str, str]) -> str:
    return ", ".join(
        f"{part} {number(sizes[part])}" + (f" in {moved[part]}" if part in moved and sizes[part] else "")
        for part in parts
    )


def arena_text(ram: dict[str, Any]) -> str:
    """Both bounds next to the peak."""
    return (
        f"at least {number(ram['arena_lower_bound'])} for any plan, "
        f"{number(ram['arena_no_overlap'])} if no bytes were shared"
    )


def _macs_text(figures: dict[str, Any]) -> str:
    captured = figures["macs"]
    return "" if captured == figures["macs_executed"] else f"{number(captured)} in the model as captured"

