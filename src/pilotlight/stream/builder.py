"""Builds the step of a streaming model: frames on demand, with rings for those of earlier steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from pilotlight import ops
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Node, Place, State, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import BY_NUMPY, convert, to_numpy, to_torch
from pilotlight.ops.views import slice_axis
from pilotlight.stream.flow import Flow, Kind, Latest, Window

REMEMBER = ("lstm", "gru", "rnn", "iir")
Range = tuple[int, int]  # frames of a step, counted from where the step begins: [first, one past the last)


@dataclass
class Needs:
    """What the frames that layers ask for add up to; gathered over one pass, used in the next."""

    history: dict[tuple[str, float], int] = field(default_factory=dict)  # (value, what is before the start) → frames
    fills: dict[str, float] = field(default_factory=dict)  # the first one asked for, by value
    windows: list[tuple[int, Fraction]] = field(default_factory=list)  # (latest start in frames, samples per frame)
    rates: set[Fraction] = field(default_factory=set)

    def start(self) -> int:
        """Where the model's window begins, in samples from the first new one of a step."""
        grid = common_multiple(self.rates)
        return min((math.floor(frames * rate / grid) * grid for frames, rate in self.windows), default=0)


def common_multiple(rates: set[Fraction]) -> int:
    """The fewest samples that are a whole number of frames everywhere."""
    return math.lcm(1, *(rate.numerator for rate in rates))


class StepBuilder:
    """The new graph while it is made of the old nodes, one after another."""

    def __init__(self, graph: Graph, needs: Needs, exact: bool):
        self.graph = graph  # a clone: its nodes are taken out and replaced
        self.exact = exact
        self.needs, self.asked = needs, Needs()
        self.remembered = set() if exact else _before(graph, REMEMBER)  # by layers that never forget a wrong frame
        self.nodes, graph.nodes = graph.nodes, []
        self.b = Builder(graph)
        self.kinds: dict[Value, Kind] = {}
        self.window_warm = 0  # the first step whose window has only frames that are right
        self._made: dict[tuple[Value, Range, float | None], Value] = {}
        self._makers = {value: node for node in self.nodes for value in node.outputs}
        self._order = {node: k for k, node in enumerate(self.nodes)}
        self._rings: dict[tuple[Value, float], tuple[Value, int]] = {}
        self._masked: dict[tuple[Value, float], Value] = {}
        self._whole: dict[Value, Value] = {}
        self._names: set[str] = set()
        self._age: State | None = None  # steps since the start

    # ---- questions ---------------------------------------------------------------------------------------------

    def flow(self, value: Value) -> Flow:
        found = self.kinds.get(value)
        assert isinstance(found, Flow)
        return found

    def maker(self, value: Value) -> Node | None:
        return self._makers.get(value)

    def constant(self, value: Value) -> np.ndarray | None:
        """What a value is that does not depend on the input."""
        return self.b.known(self.fixed(value))

    def fixed(self, value: Value) -> Value:
        """A value that is the same in every step, in the new graph."""
        return self._whole.get(value, value)

    # ---- what rules say ----------------------------------------------------------------------------------------

    def give(self, value: Value, kind: Flow, current: Value) -> None:
        """The new frames of a value."""
        self.kinds[value] = kind
        self.asked.rates.add(kind.rate)
        self._made[value, (kind.offset, kind.stop), None] = current

    def answer(self, value: Value, kind: Latest | None, made: Value) -> None:
        """A value without time that is there in every step."""
        self.kinds[value] = kind
        self._whole[value] = made

    def over_window(self, node: Node) -> None:
        """Let a node be computed over the model's window, if anything needs its results."""
        padded = dict.fromkeys(layer for v in node.inputs for layer in getattr(self.kinds.get(v), "padded", ()))
        for value in node.outputs:
            self.kinds[value] = Window(tuple(padded))

    # ---- what rules ask for ------------------------------------------------------------------------------------

    def current(self, value: Value) -> Value:
        flow = self.flow(value)
        return self.frames(value, flow.offset, flow.stop)

    def frames(self, value: Value, start: int, stop: int, fill: float | None = None) -> Value:
        """Frames of a step; those of earlier steps come from a ring that starts with `fill` where there is nothing."""
        flow = self.flow(value)
        if (start, stop) == (flow.offset, flow.stop):
            fill = None
        key = value, (start, stop), fill
        if key not in self._made:
            self._made[key] = self._taken(value, start, stop, fill)
        return self._made[key]

    def _taken(self, value: Value, start: int, stop: int, fill: float | None) -> Value:
        flow, node = self.flow(value), self._makers.get(value)
        assert stop <= flow.stop, "frames that have not arrived"
        through = None if node is None else see_through(self, node, start, stop, fill)
        if through is not None:
            return through
        if start >= flow.offset:
            return self._cut(self.arrived(value, flow, fill), flow, start - flow.offset, stop - flow.offset)
        whole, history = self._ring(value, flow, flow.offset - start, fill)
        first = start - flow.offset + history
        return self._cut(whole, flow, first, first + stop - start)

    def _cut(self, value: Value, flow: Flow, first: int, last: int) -> Value:
        return slice_axis(self.b, value, flow.axis, first, last)

    def _ring(self, value: Value, flow: Flow, history: int, fill: float | None) -> tuple[Value, int]:
        """All frames that are known in a step, and how many of them are from earlier ones."""
        if fill is None:
            fill = self.needs.fills.get(value.name, 0.0)
        else:
            self.asked.fills.setdefault(value.name, fill)
        key = value.name, fill
        self.asked.history[key] = max(history, self.asked.history.get(key, 0))
        history = max(history, self.needs.history.get(key, 0))
        if (value, fill) not in self._rings or self._rings[value, fill][1] < history:
            self._rings[value, fill] = self._make_ring(value, flow, history, fill), history
        return self._rings[value, fill]

    def _make_ring(self, value: Value, flow: Flow, history: int, fill: float) -> Value:
        new = self.arrived(value, flow, fill)
        shape = (*new.shape[: flow.axis], history, *new.shape[flow.axis + 1 :])
        initial = np.full(shape, convert(np.asarray(fill), new.dtype))
        known = min(max(flow.offset, 0), history)  # the last ones are padding of the model itself
        if known:
            initial[(slice(None),) * flow.axis + (slice(history - known, None),)] = convert(
                np.asarray(flow.head), new.dtype)
        past = self.graph.fresh(f"{value.name}_past", new.dtype, shape)
        whole = self.b.node("concat", [past, new], f"{value.name}_known", axis=flow.axis)
        frames = whole.shape[flow.axis]
        kept = self._cut(whole, flow, frames - history, frames)
        self.graph.states.append(State(self._state_name(value), past, kept, initial))
        return whole

    def arrived(self, value: Value, flow: Flow, fill: float | None) -> Value:
        """The new frames. If a later layer remembers everything, those before frame 0 of all are `fill`, which is what
        the model has there: padding."""
        current = self.current(value)
        if fill is None or flow.offset >= 0 or value not in self.remembered:
            return current
        if (value, fill) not in self._masked:
            steps = [max(-(-(-flow.offset - k) // flow.frames), 0) for k in range(flow.frames)]
            shape = [flow.frames if d == flow.axis else 1 for d in range(len(current.shape))]
            ready = self._ready_after(np.array(steps, np.int32).reshape(shape))
            number = self.b.constant(convert(np.full((1,) * len(shape), fill), current.dtype))
            self._masked[value, fill] = self.b.node("where", [ready, current, number])
        return self._masked[value, fill]

    def _ready_after(self, steps: np.ndarray) -> Value:
        """Whether so many steps were before this one."""
        if self._age is None:
            self._age = self.state("age", np.zeros((1,), np.int32))
            one, most = (self.b.constant(np.full((1,), n, np.int32)) for n in (1, 2**30))
            self._age.next = self.b.node("minimum", [self.b.node("add", [self._age.value, one]), most])
        return self.b.node("ge", [self._age.value, self.b.constant(steps)])

    def held(self, value: Value, steps: int, initial: np.ndarray) -> Value:
        """The next value of a state that stays as it is in the first steps, before frame 0 of all."""
        ready = self._ready_after(np.full((1,), steps, np.int32))
        return self.b.node("where", [ready, value, self.b.constant(initial)])

    def _state_name(self, value: Value) -> str:
        node = self._makers.get(value)
        return self._unique(f"{(node.place.module if node else '') or value.name}.past")

    def _unique(self, name: str) -> str:
        count, found = 1, name
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found

    def state(self, name: str, initial: np.ndarray) -> State:
        """A state whose next value is set by the rule that asks for it."""
        name = self._unique(name)
        value = self.graph.fresh(name.replace(".", "_"), BY_NUMPY[initial.dtype], initial.shape)
        state = State(name, value, value, initial)
        self.graph.states.append(state)
        return state

    def whole(self, value: Value) -> Value:
        """A value over the model's window, or one that has no time."""
        for node in self._unmade(value):
            self._at(node.place)
            made = self.b.nodes(node.op, [self._ready(v) for v in node.inputs], None, **node.attrs)
            self._whole.update(zip(node.outputs, made, strict=True))
        return self._ready(value)

    def _unmade(self, value: Value) -> list[Node]:
        """The nodes that compute a value over the window and are not there yet, in order."""
        found: set[Node] = set()
        waiting = [value]
        while waiting:
            v = waiting.pop()
            node = self._makers.get(v)
            if node is None or node in found or v in self._whole or not isinstance(self.kinds.get(v), Window):
                continue
            found.add(node)
            waiting += node.inputs
        return sorted(found, key=self._order.__getitem__)

    def _ready(self, value: Value) -> Value:
        flow = self.kinds.get(value)
        if not isinstance(flow, Flow):
            return self._whole.get(value, value)
        if value not in self._whole:
            self._whole[value] = self._over_window(value, flow)
        return self._whole[value]

    def _over_window(self, value: Value, flow: Flow) -> Value:
        length = value.shape[flow.axis]
        self.asked.windows.append((flow.stop - length, flow.rate))
        begin = min(self.needs.start(), math.floor((flow.stop - length) * flow.rate))
        start = math.floor(begin / flow.rate)
        hop = int(flow.rate * flow.frames)
        right = -((start - flow.warm) // flow.frames)  # the first step without frames that are not the model's
        self.window_warm = max(self.window_warm, right, -(begin // hop))
        return self.frames(value, start, start + length)

    def emit(self, node: Node, inputs: Sequence[Value], **attrs: Any) -> list[Value]:
        """The old node with other inputs and attributes."""
        self._at(node.place)
        return self.b.nodes(node.op, list(inputs), None, **{**node.attrs, **attrs})

    def _at(self, place: Place) -> None:
        self.b.place = place


def see_through(s: StepBuilder, node: Node, start: int, stop: int, fill: float | None) -> Value | None:
    """Frames of a value that is another one in other words: the ring is then of that one, which may be integers."""
    if node.op not in ("reshape", "permute", "dequantize") or len(node.inputs) != 1:
        return None
    x = node.inputs[0]
    before, after = s.kinds.get(x), s.flow(node.output)
    if not isinstance(before, Flow):
        return None
    first, last = Fraction(start * before.frames, after.frames), Fraction(stop * before.frames, after.frames)
    shift = before.offset - Fraction(after.offset * before.frames, after.frames)
    if node.op == "reshape" and shift:
        return None  # it was delayed to begin with a whole frame
    if first.denominator != 1 or last.denominator != 1:
        return None
    if node.op == "dequantize" and fill is not None:
        fill = code_of(node, fill)
    part = s.frames(x, int(first), int(last), fill)
    s.b.place = node.place
    if node.op == "permute":
        return s.b.permute(part, node.attrs["perm"])
    if node.op == "reshape":
        shape = list(node.output.shape)
        shape[after.axis] = stop - start
        return s.b.reshape(part, shape)
    return s.b.node("dequantize", [part], None, **node.attrs)


def code_of(node: Node, number: float) -> float:
    """The integer that a dequantize node takes for a number."""
    limits = np.iinfo(node.inputs[0].dtype.numpy)
    codes = np.rint(np.float64(number) / node.attrs["scale"]) + node.attrs["zero"]
    return float(np.clip(codes, limits.min, limits.max))


def head_after(node: Node, head: float) -> float:
    """What an operator of one number makes of the padding before the first frame."""
    x = node.inputs[0]
    args = [to_torch(np.full((1,) * len(x.shape), convert(np.asarray(head), x.dtype)))]
    for value in node.inputs[1:]:
        assert value.data is not None
        args.append(to_torch(value.data))
    result = ops.get(node.op).reference(node, args)
    assert not isinstance(result, tuple)
    return float(to_numpy(result).reshape(-1)[0])


def _before(graph: Graph, names: Sequence[str]) -> set[Value]:
    """Everything that operators of these names depend on."""
    found: set[Value] = set()
    for node in reversed(graph.nodes):
        if node.op in names or any(v in found for v in node.outputs):
            found.update(node.inputs)
    return found


def too_long(hop: int, length: int) -> PilotlightError:
    return PilotlightError(
        f"hop {hop} is longer than the model's own window of {length} samples",
        hint=f"use a hop of at most {length}, or capture the model with a longer example", kind="usage",
    )
