"""The interface of a streaming model in C: samples go into a buffer between interrupts and the model."""

from __future__ import annotations

from math import prod
from typing import Any

from pilotlight.graph import Graph

HEAD = 16  # bytes before the samples: three counters and a gap
ALIGN = 8


def push_interface(graph: Graph, state_size: int) -> dict[str, Any] | None:
    """What the templates need, with the buffer after the model's own state; None for a model that does not stream, or
    whose samples come from several inputs."""
    streaming = graph.streaming
    if streaming is None:
        return None
    steps = [output.warm - output.offset for output in streaming.outputs]
    frames = [output.frames for output in streaming.outputs]
    facts = {
        "hop": streaming.hop, "latency": streaming.latency, "rate": streaming.rate,
        "warm": max((-(-warm // count) for warm, count in zip(steps, frames, strict=True)), default=0),
        "pushes": len(graph.inputs) == 1, "bytes": 0, "offset": state_size,
    }
    if not facts["pushes"]:
        return facts
    (port,) = graph.inputs
    at = time_place(graph)
    shape, size = port.value.shape, port.value.dtype.size
    outer, inner = prod(shape[:at]), prod(shape[at + 1 :])
    room = HEAD + streaming.capacity * outer * inner * size
    return facts | {
        "capacity": streaming.capacity, "outer": outer, "inner": inner, "width": outer * inner,
        "ctype": port.value.dtype.c, "bytes": -(-room // ALIGN) * ALIGN,
    }


def time_place(graph: Graph) -> int:
    """Which axis of the only input is time, as it lies in memory."""
    assert graph.streaming is not None
    (port,) = graph.inputs
    axis = graph.streaming.axis % len(port.shape)
    return axis if port.perm is None else port.perm.index(axis)
