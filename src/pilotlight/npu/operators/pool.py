"""Pooling and means. An average is a depthwise convolution with ones: sums of 32 bits and one rescaling, as the
graph has them; TOSA's own average rounds in another way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pilotlight.graph import Node
from pilotlight.npu.operators.base import RefusedError, Writer, constant, requantize, writes
from pilotlight.npu.operators.dense import accumulated, fitted
from pilotlight.npu.tosa import PROPAGATE, Tensor, TosaGraph
from pilotlight.ops.pool.int8 import cells


def window_sums(
    t: TosaGraph, x: Tensor, zero: int, kernel: tuple[int, int], shape: tuple[int, ...],
    stride: tuple[int, int] = (1, 1), pad: tuple[int, ...] = (0, 0, 0, 0), dilation: tuple[int, int] = (1, 1),
) -> Tensor:
    """Σ (x - zero) over windows, as int32; padding adds nothing."""
    channels = x.shape[3]
    ones = np.ones((*kernel, channels, 1))
    numbers = {"pad": list(pad), "stride": list(stride), "dilation": list(dilation)}
    return accumulated(t, "DEPTHWISE_CONV2D", x, ones, np.zeros(channels), zero, shape, **numbers)


@writes("qmean")
def mean(w: Writer, node: Node) -> Tensor:
    """Over neighbouring axes: those before them are rows, those after them channels."""
    a, t, x = node.attrs, w.graph, node.inputs[0]
    axes, sizes = a["axes"], [node.inputs[0].shape[axis] for axis in a["axes"]]
    outer, inner = math.prod(x.shape[: axes[0]]), math.prod(x.shape[axes[-1] + 1 :])
    if outer == 1:
        image = (1, sizes[0], math.prod(sizes[1:]), inner)
        kernel = image[1:3]
    else:
        image = (1, outer, math.prod(sizes), inner)
        kernel = (1, image[2])
    acc = window_sums(t, t.reshape(w.read(x), image), a["zx"], kernel, (1, outer, 1, inner))
    y = requantize(t, acc, [a["m"]], a, 255 * math.prod(sizes))
    return t.reshape(y, node.output.shape)


def windows(node: Node) -> dict[str, Any]:
    """The attributes of a pooling; those of an adaptive one where its windows are all alike."""
    a = node.attrs
    if not node.op.startswith("qadaptive"):
        return a
    kernel = tuple(size // out for size, out in zip(node.inputs[0].shape[1:3], a["size"], strict=True))
    if any(k * out != size for k, out, size in zip(kernel, a["size"], node.inputs[0].shape[1:3], strict=True)):
        raise RefusedError("its windows have different sizes")
    same = {"kernel": kernel, "stride": kernel, "pad": (0, 0), "dilation": (1, 1)}
    return {**a, **same, "count_padding": False, "divisor": 0}


@writes("qavg_pool2d", "qadaptive_avg_pool2d")
def average(w: Writer, node: Node) -> Tensor:
    a, t, x = windows(node), w.graph, w.read(node.inputs[0])
    counts = {cell.count for cell in cells(node.inputs[0].shape, a, adaptive=False)}
    if len(counts) > 1:
        raise RefusedError("its windows count different numbers of elements")
    m = constant(node, 1).reshape(-1)[counts.pop() - a["first"]]
    x, pad = fitted(t, x, a["kernel"], a["stride"], a["dilation"], a["pad"], a["size"])
    acc = window_sums(
        t, x, a["zx"], tuple(a["kernel"]), node.output.shape, a["stride"], tuple(pad), a["dilation"])
    return requantize(t, acc, [m], a, 255 * math.prod(a["kernel"]))


@writes("qmax_pool2d", "qadaptive_max_pool2d")
def maximum(w: Writer, node: Node) -> Tensor:
    a, t = windows(node), w.graph
    if tuple(a["dilation"]) != (1, 1):
        raise RefusedError("TOSA's pooling has no dilation")
    x, pad = fitted(t, w.read(node.inputs[0]), a["kernel"], a["stride"], (1, 1), a["pad"], a["size"])
    if any(p >= k for p, k in zip(pad, np.repeat(a["kernel"], 2), strict=True)):
        raise RefusedError("its padding is as large as its kernel")
    y = t.add(
        "MAX_POOL2D", [x], node.output.shape, kernel=list(a["kernel"]), stride=list(a["stride"]), pad=pad,
        nan_mode=PROPAGATE)
    return t.clamp(y, a["lo"], a["hi"])
