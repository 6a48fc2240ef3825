"""Convolutions, linear layers and matrix products.

The graph's biases hold the input's zero point; TOSA subtracts it from the input, so it is taken out of them again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pilotlight.graph import Node
from pilotlight.npu.operators.base import RefusedError, Writer, constant, requantize, writes
from pilotlight.npu.operators.moves import cut
from pilotlight.npu.tosa import DTYPES, Tensor, TosaGraph

LIMIT = 2**31


def reach(kernel: int, dilation: int) -> int:
    """The rows from a kernel's first to its last."""
    return (kernel - 1) * dilation + 1


def fitted(
    t: TosaGraph, x: Tensor, kernel: Any, stride: Any, dilation: Any, start: Any, out: Any
) -> tuple[Tensor, list[int]]:
    """An image (N, H, W, C) without the rows and columns that no window reads, and TOSA's padding [top, bottom, left,
    right]: TOSA wants the windows to end where the padded image does."""
    sizes, pads = list(x.shape), []
    for axis in range(2):
        last = (out[axis] - 1) * stride[axis] + reach(kernel[axis], dilation[axis]) - start[axis]
        if last <= 0:
            raise RefusedError("no window of it reaches its input")
        sizes[1 + axis] = min(x.shape[1 + axis], last)
        pads += [start[axis], max(last - x.shape[1 + axis], 0)]
    return cut(t, x, [0] * 4, sizes), pads


def accumulated(
    t: TosaGraph, kind: str, x: Tensor, weight: np.ndarray, bias: np.ndarray, zero: int, shape: tuple[int, ...],
    **attrs: Any,
) -> Tensor:
    """The sums of a layer as int32."""
    operands = [
        x, t.constant(weight.astype(np.int8)), t.constant(bias.astype(np.int32)), t.number(zero), t.number(0)
    ]
    return t.add(kind, operands, shape, "int32", local_bound=False, acc_type=DTYPES["int32"], **attrs)


def unfolded(node: Node, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The bias without the input's zero point, where no sum overflows."""
    zero, taps = node.attrs["zx"], weight.reshape(len(weight), -1)
    apart = bias + zero * taps.sum(axis=1)
    if np.max(np.abs(taps).sum(axis=1) * 255 + np.abs(apart)) >= LIMIT:
        raise RefusedError("its sums need more than 32 bits")
    return np.asarray(apart)


def layer(
    w: Writer, node: Node, x: Tensor, weight: np.ndarray, bias: np.ndarray, m: np.ndarray, shape: tuple[int, ...],
    **attrs: Any,
) -> Tensor:
    """A convolution of filters (O, KH, KW, I), or of one filter (KH, KW) a channel."""
    apart = unfolded(node, weight, bias)
    largest = int(np.max(np.abs(weight.reshape(len(weight), -1)).sum(axis=1) * 128 + np.abs(bias)))
    kind, filters = "CONV2D", weight
    if node.attrs.get("groups", 1) > 1 and weight.shape[3] == 1:
        kind, filters = "DEPTHWISE_CONV2D", weight.reshape(x.shape[3], -1, *weight.shape[1:3]).transpose(2, 3, 0, 1)
    acc = accumulated(w.graph, kind, x, filters, apart, node.attrs["zx"], shape, **attrs)
    return requantize(w.graph, acc, m, node.attrs, largest)


@writes("qconv2d")
def conv2d(w: Writer, node: Node) -> Tensor:
    a, t = node.attrs, w.graph
    if len(node.inputs) > 4:
        raise RefusedError("it rounds twice, as TFLM does; the NPU's integers are rounded once")
    weight, bias, m = (constant(node, k) for k in (1, 2, 3))
    shape = node.output.shape
    x, pad = fitted(t, w.read(node.inputs[0]), a["kernel"], a["stride"], a["dilation"], a["pad"][:2], shape[1:3])
    numbers = {"pad": pad, "stride": list(a["stride"]), "dilation": list(a["dilation"])}
    groups, depth = a["groups"], weight.shape[3]
    if groups == 1 or depth == 1:
        return layer(w, node, x, weight, bias, m, shape, **numbers)
    parts, size = [], len(weight) // groups
    for k in range(groups):
        part = cut(t, x, [0, 0, 0, k * depth], [*x.shape[:3], depth])
        rows = slice(k * size, (k + 1) * size)
        parts.append(layer(w, node, part, weight[rows], bias[rows], m[rows], (*shape[:3], size), **numbers))
    return t.add("CONCAT", parts, shape, axis=3)


@writes("qlinear")
def linear(w: Writer, node: Node) -> Tensor:
    """A convolution of 1 x 1 whose pixels are the rows."""
    if len(node.inputs) > 4:
        raise RefusedError("it rounds twice, as TFLM does; the NPU's integers are rounded once")
    weight, bias, m = (constant(node, k) for k in (1, 2, 3))
    rows, inner = node.inputs[0].shape
    x = w.graph.reshape(w.read(node.inputs[0]), (1, rows, 1, inner))
    filters = weight.reshape(len(weight), 1, 1, inner)
    y = layer(
        w, node, x, filters, bias, m, (1, rows, 1, len(weight)), pad=[0] * 4, stride=[1, 1], dilation=[1, 1])
    return w.graph.reshape(y, node.output.shape)


@writes("qconv_transpose2d")
def conv_transpose2d(w: Writer, node: Node) -> Tensor:
    a, t = node.attrs, w.graph
    if len(node.inputs) > 4:
        raise RefusedError("it rounds twice, as TFLM does; the NPU's integers are rounded once")
    if a["groups"] != 1 or tuple(a["dilation"]) != (1, 1):
        raise RefusedError("TOSA's transposed convolution has neither groups nor dilation")
    weight, bias, m = (constant(node, k) for k in (1, 2, 3))
    largest = int(np.max(np.abs(weight.reshape(len(weight), -1)).sum(axis=1) * 255 + np.abs(bias)))
    (top, left), (below, right) = a["pad"], a["extra"]
    pads = [-top, below - top, -left, right - left]
    if any(p <= -k for p, k in zip(pads, np.repeat(a["kernel"], 2), strict=True)):
        raise RefusedError("its padding is as large as its kernel")
    acc = accumulated(
        t, "TRANSPOSE_CONV2D", w.read(node.inputs[0]), weight, bias, a["zx"], node.output.shape, out_pad=pads,
        stride=list(a["stride"]))
    return requantize(t, acc, m, a, largest)


@writes("qmatmul")
def matmul(w: Writer, node: Node) -> Tensor:
    """Batches of matrices; the leading dimensions become one."""
    a, t = node.attrs, w.graph
    left, right = (w.read(v) for v in node.inputs)
    inner, lead = left.shape[-1], math.prod(node.output.shape[:-2])
    if 255 * 255 * inner >= LIMIT:
        raise RefusedError("its sums need more than 32 bits")
    x, y = (_batch(t, v, lead) for v in (left, right))
    if a["transposed"]:
        y = t.add("TRANSPOSE", [y], (lead, y.shape[2], y.shape[1]), perms=[0, 2, 1])
    acc = t.add("MATMUL", [x, y, t.number(a["za"]), t.number(a["zb"])], (lead, x.shape[1], y.shape[2]), "int32")
    return t.reshape(requantize(t, acc, [a["m"]], a, 255 * 255 * inner), node.output.shape)


def _batch(t: TosaGraph, x: Tensor, count: int) -> Tensor:
    """A batch of so many matrices; one alone is repeated."""
    have = math.prod(x.shape[:-2])
    x = t.reshape(x, (have, *x.shape[-2:]))
    return x if have == count else t.add("TILE", [x, t.numbers([count, 1, 1])], (count, *x.shape[1:]))
