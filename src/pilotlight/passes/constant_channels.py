"""Channels that hold the same integer for every input are computed now and dropped.

Integer intervals are propagated through the real arithmetic, channel by channel: where the lowest and the highest
value of a channel agree, it is constant. Such a channel can go when everything that reads it can do without it:
a convolution adds its share to the bias (only if the padding holds the same number), a depthwise layer or a pooling
drops its own channel, which must be able to go in turn. No output bit changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from pilotlight import fixed, ops
from pilotlight.graph import Graph, Node, Value
from pilotlight.passes.clean import remove_dead
from pilotlight.passes.edit import Editor

Interval = tuple[np.ndarray, np.ndarray]  # lowest and highest integer per channel, the last axis
POOLS = ("qavg_pool2d", "qadaptive_avg_pool2d", "qmax_pool2d", "qadaptive_max_pool2d", "qmean", "tflm_avg_pool2d")


def drop_constant_channels(graph: Graph) -> Graph:
    """Shrink integer layers by the channels that carry no information."""
    if not any(node.op == "qconv2d" for node in graph.nodes):
        return graph
    graph = remove_dead(graph)
    intervals = find_intervals(graph)
    removable = _Removable(graph, intervals).run()
    edit = Editor(graph)
    for value, channels in removable.items():
        if channels.any():
            _shrink(edit, value, channels, intervals[value][0])
    return graph


def depthwise(node: Node) -> bool:
    groups = node.attrs["groups"]
    return groups > 1 and groups == node.inputs[0].shape[-1] == node.attrs["channels"]


def find_intervals(graph: Graph) -> dict[Value, Interval]:
    """The range of each channel of every int8 value."""
    found: dict[Value, Interval] = {}
    for node in graph.nodes:
        x = node.inputs[0] if node.inputs else None
        known = found.get(x) if x is not None else None
        if node.op in ("qconv2d", "qlinear"):
            assert x is not None
            found[node.output] = _dense(node, known or _anything(x))
        elif known is not None and node.op == "qtable":
            found[node.output] = _table(node, known)
        elif known is not None and _pools_channels(node):
            found[node.output] = _pool(node, known)
        elif known is not None and _keeps_channels(node):
            found[node.output] = known
    return found


def _anything(value: Value) -> Interval:
    channels = value.shape[-1]
    return np.full(channels, -128), np.full(channels, 127)


def _keeps_channels(node: Node) -> bool:
    """Views whose channels are those of their input."""
    return node.op == "reshape" and node.output.shape[-1:] == node.inputs[0].shape[-1:] != ()


def _pools_channels(node: Node) -> bool:
    """Pooling of each channel by itself; a mean may be over the channels."""
    return node.op in POOLS and len(node.inputs[0].shape) - 1 not in node.attrs.get("axes", ())


def _pool(node: Node, known: Interval) -> Interval:
    """Averages and maxima never decrease when an element grows: the ends of the interval are what the ends give."""
    ends = []
    for value in known:
        x = torch.from_numpy(np.broadcast_to(value.astype(np.int8), node.inputs[0].shape).copy())
        constants = [torch.from_numpy(v.data) for v in node.inputs[1:] if v.data is not None]
        y = ops.get(node.op).reference(node, [x, *constants])
        assert isinstance(y, torch.Tensor)
        ends.append(y.numpy().reshape(-1, y.shape[-1]).astype(np.int64))
    return ends[0].min(axis=0), ends[1].max(axis=0)


def _table(node: Node, known: Interval) -> Interval:
    table = node.inputs[1].data
    assert table is not None
    codes = table.reshape(-1).astype(np.int64)
    results = [codes[np.arange(int(lo), int(hi) + 1) & 255] for lo, hi in zip(*known, strict=True)]
    return np.array([r.min() for r in results]), np.array([r.max() for r in results])


def _dense(node: Node, known: Interval) -> Interval:
    """The accumulator's bounds through the requantization, which never decreases."""
    w, bias, m, *shifts = (v.data for v in node.inputs[1:])
    assert w is not None and bias is not None and m is not None
    low, high = known
    if any(node.attrs.get("pad", ())):
        low, high = np.minimum(low, node.attrs["zx"]), np.maximum(high, node.attrs["zx"])
    weight = w.astype(np.int64).reshape(len(w), -1, w.shape[-1])  # (O, taps, I / groups)
    if node.op == "qconv2d" and node.attrs["groups"] > 1:
        groups = node.attrs["groups"]
        per_group = len(w) // groups
        low = np.repeat(low.reshape(groups, 1, -1), per_group, axis=0)
        high = np.repeat(high.reshape(groups, 1, -1), per_group, axis=0)
    positive, negative = np.maximum(weight, 0), np.minimum(weight, 0)
    least = (positive * low + negative * high).sum(axis=(1, 2)) + bias
    most = (positive * high + negative * low).sum(axis=(1, 2)) + bias
    a = node.attrs
    limits = (a["lo"], a["hi"])
    if shifts:
        assert shifts[0] is not None
        if np.any(np.maximum(-least, most) << np.maximum(shifts[0].astype(np.int64), 0) >= 2**31):
            return np.full(len(w), a["lo"]), np.full(len(w), a["hi"])  # it wraps around
        ends = [fixed.tflm_requantize(acc, m, shifts[0], a["zy"], limits) for acc in (least, most)]
    else:
        ends = [fixed.requantize(acc, fixed.Multiplier(m, a["shift"]), a["zy"], limits) for acc in (least, most)]
    return ends[0].astype(np.int64), ends[1].astype(np.int64)


@dataclass
class _Removable:
    """Which constant channels of which values can go, found from the readers backwards."""

    graph: Graph
    intervals: dict[Value, Interval]

    def run(self) -> dict[Value, np.ndarray]:
        users, leaving = self.graph.users(), self.graph.leaving()
        self.found: dict[Value, np.ndarray] = {}
        for node in reversed(self.graph.nodes):
            value = node.outputs[0]
            if value not in self.intervals:
                continue
            low, high = self.intervals[value]
            free = (low == high) & self._can_drop(node)
            if value in leaving:
                free[:] = False
            for reader in users.get(value, []):
                free &= self._can_do_without(reader, value, low)
            if free.all():
                free[0] = False  # a tensor keeps at least one channel
            self.found[value] = free
        # a depthwise layer or view loses a channel only together with the value it reads
        for node in self.graph.nodes:
            if self._follows(node):
                above = self.found.get(node.inputs[0])
                mine = self.found.get(node.outputs[0])
                if mine is not None:
                    mine &= above if above is not None else False
        return self.found

    def _follows(self, node: Node) -> bool:
        return (
            (node.op == "qconv2d" and depthwise(node)) or node.op == "qtable" or _pools_channels(node)
            or _keeps_channels(node)
        )

    def _can_drop(self, node: Node) -> bool:
        return node.op == "qlinear" or self._follows(node) or (node.op == "qconv2d" and node.attrs["groups"] == 1)

    def _can_do_without(self, reader: Node, value: Value, constant: np.ndarray) -> np.ndarray:
        every = np.ones(len(constant), bool)
        if reader.inputs.count(value) != 1 or reader.inputs[0] is not value:
            return ~every
        if reader.op == "qlinear":
            return every
        if reader.op == "qconv2d" and reader.attrs["groups"] == 1:
            padded = any(reader.attrs["pad"])
            return constant == reader.attrs["zx"] if padded else every
        if self._follows(reader):
            mine = self.found.get(reader.outputs[0])
            return ~every if mine is None else mine.copy()
        return ~every


def _shrink(edit: Editor, value: Value, gone: np.ndarray, constant: np.ndarray) -> None:
    """Take channels out of a value: out of the layer that writes it and out of those that read it."""
    kept = ~gone
    producer = edit.producers[value]
    value.shape = (*value.shape[:-1], int(kept.sum()))
    if "shape" in producer.attrs:
        producer.attrs["shape"] = value.shape
    if producer.op in ("qconv2d", "qlinear"):
        rows = [_rows(edit.graph, v, kept) for v in producer.inputs[1:]]
        edit.read(producer, [producer.inputs[0], *rows])
        producer.attrs["channels"] = int(kept.sum())
        if producer.attrs.get("groups", 1) > 1:
            producer.attrs["groups"] = int(kept.sum())
    for reader in edit.readers(value):
        # a depthwise layer may have one group left by now; its filters have one channel
        if reader.op in ("qlinear", "qconv2d") and reader.inputs[1].shape[-1] == len(gone):
            _absorb(edit, reader, gone, constant)


def _rows(graph: Graph, value: Value, kept: np.ndarray) -> Value:
    assert value.data is not None
    return graph.constant(value.data[kept], value.name)


def _absorb(edit: Editor, reader: Node, gone: np.ndarray, constant: np.ndarray) -> None:
    """Add what the constant channels contribute to the bias and forget their weights."""
    _, weight, bias = reader.inputs[:3]
    assert weight.data is not None and bias.data is not None
    w = weight.data.astype(np.int64).reshape(len(weight.data), -1, weight.shape[-1])
    share = (w[:, :, gone] * constant[gone]).sum(axis=(1, 2))
    narrow = edit.graph.constant(np.ascontiguousarray(weight.data[..., ~gone]), weight.name)
    shifted = edit.graph.constant((bias.data + share).astype(np.int32), bias.name)
    edit.read(reader, [reader.inputs[0], narrow, shifted, *reader.inputs[3:]])
