"""How each operator streams. A rule gives its node's results for one step, or says why it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from pilotlight.graph import Node, Value
from pilotlight.ops.pointwise.float import is_pointwise
from pilotlight.stream.builder import StepBuilder, head_after
from pilotlight.stream.flow import FixesWindowError, Flow, Latest, UnevenHopError, UnstreamableError, Window, layer_name

Rule = Callable[[StepBuilder, Node], None]
RULES: dict[str, Rule] = {}


def streams(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators of these names."""

    def wrap(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return wrap


def rule_of(node: Node) -> Rule | None:
    return RULES.get(node.op) or (pointwise if is_pointwise(node.op) else None)


def only_flow(s: StepBuilder, node: Node) -> tuple[Value, Flow]:
    """The one input that has time."""
    flows = [v for v in node.inputs if isinstance(s.kinds.get(v), Flow)]
    if len(set(flows)) != 1 or flows[0] is not node.inputs[0]:
        raise UnstreamableError("it takes more than one value over time")
    return flows[0], s.flow(flows[0])


def others(s: StepBuilder, node: Node) -> list[Value]:
    """The inputs after the first, which do not change with time."""
    return [s.fixed(v) for v in node.inputs[1:]]


# ---- frame by frame --------------------------------------------------------------------------------------------


@streams("quantize", "dequantize", "cast", "copy")
def pointwise(s: StepBuilder, node: Node) -> None:
    """Operands are aligned to the latest of them; what does not change with time may not change along it."""
    rank = len(node.output.shape)
    flows = {v: s.flow(v) for v in node.inputs if isinstance(s.kinds.get(v), Flow)}
    places = {len(v.shape) - f.axis for v, f in flows.items()}
    if len(places) != 1:
        raise UnstreamableError("it combines each frame with all others")
    axis = rank - places.pop()
    common = aligned(node, list(flows.values()))
    if common.offset > 0 and _of_one_number(node, list(flows)):
        common = replace(common, head=head_after(node, common.head))
    else:
        common = replace(common, offset=min(common.offset, 0), head=0.0)
    inputs = [
        s.frames(v, common.offset, common.stop) if v in flows else still(s, v, rank, axis) for v in node.inputs
    ]
    for value, made in zip(node.outputs, s.emit(node, inputs), strict=True):
        s.give(value, replace(common, axis=axis), made)


def _of_one_number(node: Node, flows: list[Value]) -> bool:
    """Whether padding before the first frame becomes one number again."""
    return flows == node.inputs[:1] and all(v.data is not None and v.elements == 1 for v in node.inputs[1:])


def aligned(node: Node, flows: list[Flow]) -> Flow:
    """Frames that all of several flows have."""
    if len({f.rate for f in flows}) != 1:
        raise UnstreamableError("its operands have different numbers of frames")
    offset = min(f.offset for f in flows)
    padded = tuple(dict.fromkeys(layer for f in flows for layer in f.padded))
    extra = min(f.extra for f in flows)
    return replace(
        flows[0], offset=offset, extra=extra, tail=max(f.tail for f in flows), warm=max(f.warm for f in flows),
        padded=padded,
        lag=max(extra - offset, 0) if all(f.reaches_end for f in flows) else 0,
    )


def still(s: StepBuilder, value: Value, rank: int, axis: int) -> Value:
    """An operand without time: the same for all frames."""
    own = axis - (rank - len(value.shape))
    if own < 0 or value.shape[own] == 1:
        return s.fixed(value)
    data = s.constant(value)
    if data is None or not np.array_equal(data, np.broadcast_to(np.take(data, [0], own), data.shape)):
        raise UnstreamableError("it uses numbers that depend on the position in the window")
    return s.b.constant(np.take(data, [0], own), hint=value.name)


@streams("softmax", "log_softmax")
def softmax(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    if node.attrs["axis"] == flow.axis:
        raise UnstreamableError("a softmax over all time needs frames that have not arrived")
    per_frame(s, node, x, flow)


@streams("layer_norm", "rms_norm")
def row_norm(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    if prod(x.shape[flow.axis + 1 :]) < node.attrs["size"]:
        raise UnstreamableError("it normalizes over all time")
    per_frame(s, node, x, flow)


@streams("group_norm")
def group_norm(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    if flow.axis != 0:
        raise UnstreamableError("it normalizes over all time")
    per_frame(s, node, x, flow)


@streams("linear", "wlinear8", "wlinear4")
def linear(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    if flow.axis != 0:
        raise FixesWindowError
    per_frame(s, node, x, flow)


@streams("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "sort", "topk")
def lanes(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    if node.attrs.get("axis") is None or node.attrs["axis"] % len(x.shape) == flow.axis:
        raise UnstreamableError(f"{node.op} over all time depends on every frame before")
    per_frame(s, node, x, flow)


@streams("sum", "mean", "amax", "amin", "prod", "any", "all", "argmax", "argmin")
def reduction(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    if flow.axis in node.attrs["axes"]:
        raise FixesWindowError
    per_frame(s, node, x, flow)


def per_frame(s: StepBuilder, node: Node, x: Value, flow: Flow) -> None:
    """Each frame by itself, on the same axis; what padding before the start becomes is not a number that is known."""
    begin = min(flow.offset, 0)
    made = s.emit(node, [s.frames(x, begin, begin + flow.frames), *others(s, node)])
    for value, result in zip(node.outputs, made, strict=True):
        s.give(value, replace(flow, offset=begin, head=0.0), result)


@streams("matmul")
def matmul(s: StepBuilder, node: Node) -> None:
    flows = {k: s.flow(v) for k, v in enumerate(node.inputs) if isinstance(s.kinds.get(v), Flow)}
    rank = len(node.output.shape)
    axes = set()
    for k, flow in flows.items():
        from_end = len(node.inputs[k].shape) - flow.axis
        contracted = 1 if k == 0 or node.attrs.get("transposed") else 2
        if from_end == contracted:
            raise FixesWindowError
        axes.add(rank - from_end if from_end > 2 or k == 0 else rank - 1)
    if len(axes) != 1:
        raise UnstreamableError("it compares every frame with all others")
    axis = axes.pop()
    fixed = {k: s.fixed(v) for k, v in enumerate(node.inputs) if k not in flows}
    if axis < rank - 2 and len(flows) == 1:
        (k,) = flows
        fixed[1 - k] = still(s, node.inputs[1 - k], rank, axis)
    elif axis >= rank - 2 and len(flows) > 1:
        raise UnstreamableError("it compares every frame with all others")
    common = aligned(node, list(flows.values()))
    begin = min(common.offset, 0)
    inputs = [s.frames(v, begin, begin + common.frames) if k in flows else fixed[k]
              for k, v in enumerate(node.inputs)]
    s.give(node.output, replace(common, axis=axis, offset=begin, head=0.0), s.emit(node, inputs)[0])


# ---- moving frames ---------------------------------------------------------------------------------------------


@streams("permute")
def permute(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    axis = node.attrs["perm"].index(flow.axis)
    s.give(node.output, replace(flow, axis=axis), s.emit(node, [s.current(x)])[0])


@streams("flip")
def flip(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    if flow.axis in node.attrs["dims"]:
        raise FixesWindowError
    s.give(node.output, flow, s.emit(node, [s.current(x)])[0])


@streams("expand")
def expand(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    axis = flow.axis + len(node.output.shape) - len(x.shape)
    if node.output.shape[axis] != x.shape[flow.axis]:
        raise FixesWindowError  # one frame, repeated
    shape = (*node.output.shape[:axis], flow.frames, *node.output.shape[axis + 1 :])
    s.give(node.output, replace(flow, axis=axis), s.emit(node, [s.current(x)], shape=shape)[0])


@streams("reshape")
def reshape(s: StepBuilder, node: Node) -> None:
    """Time stays a dimension, becomes groups of frames, or groups become frames; else it is mixed with the rest."""
    x, flow = only_flow(s, node)
    length, shape = x.shape[flow.axis], node.output.shape
    lead, axis = prod(x.shape[: flow.axis]), 0
    while axis < len(shape) and (prod(shape[:axis]) != lead or (shape[axis] == 1 and length > 1)):
        axis += 1
    if length == 1 or axis == len(shape):
        raise FixesWindowError
    size = shape[axis]
    if size <= length and length % size == 0:
        group = length // size
        if not any(prod(shape[axis + 1 : k]) == group for k in range(axis + 1, len(shape) + 1)):
            raise FixesWindowError
        if flow.frames % group:
            raise UnevenHopError(group)
        begin = flow.offset // group * group
        begin = begin if group == 1 else min(begin, 0)
        given = replace(
            flow, axis=axis, frames=flow.frames // group, rate=flow.rate * group, offset=begin // group,
            extra=flow.extra // group, tail=-(-flow.tail // group), warm=-(-flow.warm // group),
        )
        part = s.frames(x, begin, begin + flow.frames)
    elif size % length == 0 and any(
        prod(x.shape[flow.axis : k]) == size for k in range(flow.axis + 1, len(x.shape) + 1)
    ):
        group = size // length
        given = replace(
            flow, axis=axis, frames=flow.frames * group, rate=flow.rate / group, offset=flow.offset * group,
            extra=flow.extra * group, tail=flow.tail * group, warm=flow.warm * group,
        )
        part = s.current(x)
    else:
        raise FixesWindowError
    new = (*shape[:axis], given.frames, *shape[axis + 1 :])
    s.give(node.output, given, s.emit(node, [part], shape=new)[0] if new != part.shape else part)


@streams("slice")
def slice_(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    start, _, step = node.attrs["ranges"][flow.axis]
    length, count = x.shape[flow.axis], node.output.shape[flow.axis]
    if count == 1 and length > 1:
        if start == length - 1 and flow.reaches_end and not s.exact:
            _latest(s, node, x, flow)
            return
        raise FixesWindowError
    if flow.frames % step:
        raise UnevenHopError(step)
    begin = min((flow.offset - 1 + step - start) // step, 0) if step > 1 else flow.offset - start
    first = begin * step + start
    frames = flow.frames // step
    part = s.frames(x, first, first + (frames - 1) * step + 1)
    ranges = [*node.attrs["ranges"]]
    ranges[flow.axis] = (0, (frames - 1) * step + 1, step)
    cut = length - 1 - (start + (count - 1) * step)  # frames that are dropped at the end
    flow = replace(
        flow, frames=frames, rate=flow.rate * step, offset=begin, extra=(flow.extra - start - cut - 1) // step + 1,
        tail=-(-max(flow.tail - cut, 0) // step), warm=max(-(-(flow.warm - start) // step), 0),
        head=flow.head if step == 1 else 0.0,
    )
    s.give(node.output, flow, s.emit(node, [part], ranges=tuple(ranges))[0])


def _latest(s: StepBuilder, node: Node, x: Value, flow: Flow) -> None:
    """The last frame of all: that of everything up to now."""
    ranges = [*node.attrs["ranges"]]
    ranges[flow.axis] = (flow.frames - 1, flow.frames, 1)
    made = s.emit(node, [s.current(x)], ranges=tuple(ranges))[0]
    s.answer(node.output, latest_of(flow), made)


def latest_of(flow: Flow) -> Latest:
    """What follows the newest frame alone."""
    warm, late = -(-(flow.warm + 1 - flow.stop) // flow.frames), math.ceil(flow.lag * flow.rate)
    heard = math.floor(late / (flow.frames * flow.rate))  # the first step that has more samples than it is late
    return Latest(max(warm, heard, 0), late, flow.padded)


@streams("concat")
def concat(s: StepBuilder, node: Node) -> None:
    flows = {v: s.flow(v) for v in node.inputs if isinstance(s.kinds.get(v), Flow)}
    axis = node.attrs["axis"]
    if len({f.axis for f in flows.values()}) != 1:
        raise UnstreamableError("its operands have time on different axes")
    if next(iter(flows.values())).axis == axis:
        _around(s, node, flows)
        return
    time = next(iter(flows.values())).axis
    if any(isinstance(s.kinds.get(v), Window) for v in node.inputs):
        raise FixesWindowError
    common = aligned(node, list(flows.values()))
    begin = min(common.offset, 0)
    inputs = []
    for v in node.inputs:
        if v in flows:
            inputs.append(s.frames(v, begin, begin + common.frames))
            continue
        same = still(s, v, len(node.output.shape), time)
        inputs.append(s.b.expand(same, (*same.shape[:time], common.frames, *same.shape[time + 1 :])))
    s.give(node.output, replace(common, offset=begin, head=0.0), s.emit(node, inputs)[0])


def _around(s: StepBuilder, node: Node, flows: dict[Value, Flow]) -> None:
    """Something put before and after a value in time: padding, which later frames do not have."""
    if len(flows) != 1 or s.exact:
        raise FixesWindowError
    ((x, flow),) = flows.items()
    at = node.inputs.index(x)
    if node.inputs.count(x) > 1:
        raise FixesWindowError
    before = node.inputs[:at]
    sizes = [v.shape[flow.axis] for v in node.inputs]
    head, known = _uniform(s, before)
    held = known and node.output in s.remembered
    shifted = _shifted(node, flow, sum(sizes[:at]), sum(sizes[at + 1 :]), head if known else 0.0, held)
    if not known:
        shifted = replace(shifted, warm=flow.warm + sum(sizes[:at]))
    s.give(node.output, shifted, s.arrived(x, flow, head) if held and at else s.current(x))


def _uniform(s: StepBuilder, values: list[Value]) -> tuple[float, bool]:
    """The one number that constants hold."""
    numbers: set[float] = set()
    for value in values:
        data = s.constant(value) if s.kinds.get(value) is None else None
        if data is None:
            return 0.0, False
        numbers |= {float(n) for n in np.unique(data)}
    return (numbers.pop() if numbers else 0.0), len(numbers) == 0


def _shifted(node: Node, flow: Flow, before: int, after: int, head: float, held: bool) -> Flow:
    """A flow with so many more frames before it, which hold `head`, and after it; `held`: so do those before its first
    one that come out of a layer."""
    warm = flow.warm + before if flow.warm or (flow.offset < 0 and before > 0 and not held) else 0
    if flow.offset > 0 and before > 0 and flow.head != head:
        warm = flow.warm + before + flow.offset
    return replace(
        flow, offset=flow.offset + before, extra=flow.extra + before + after, tail=max(flow.tail + after, 0), warm=warm,
        head=head if before > 0 or flow.offset <= 0 else flow.head,
        padded=(*flow.padded, layer_name(node)) if before > 0 or after > 0 else flow.padded,
    )


@streams("pad")
def pad(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    before, after = ([*node.attrs[side]] for side in ("before", "after"))
    early, late = before[flow.axis], after[flow.axis]
    if s.exact and (early > 0 or late > 0):
        raise FixesWindowError
    before[flow.axis] = after[flow.axis] = 0
    value, held = float(node.attrs["value"]), node.output in s.remembered
    part = s.arrived(x, flow, value) if held and early > 0 else s.current(x)
    if any(before) or any(after):
        if flow.offset > 0:
            raise UnstreamableError("it pads frames that are padding themselves, in two ways")
        part = s.emit(node, [part], before=tuple(before), after=tuple(after))[0]
    s.give(node.output, _shifted(node, flow, early, late, value, held), part)


@streams("take")
def take(s: StepBuilder, node: Node) -> None:
    """Rows of a table for each index over time; windows of a value over time, which is what unfold is."""
    x, ids = node.inputs
    axis = node.attrs["axis"]
    if isinstance(s.kinds.get(ids), Flow):
        flow = s.flow(ids)
        if s.kinds.get(x) is not None or len(ids.shape) != 1:
            raise UnstreamableError("it looks up frames by computed numbers")
        begin = min(flow.offset, 0)
        part = s.frames(ids, begin, begin + flow.frames)
        s.give(node.output, replace(flow, axis=axis, offset=begin, head=0.0), s.emit(node, [s.fixed(x), part])[0])
        return
    flow = s.flow(x)
    if flow.axis != axis:
        per_frame(s, node, x, flow)
        return
    found = windows_of(s.constant(ids))
    if found is None:
        raise FixesWindowError
    first, size, step = found
    if flow.frames % step:
        raise UnevenHopError(step)
    unused = (x.shape[axis] - first - size) // step + 1 - node.output.shape[axis] // size  # windows at the end
    count = flow.frames // step
    begin = flow.first_window(step, size, -first)
    start = begin * step + first
    part = s.frames(x, start, start + (count - 1) * step + size)
    rows = np.arange(count)[:, None] * step + np.arange(size)
    new = s.b.constant(rows.reshape(-1).astype(np.int64), hint="windows")
    given = flow.spaced(begin, step, size, -first, flow.window_extra(step, size, -first) - unused)
    s.give(node.output, replace(
        given, frames=count * size, rate=given.rate / size, offset=begin * size, extra=given.extra * size,
        tail=given.tail * size, warm=given.warm * size,
    ), s.emit(node, [part, new])[0])


def windows_of(ids: np.ndarray | None) -> tuple[int, int, int] | None:
    """(first, size, step) of indices that are windows one after another; a single run is windows of one."""
    if ids is None or not ids.size or ids.min() < 0:
        return None
    flat = ids.reshape(-1)
    jumps = np.flatnonzero(np.diff(flat) != 1) + 1
    size = int(jumps[0]) if len(jumps) else 1
    if len(flat) % size:
        return None
    starts = flat[::size]
    step = int(starts[1] - starts[0]) if len(starts) > 1 else size
    expected = (starts[0] + np.arange(len(starts)) * step)[:, None] + np.arange(size)
    return (int(starts[0]), size, step) if step > 0 and np.array_equal(flat, expected.reshape(-1)) else None

