"""Framing, spectra and recursive filters: what comes before a network that hears sound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilotlight.graph import Node
from pilotlight.ops.complex.pointwise import ROWS
from pilotlight.stream.builder import StepBuilder
from pilotlight.stream.flow import FixesWindowError, Flow, Missing, UnevenHopError, UnstreamableError, layer_name
from pilotlight.stream.layers import waiting_state
from pilotlight.stream.rules import aligned, latest_of, only_flow, others, per_frame, still, streams


@streams("as_strided")
def windows(s: StepBuilder, node: Node) -> None:
    """Windows side by side, which is what unfold is: one dimension counts them, a later one is inside of them."""
    x, flow = only_flow(s, node)
    length = x.shape[flow.axis]
    inner = int(np.prod(x.shape[flow.axis + 1 :]))
    shape, strides = node.attrs["shape"], node.attrs["strides"]
    moving = [d for d, (size, stride) in enumerate(zip(shape, strides, strict=True))
              if size > 1 and stride % inner == 0 and inner <= stride < length * inner]
    single = any(size == 1 and stride % inner == 0 and inner <= stride < length * inner
                 for size, stride in zip(shape, strides, strict=True))  # which may count windows in a longer recording
    if node.attrs["offset"] or single or not 1 <= len(moving) <= 2:
        raise FixesWindowError
    frames = moving[0]
    step, size = strides[frames] // inner, shape[moving[1]] if len(moving) == 2 else 1
    if (len(moving) == 2 and strides[moving[1]] != inner) or shape[frames] != (length - size) // step + 1:
        raise FixesWindowError
    if flow.frames % step:
        raise UnevenHopError(step)
    count, begin = flow.frames // step, flow.first_window(step, size, 0)
    part = s.frames(x, begin * step, (begin + count - 1) * step + size)
    now = part.shape[flow.axis]
    outer = [stride // (length * inner) * (now * inner) if stride >= length * inner else stride for stride in strides]
    made = s.emit(node, [part], shape=(*shape[:frames], count, *shape[frames + 1 :]), strides=tuple(outer))[0]
    given = flow.spaced(begin, step, size, 0, flow.window_extra(step, size, 0))
    s.give(node.output, replace(given, axis=frames), made)


@streams("spectrum")
def spectrum(s: StepBuilder, node: Node) -> None:
    """Frames of `n` samples every `hop`."""
    x, flow = only_flow(s, node)
    size, step = node.attrs["n"], node.attrs["hop"]
    if flow.axis != len(x.shape) - 1:
        per_frame(s, node, x, flow)
        return
    if flow.frames % step:
        raise UnevenHopError(step)
    count, begin = flow.frames // step, flow.first_window(step, size, 0)
    part = s.frames(x, begin * step, (begin + count - 1) * step + size)
    s.give(node.output, flow.spaced(begin, step, size, 0, flow.window_extra(step, size, 0)),
           s.emit(node, [part, *others(s, node)])[0])


@streams("fft", "rfft", "irfft")
def transform(s: StepBuilder, node: Node) -> None:
    """Along the last dimension, of which complex numbers have one more."""
    x, flow = only_flow(s, node)
    if flow.axis >= len(x.shape) - (1 if node.op == "rfft" else 2):
        raise FixesWindowError
    per_frame(s, node, x, flow)


@streams(*(row.name for row in ROWS))
def complex_pointwise(s: StepBuilder, node: Node) -> None:
    """As pointwise, but that the two parts of a complex number are a last dimension."""
    (row,) = (row for row in ROWS if row.name == node.op)
    flows = {v: s.flow(v) for v in node.inputs if isinstance(s.kinds.get(v), Flow)}
    kinds = dict(zip(node.inputs, row.kinds, strict=True))
    places = {len(v.shape) - (kinds[v] == "c") - f.axis for v, f in flows.items()}
    if len(places) != 1 or min(places) < 1:
        raise UnstreamableError("it combines each frame with all others")
    rank = len(node.output.shape) - (row.result == "c")
    axis = rank - places.pop()
    common = aligned(node, list(flows.values()))
    common = replace(common, offset=min(common.offset, 0), head=0.0, axis=axis)
    inputs = [s.frames(v, common.offset, common.stop) if v in flows else
              still(s, v, rank + (kinds[v] == "c"), axis) for v in node.inputs]
    s.give(node.output, common, s.emit(node, inputs)[0])


@streams("iir")
def recursive_filter(s: StepBuilder, node: Node) -> None:
    """The sections' state stays from step to step."""
    x, flow = only_flow(s, node)
    if flow.axis != len(x.shape) - 1:
        raise UnstreamableError("time is not the dimension along which it filters")
    if s.exact:
        raise FixesWindowError
    initial = s.constant(node.inputs[3])
    if initial is None:
        raise UnstreamableError("its initial state is computed")
    begin, waits = waiting_state(flow)
    state = s.state(f"{node.place.module or node.op}.state", np.ascontiguousarray(initial))
    part = s.frames(x, begin, begin + flow.frames)
    y, after = s.emit(node, [part, *(s.fixed(v) for v in node.inputs[1:3]), state.value])
    state.next = s.held(after, waits, state.initial) if waits else after
    lag = flow.lag + flow.offset - begin if flow.reaches_end else 0
    given = replace(flow, offset=begin, lag=lag, head=0.0, padded=(*flow.padded, layer_name(node)))
    s.give(node.outputs[0], given, y)
    if given.reaches_end:
        s.answer(node.outputs[1], latest_of(given), after)
    else:
        s.kinds[node.outputs[1]] = Missing("its last frames have not arrived: layers before it look ahead")
