"""What a streaming model does and costs, and its answers over time."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from pilotlight.report.style import BAD, number, table

ROWS = 24  # of a time line in a terminal


def add_stream(grid: Table, stream: dict[str, Any] | None, clock_hz: int | None) -> None:
    """Lines of a summary: hop, latency, state, MACs, and what was counted."""
    if stream is None:
        return
    hop_ms = "" if stream["hop_ms"] is None else f", {_ms(stream['hop_ms'])}"
    gives = "; ".join(_gives(output) for output in stream["outputs"])
    grid.add_row("stream", number(stream["hop"]), f"new samples a step{hop_ms}, which gives {gives}")
    late = "" if stream["latency_ms"] is None else f", {_ms(stream['latency_ms'])}"
    grid.add_row("latency", number(stream["latency"]), f"samples{late}, that layers look ahead; a hop comes on top")
    grid.add_row("state", number(stream["state_bytes"]),
                 f"bytes for what the model remembers; the C interface buffers {number(stream['buffer'])} samples")
    if stream["macs_second"] is not None:
        step, window = stream["macs_second"], stream["macs_second_window"]
    else:
        step, window = stream["macs_step"], stream["macs_window"]
    every = "a second" if stream["macs_second"] is not None else "a step"
    times = f", {window / step:.3g} times as many" if step else ""
    grid.add_row("MACs", number(step), f"{every}; computing the whole window each time takes {number(window)}{times}")
    _add_counted(grid, stream, clock_hz)
    if stream["padded"] and not stream["exact"]:
        layers = ", ".join(stream["padded"][:3]) + (" and others" if len(stream["padded"]) > 3 else "")
        grid.add_row("window", Text("!", BAD), f"answers are not those of the model's own window, which has borders in "
                     f"time at {layers}; --stream hop={stream['hop']},exact gives those")


def _ms(time: float) -> str:
    return f"{time:.3g} ms" if time < 1000 else f"{number(round(time))} ms"


def _gives(output: dict[str, Any]) -> str:
    if output["kind"] == "frames":
        return f"{output['frames']} frame{'s' if output['frames'] != 1 else ''} of {output['samples']:g} samples"
    return "an answer for the newest window" if output["kind"] == "window" else "an answer for all up to now"


def _add_counted(grid: Table, stream: dict[str, Any], clock_hz: int | None) -> None:
    if "unit" not in stream:
        return
    if stream["second"] is not None:
        at = "" if stream["load"] is None or clock_hz is None else \
            f", {stream['load']:.1%} of the core at {clock_hz / 1e6:g} MHz"
        estimate = " (estimate)" if stream["unit"] == "cycles" else ", taken as cycles" if at else ""
        grid.add_row("a second", number(stream["second"]), f"{stream['unit']} a second of signal{estimate}{at}")
    time = "" if stream["worst_step_ms"] is None else f", {_ms(stream['worst_step_ms'])}"
    of = f" of the {_ms(stream['hop_ms'])} until the next" if stream["hop_ms"] is not None and time else ""
    late = stream.get("worst_load") is not None and stream["worst_load"] > 1
    text = f"{stream['unit']} in the worst step{time}{of}"
    grid.add_row("worst step", number(stream["worst_step"]), Text(f"{text}: too slow", BAD) if late else text)


def timeline_tables(figures: dict[str, Any]) -> list[Table]:
    """The answers over time, the board's next to PyTorch's: where they change, and a few of the others, each with how
    much of the recording had been heard."""
    line = figures.get("timeline")
    if not line or not line["samples"]:
        return []
    grid = table()
    for head in ("after", figures["board"], figures.get("truth", "PyTorch"), "largest difference"):
        grid.add_column(head, justify="right" if head == "after" else "left")
    for k in _shown(line["answers"], line["truth"]):
        at = line["samples"][k]
        when = f"{at / line['rate']:.3f} s" if line["rate"] else f"{at:g}"
        got, want = line["answers"][k], line["truth"][k]
        apart = max((abs(a - b) for a, b in zip(got, want, strict=True)), default=0.0)
        grid.add_row(when, answer_text(got), answer_text(want), f"{apart:.2g}")
    return [grid]


def _shown(*answers: list[list[float]]) -> list[int]:
    """Rows in which some answer changes, if there are not too many, and others between them."""
    count = len(answers[0])
    changes = {k for k in range(count) if any(_says(rows[k]) != _says(rows[max(k - 1, 0)]) for rows in answers)}
    shown = changes if len(changes) <= ROWS else set()
    for parts in range(ROWS - len(shown), 0, -1):  # as many as there is room for
        even = {round(k * (count - 1) / max(parts - 1, 1)) for k in range(parts)}
        if len(shown | even) <= ROWS:
            return sorted(shown | even)
    return sorted(shown)


def _says(numbers: list[float]) -> float:
    """A number, or which of several is the largest."""
    return numbers[0] if len(numbers) == 1 else max(range(len(numbers)), key=lambda k: numbers[k])


def answer_text(numbers: list[float]) -> str:
    """One number, or the largest of several and where it is."""
    if len(numbers) == 1:
        return f"{numbers[0]:.4g}"
    best = int(_says(numbers))
    return f"{best}: {numbers[best]:.4g}"
