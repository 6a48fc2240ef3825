"""The arena over time as a picture: x is the step, y the byte, one rectangle per buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 1120, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 12, 26, 38
KINDS = 7  # colours; all other kinds share one more
_TICKS = 6
_LETTER = 6.6  # width of a character of a label


@dataclass(frozen=True)
class Box:
    """A buffer while it is alive."""

    name: str
    x: float
    y: float
    width: float
    height: float
    colour: int
    title: str
    label: str
    texts: tuple[str, ...]  # labels that could be there, the longest first


@dataclass(frozen=True)
class Tick:
    at: float
    text: str
    title: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class Peak:
    """The step that needs the most bytes."""

    x: float
    width: float
    text: str


@dataclass(frozen=True)
class MemoryMap:
    """Coordinates in a picture of WIDTH x HEIGHT."""

    boxes: list[Box]
    kinds: list[str]  # by colour
    steps: list[Tick]
    sizes: list[Tick]
    left: float
    right: float
    top: float
    bottom: float
    column: float
    per_byte: float
    arena: Tick
    bound: Tick
    peak: Peak | None
    width: int = WIDTH
    height: int = HEIGHT


def colours(network: dict[str, Any]) -> dict[str, int]:
    """A colour for each kind of operator, the most frequent first; the others share the last one."""
    count = Counter(b["group"] for b in network["buffers"] if b["bytes"])
    for step in network["steps"]:
        count.setdefault(step["group"], 0)
    return {group: min(number, KINDS) for number, (group, _) in enumerate(count.most_common())}


def memory_map(network: dict[str, Any]) -> MemoryMap:
    """Column 0 is before the first step, where the inputs are; the last column is after the last step."""
    steps, arena = network["steps"], network["arena"]
    buffers = [b for b in network["buffers"] if b["bytes"]]
    count = len(steps)
    column = (WIDTH - _LEFT - _RIGHT) / (count + 2)
    scale = (HEIGHT - _TOP - _BOTTOM) / (max(arena["bytes"], 1) * 1.04)

    def x(step: int) -> float:
        return round(_LEFT + (step + 1) * column, 2)

    def y(byte: int) -> float:
        return round(HEIGHT - _BOTTOM - byte * scale, 2)

    colour = colours(network)
    boxes = [_box(b, x, y, column, colour[b["group"]], count) for b in sorted(buffers, key=lambda b: -b["bytes"])]
    at, peak = arena["peak_step"], None
    if 0 <= at < count:
        peak = Peak(x(at), round(column, 2), f"peak: step {at}, {steps[at]['what']}")
    names = [group for group in colour if colour[group] < KINDS and any(b["group"] == group for b in buffers)]
    others = ["other"] if any(colour[b["group"]] == KINDS for b in buffers) else []
    return MemoryMap(
        boxes, names + others, _step_ticks(steps, x, column),
        [Tick(y(b), f"{b / 1024:g} KB" if b >= 1024 else str(b)) for b in _marks(arena["bytes"])],
        _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM, column, scale,
        Tick(y(arena["bytes"]), f"arena {arena['bytes']:,} bytes"),
        Tick(y(arena["lower_bound"]), f"no plan needs less than {arena['lower_bound']:,} bytes"), peak,
    )


def _box(
    buffer: dict[str, Any], x: Callable[[int], float], y: Callable[[int], float], column: float, colour: int, count: int
) -> Box:
    first, last, offset, size = (buffer[key] for key in ("first", "last", "offset", "bytes"))
    width, height = x(last + 1) - x(first), y(offset) - y(offset + size)
    name = buffer["module"] or (buffer["what"].removeprefix("input ") if buffer["group"] == "input" else "")
    texts = (f"{name} {size:,}", f"{size:,}") if name else (f"{size:,}",)
    title = f"{buffer['what']}\n{buffer['name']}: {size:,} bytes, from byte {offset:,}\n{_when(first, last, count)}"
    return Box(buffer["name"], x(first), y(offset + size), round(width, 2), round(height, 2), colour, title,
               _label(texts, max(width - column, column), height), texts)


def _label(texts: tuple[str, ...], width: float, height: float) -> str:
    """As much of name and size as there is room for; the last step is often covered by what comes next."""
    return next((t for t in texts if height >= 20 and width >= _LETTER * len(t) + 8), "")


def _when(first: int, last: int, count: int) -> str:
    start = "from the start" if first < 0 else f"from step {first}"
    return f"{start} {'to the end' if last >= count else f'to step {last}'}"


def _step_ticks(steps: list[dict[str, Any]], x: Callable[[int], float], column: float) -> list[Tick]:
    """Step numbers under their columns, hidden until they have room."""
    every = 1
    while column * every < 24:
        every *= 2 if str(every)[0] != "2" else 5
    ticks = [Tick(x(i) + column / 2, str(i), step["what"], bool(i % every)) for i, step in enumerate(steps)]
    narrow = column < 24
    return [Tick(x(-1) + column / 2, "in", hidden=narrow), *ticks,
            Tick(x(len(ticks)) + column / 2, "out", hidden=narrow)]


def _marks(top: int) -> list[int]:
    """Round sizes for the axis, powers of two apart."""
    step = 16
    while top // step > _TICKS:
        step *= 2
    return list(range(0, top + 1, step))
