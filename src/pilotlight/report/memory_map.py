"""The arena over time as a picture: x is the step, y the byte, one rectangle a buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from pilotlight.limits import describe_buffers
from pilotlight.ops.describe import describe_group, describe_op
from pilotlight.plan import Plan

WIDTH, HEIGHT = 1120, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 12, 26, 38
_KINDS = 7  # colours; the rest of the kinds shares one more
_TICKS = 6
_LETTER = 6.6  # width of a character of a label


@dataclass(frozen=True)
class Box:
    """A buffer while it is alive."""

    x: float
    y: float
    width: float
    height: float
    colour: int
    title: str
    label: str


@dataclass(frozen=True)
class Tick:
    at: float
    text: str
    title: str = ""


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
    arena: Tick
    bound: Tick
    peak: Box | None
    width: int = WIDTH
    height: int = HEIGHT


def memory_map(plan: Plan) -> MemoryMap:
    """Column 0 is before the first step, where the inputs are; the last column is after the last step."""
    count = len(plan.steps)
    column = (WIDTH - _LEFT - _RIGHT) / (count + 2)
    top = max(plan.arena.size, 1) * 1.04
    scale = (HEIGHT - _TOP - _BOTTOM) / top

    def x(step: int) -> float:
        return round(_LEFT + (step + 1) * column, 2)

    def y(byte: int) -> float:
        return round(HEIGHT - _BOTTOM - byte * scale, 2)

    words, kind_of, modules = describe_buffers(plan), _kinds(plan), _modules(plan)
    kinds = [kind for kind, _ in Counter(kind_of[b.name] for b in plan.buffers if b.size).most_common()]
    colours = {kind: min(number, _KINDS) for number, kind in enumerate(kinds)}
    boxes = []
    for buffer in sorted((b for b in plan.buffers if b.size), key=lambda b: -b.size):
        offset = plan.arena.offsets[buffer.name]
        width, height = x(buffer.last + 1) - x(buffer.first), y(offset) - y(offset + buffer.size)
        label = _label(f"{buffer.size:,}", modules.get(buffer.name, ""), max(width - column, column), height)
        title = (
            f"{words[buffer.name]}\n{buffer.name}: {buffer.size:,} bytes, from byte {offset:,}\n"
            f"{_when(buffer.first, buffer.last, count)}"
        )
        boxes.append(Box(x(buffer.first), y(offset + buffer.size), round(width, 2), round(height, 2),
                         colours[kind_of[buffer.name]], title, label))
    step = plan.arena.peak_step
    peak = None
    if 0 <= step < count:
        what = f"peak: step {step}, {describe_op(plan.steps[step])}"
        peak = Box(x(step), _TOP, round(column, 2), HEIGHT - _TOP - _BOTTOM, 0, what, what)
    shown = kinds[:_KINDS] + (["other"] if len(kinds) > _KINDS else [])
    return MemoryMap(
        boxes, shown, _step_ticks(plan, x, column),
        [Tick(y(b), f"{b / 1024:g} KB" if b >= 1024 else str(b)) for b in _marks(plan.arena.size)],
        _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM,
        Tick(y(plan.arena.size), f"arena {plan.arena.size:,} bytes"),
        Tick(y(plan.arena.lower_bound), f"no plan needs less than {plan.arena.lower_bound:,} bytes"), peak,
    )


def _kinds(plan: Plan) -> dict[str, str]:
    """Which kind of operator wrote a buffer."""
    kinds = {port.value.name: "input" for port in plan.graph.inputs}
    for node in plan.steps:
        for value in node.outputs:
            kinds.setdefault(value.name, describe_group(node))
        scratch = plan.scratch_name(node)
        if scratch is not None:
            kinds[scratch] = "scratch"
    return {b.name: kinds.get(b.name, "other") for b in plan.buffers}


def _modules(plan: Plan) -> dict[str, str]:
    """The module that a buffer came from, or the input that it is."""
    names = {value.name: node.place.module for node in plan.steps for value in node.outputs}
    return names | {port.value.name: port.name for port in plan.graph.inputs}


def _label(size: str, module: str, width: float, height: float) -> str:
    """As much of name and size as there is room for; the last step is often covered by what comes next."""
    texts = [f"{module} {size}", size] if module else [size]
    return next((t for t in texts if height >= 20 and width >= _LETTER * len(t) + 8), "")


def _when(first: int, last: int, count: int) -> str:
    start = "from the start" if first < 0 else f"from step {first}"
    return f"{start} {'to the end' if last >= count else f'to step {last}'}"


def _step_ticks(plan: Plan, x: Callable[[int], float], column: float) -> list[Tick]:
    """Step numbers under their columns, thinned out until they have room."""
    every = 1
    while column * every < 24:
        every *= 2 if str(every)[0] != "2" else 5
    ticks = [Tick(x(i) + column / 2, str(i), describe_op(node)) for i, node in enumerate(plan.steps)]
    ends = [Tick(x(-1) + column / 2, "in"), Tick(x(len(ticks)) + column / 2, "out")] if column >= 24 else []
    return ticks[::every] + ends


def _marks(top: int) -> list[int]:
    """Round sizes for the axis, powers of two apart."""
    step = 16
    while top // step > _TICKS:
        step *= 2
    return list(range(0, top + 1, step))
