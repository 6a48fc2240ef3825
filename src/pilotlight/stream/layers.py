"""Layers that look at several frames: convolutions, pooling, recurrent layers, attention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pilotlight.graph import Node, Value
from pilotlight.ops.views import slice_axis
from pilotlight.stream.builder import StepBuilder
from pilotlight.stream.flow import FixesWindowError, Flow, Missing, UnevenHopError, UnstreamableError, layer_name
from pilotlight.stream.rules import aligned, latest_of, only_flow, others, per_frame, streams

HIDDEN = -1e9  # what a mask adds to the scores of keys that it hides, or less


def _image_axis(flow: Flow) -> int | None:
    """0 or 1 for the height or width of (N, H, W, C), None for a batch of frames."""
    if flow.axis == 3:
        raise FixesWindowError
    return None if flow.axis == 0 else flow.axis - 1


def _with(pair: tuple[int, ...], at: int, number: int) -> tuple[int, ...]:
    return (*pair[:at], number, *pair[at + 1 :])


def _sliding(s: StepBuilder, node: Node, at: int, before: int, after: int, fill: float, **attrs: Any) -> None:
    """Windows over time: those that the new frames complete."""
    x, flow = only_flow(s, node)
    a = node.attrs
    stride, size = a["stride"][at], (a["kernel"][at] - 1) * a["dilation"][at] + 1
    whole = node.output.shape[flow.axis]
    ceil = whole > (x.shape[flow.axis] + before + after - size) // stride + 1
    padded = before > 0 or after > 0 or ceil
    if (s.exact and padded) or (whole == 1 and x.shape[flow.axis] > 1 and stride > 1):
        raise FixesWindowError
    if flow.frames % stride:
        raise UnevenHopError(stride)
    count, begin = flow.frames // stride, flow.first_window(stride, size, before)
    held = node.outputs[0] in s.remembered
    start = begin * stride - before
    part = s.frames(x, start, start + (count - 1) * stride + size, fill)
    given = flow.spaced(begin, stride, size, before, flow.window_extra(stride, size, before + after, ceil), held)
    if padded:
        given = replace(given, padded=(*flow.padded, layer_name(node)))
    if before and a.get("count_padding") is False and node.op.startswith("avg"):
        given = replace(given, warm=max(given.warm, -(-before // stride)))  # they divide by fewer frames there
    made = s.emit(node, [part, *others(s, node)], **attrs)
    s.give(node.outputs[0], given, made[0])


@streams("conv2d")
def convolution(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    at = _image_axis(flow)
    if at is None:
        per_frame(s, node, x, flow)
        return
    padding = node.attrs["pad"]
    _sliding(s, node, at, padding[at], padding[at + 2], 0.0, pad=_with(_with(padding, at, 0), at + 2, 0))


@streams("max_pool2d", "avg_pool2d")
def pooling(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    at = _image_axis(flow)
    if at is None:
        per_frame(s, node, x, flow)
        return
    a = node.attrs
    frames = flow.frames // a["stride"][at]
    fill = -np.inf if node.op == "max_pool2d" else 0.0
    amount = a["pad"][at]
    _sliding(s, node, at, amount, amount, fill if amount else 0.0, pad=_with(a["pad"], at, 0),
             size=_with(a["size"], at, frames))


@streams("adaptive_avg_pool2d", "adaptive_max_pool2d")
def adaptive(s: StepBuilder, node: Node) -> None:
    x, flow = only_flow(s, node)
    at = _image_axis(flow)
    if at is not None and node.attrs["size"][at] != x.shape[flow.axis]:
        raise FixesWindowError
    begin = min(flow.offset, 0)
    size = node.attrs["size"] if at is None else _with(node.attrs["size"], at, flow.frames)
    made = s.emit(node, [s.frames(x, begin, begin + flow.frames)], size=size)
    s.give(node.output, replace(flow, offset=begin, head=0.0), made[0])


@streams("conv_transpose2d")
def transposed(s: StepBuilder, node: Node) -> None:
    """Output j adds up what input frames give it; it is complete when the last of these has arrived."""
    x, flow = only_flow(s, node)
    at = _image_axis(flow)
    if at is None:
        per_frame(s, node, x, flow)
        return
    a = node.attrs
    stride, cut, size = a["stride"][at], a["pad"][at], (a["kernel"][at] - 1) * a["dilation"][at] + 1
    if s.exact:
        raise FixesWindowError  # the first frames of a window have no frames before them
    history = -(-(size - 1) // stride)  # earlier frames that an output may need
    begin = min(flow.offset, 0)
    start = begin - history
    part = s.frames(x, start, begin + flow.frames, 0.0)
    frames = flow.frames * stride
    beyond = _with(a["extra"], at, max(stride - size, 0))
    made = s.emit(node, [part, *others(s, node)], pad=_with(a["pad"], at, 0), extra=beyond)[0]
    ranges = [(0, n, 1) for n in made.shape]
    ranges[flow.axis] = (history * stride, history * stride + frames, 1)
    extra = flow.extra * stride + node.output.shape[flow.axis] - x.shape[flow.axis] * stride
    first = begin * stride - cut
    rough = flow.offset < 0 and node.output not in s.remembered
    warm = flow.warm * stride + size - 1 - cut if flow.warm or rough else 0
    given = replace(
        flow, frames=frames, rate=flow.rate / stride, offset=first, warm=max(warm, 0), head=0.0,
        extra=extra, tail=max(extra + cut - (flow.extra - flow.tail) * stride, 0),
        padded=(*flow.padded, layer_name(node)),
    )
    s.give(node.output, given, s.b.node("slice", [made], None, ranges=tuple(ranges)))


# ---- recurrent layers ------------------------------------------------------------------------------------------


@streams("lstm", "gru", "rnn")
def recurrent(s: StepBuilder, node: Node) -> None:
    """The hidden state stays from step to step; before the first frame of all it waits."""
    x, flow = only_flow(s, node)
    a = node.attrs
    if a["reverse"]:
        raise UnstreamableError("a bidirectional layer reads the end of the recording first")
    if flow.axis != (1 if a["batch_first"] else 0):
        raise UnstreamableError("time is not the axis along which the layer runs")
    if s.exact:
        raise FixesWindowError  # a window begins with the initial state
    begin, waits = waiting_state(flow)
    part = s.frames(x, begin, begin + flow.frames)
    count = len(node.outputs) - 1
    weights = node.inputs[1 : len(node.inputs) - (count if a["initial"] else 0)]
    given = node.inputs[len(node.inputs) - count :] if a["initial"] else [None] * count
    name = node.place.module or node.op
    states = []
    for value, result in zip(given, node.outputs[1:], strict=True):
        initial = np.zeros(result.shape, np.float32) if value is None else s.constant(value)
        if initial is None:
            raise UnstreamableError("its initial state is computed")
        if initial.any() and s.graph.quantization is not None and node.op == "gru":
            raise UnstreamableError("its initial state is not zero, which integers keep in other steps from run to run")
        states.append(s.state(f"{name}.state", np.ascontiguousarray(initial)))
    made = s.emit(node, [part, *(s.fixed(v) for v in weights), *(state.value for state in states)], initial=True,
                  carried=True)
    for state, final in zip(states, made[1:], strict=True):
        state.next = s.held(final, waits, state.initial) if waits else final
    lag = flow.lag + flow.offset - begin if flow.reaches_end else 0
    after = replace(flow, offset=begin, lag=lag, head=0.0, padded=(*flow.padded, layer_name(node)))
    s.give(node.outputs[0], after, made[0])
    for value, final in zip(node.outputs[1:], made[1:], strict=True):
        if after.reaches_end:
            s.answer(value, latest_of(after), _last(s, made[0], value, flow) if final is made[1] else final)
        else:
            s.kinds[value] = Missing("its last frames have not arrived: layers before it look ahead")


def waiting_state(flow: Flow) -> tuple[int, int]:
    """The frame that a layer with state begins with, whole steps before the first of all, and how many steps."""
    if flow.warm:
        raise UnstreamableError("its state would remember the first frames, which are not those of the whole recording")
    begin = min(flow.offset // flow.frames * flow.frames, 0)
    return begin, -begin // flow.frames


def _last(s: StepBuilder, y: Value, like: Value, flow: Flow) -> Value:
    """The hidden state after the newest frame, as the layer's output has it."""
    return s.b.reshape(slice_axis(s.b, y, flow.axis, flow.frames - 1, flow.frames), like.shape)


# ---- attention -------------------------------------------------------------------------------------------------


@streams("attention")
def attention(s: StepBuilder, node: Node) -> None:
    """Queries see the keys of a bounded past, which a mask that is the same along its diagonals says."""
    q, k, v, *masks = node.inputs
    flows = [s.kinds.get(x) for x in (q, k, v)]
    if any(not isinstance(flow, Flow) or flow.axis != 2 for flow in flows):
        raise UnstreamableError("its queries, keys and values do not all have time as their rows")
    data = s.constant(masks[0]) if len(masks) == 1 and s.kinds.get(masks[0]) is None else None
    bounded = None if data is None or node.attrs["causal"] else band(data)
    if bounded is None:
        raise UnstreamableError("attention over all time compares each frame with all others; a mask that is a band "
                                "bounds the past")
    if s.exact:
        raise FixesWindowError  # the first frames of a window have fewer keys
    past, ahead, diagonals = bounded
    common = aligned(node, [flow for flow in flows if isinstance(flow, Flow)])
    begin, frames = min(common.offset - ahead, 0), common.frames
    keys = [s.frames(x, begin - past, begin + frames + ahead) for x in (k, v)]
    places = np.arange(frames + past + ahead)[None, :] - np.arange(frames)[:, None]
    mask = np.where((places >= 0) & (places <= past + ahead), diagonals[np.clip(places, 0, past + ahead)],
                    False if diagonals.dtype == bool else -np.inf).astype(diagonals.dtype)
    made = s.emit(node, [s.frames(q, begin, begin + frames), *keys, s.b.constant(mask[None, None])])[0]
    padded = (*common.padded, layer_name(node))
    s.give(node.output, replace(
        common, offset=begin, warm=common.warm + past, head=0.0, padded=padded, lag=0, tail=common.tail + ahead), made)


def band(mask: np.ndarray) -> tuple[int, int, np.ndarray] | None:
    """How many keys before and after its own a query sees, and what is added to or allowed for each of these; None if
    the mask is no band, or one that reaches over everything."""
    rows, columns = mask.shape[-2:]
    square = mask.reshape(-1, rows, columns)
    if rows != columns or rows < 2 or (square != square[0]).any():
        return None
    values = square[0]
    seen = values if values.dtype == bool else values > HIDDEN
    numbers = {k: np.unique(np.diagonal(values, k)) for k in range(1 - rows, rows)}
    used = [k for k in numbers if np.diagonal(seen, k).any()]
    if not used or used[0] == 1 - rows or used[-1] == rows - 1 or any(len(numbers[k]) > 1 for k in used):
        return None
    past, ahead = max(-used[0], 0), max(used[-1], 0)
    return past, ahead, np.array([numbers[k][0] for k in range(-past, ahead + 1)], values.dtype)
