"""Integer convolution and linear layers.

    acc = bias + Σ x·w   (int32; the input's zero point is folded into the bias, padding reads the zero point)
    y   = clamp(zy + rhmul(acc << k, M), lo, hi)

A node with a fifth input, `shifts` int32 (O), positive to the left, follows TFLM's contract (`pilotlight.fixed`):

    y   = clamp(zy + rdbpot(srdhm(acc << left, M), right), lo, hi)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight import fixed
from pilotlight.errors import PilotlightError
from pilotlight.graph import INT8, DType, Node
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers import Int8Layer
from pilotlight.ops.base import Result, register
from pilotlight.ops.dense.conv import ConvolutionLayer
from pilotlight.ops.dense.linear import LinearLayer
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.spec import Limits, NodeSpec


def finish(node: Node, acc: torch.Tensor) -> torch.Tensor:
    """Accumulators (..., O) as the node's integers."""
    a = node.attrs
    limits, dtype = (a["lo"], a["hi"]), node.output.dtype.numpy.type
    factors, *shifts = (np.asarray(v.data) for v in node.inputs[3:])
    if shifts:
        return torch.from_numpy(fixed.tflm_requantize(acc.numpy(), factors, shifts[0], a["zy"], limits, dtype))
    m = fixed.Multiplier(factors, a["shift"], a.get("down", 0))
    return torch.from_numpy(fixed.requantize(acc.numpy(), m, a["zy"], limits, dtype))


def convolved(node: Node, args: list[torch.Tensor], zero: int) -> torch.Tensor:
    """What a convolution gives; padding reads `zero`."""
    a = node.attrs
    top, left, bottom, right = a["pad"]
    x = F.pad(args[0].permute(0, 3, 1, 2).double(), (left, right, top, bottom), value=zero)
    w = args[1].permute(0, 3, 1, 2).double()
    acc = F.conv2d(x, w, args[2].double(), a["stride"], 0, a["dilation"], a["groups"])
    return finish(node, acc.permute(0, 2, 3, 1).to(torch.int64))


def multiplied(node: Node, args: list[torch.Tensor]) -> torch.Tensor:
    """What a linear layer gives."""
    acc = args[0].double() @ args[1].double().T + args[2].double()
    return finish(node, acc.to(torch.int64))


@register
class QConv2d(ConvolutionLayer):
    """Inputs x int8 (N, H, W, I), w int8 (O, KH, KW, I / groups), bias int32 (O), M int32 (O), TFLM's: shifts (O).
    Further attrs: zx, zy, lo, hi; shift where there are no shifts."""

    name = "qconv2d"

    def dtype(self, node: Node) -> DType:
        return INT8

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return convolved(node, args, node.attrs["zx"])

    def layer(self, node: Node) -> Int8Layer:
        return _layer(node, self.shape(node))


@register
class QLinear(LinearLayer):
    """attrs: channels, zx, zy, lo, hi; shift where there are no shifts.
    Inputs x int8 (N, I), w int8 (O, I), bias int32 (O), M int32 (O), TFLM's: shifts int32 (O)."""

    name = "qlinear"
    called = "linear"

    def infer(self, node: Node) -> Result:
        return [(INT8, (node.inputs[0].shape[0], node.attrs["channels"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return multiplied(node, args)

    def layer(self, node: Node) -> Int8Layer:
        return _layer(node, self.shape(node).as_conv2d())


def _layer(node: Node, shape: pack_f32.Conv2dShape) -> Int8Layer:
    w, bias, m, *more = (v.data for v in node.inputs[1:])
    a, shifts = node.attrs, more[0] if more else None
    assert w is not None and bias is not None and m is not None
    filters = w.reshape(len(w), shape.kh, shape.kw, -1)
    return Int8Layer(shape, filters, bias, m, a["zx"], a["zy"], a.get("shift", 0), a["lo"], a["hi"], shifts)


def integer_weights(
    weight: np.ndarray, weight_scale: np.ndarray, bias: np.ndarray, x_scale: float, float32: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (O, ...) as int8, bias as accumulators, and the scales used, which may have to be float32: a filter whose
    scale is so small that its bias would need more than 30 bits gets a larger one."""
    b = bias.astype(np.float64)
    scale = np.maximum(weight_scale, np.maximum(np.abs(b) / (x_scale * 2.0**30), 2.0**-40))
    if float32:
        scale = scale.astype(np.float32).astype(np.float64)
    shape = (len(scale),) + (1,) * (weight.ndim - 1)
    w = np.clip(np.rint(weight.astype(np.float64) / scale.reshape(shape)), -127, 127).astype(np.int8)
    return w, np.rint(b / (x_scale * scale)).astype(np.int64), scale


def dense_node(
    q: Integer, op: str, weight: np.ndarray, bias: np.ndarray, m: fixed.Multiplier, **numbers: Any
) -> Node:
    """The node of a dense layer: the float layer's attributes, and the numbers of its integers."""
    names = (q.inputs[1].name, q.inputs[2].name, "multiplier")
    constants = [q.graph.constant(data, name) for data, name in zip((weight, bias, m.value), names, strict=True)]
    attrs = {k: v for k, v in q.node.attrs.items() if k not in ("weight_scale", "clamp")}
    lo, hi = limits(q)
    attrs |= {"channels": len(weight), "zy": q.quant.zero_point, "shift": m.shift, "lo": lo, "hi": hi, **numbers}
    return q.build(NodeSpec(op, attrs), q.inputs[0], *constants)


@form("conv2d", "linear", width=8)
def dense(q: Integer) -> list[Node] | None:
    """The integers of a dense layer from its scales."""
    x, weight, bias = q.inputs
    scale = q.node.attrs.get("weight_scale")
    if scale is None or x.quant is None or weight.data is None or bias.data is None or x.dtype != INT8:
        return None
    if q.dtype != INT8:
        return None
    w, accumulators, scale = integer_weights(weight.data, scale, bias.data, x.quant.scale)
    m = fixed.multiplier(x.quant.scale * scale / q.quant.scale)
    folded = accumulators - x.quant.zero_point * w.astype(np.int64).reshape(len(w), -1).sum(axis=1)
    try:
        fixed.check_accumulator(w, folded, m.shift)
    except PilotlightError as error:
        error.where = str(q.node.place)
        raise
    return [dense_node(q, f"q{q.node.op}", w, folded.astype(np.int32), m, zx=x.quant.zero_point)]


def limits(q: Integer) -> Limits:
    """The clamp that was fused into the layer, as integers, within those of the result."""
    (least, most), (lo, hi) = q.limits, q.node.attrs.get("clamp", (-math.inf, math.inf))
    low = least if lo == -math.inf else max(least, round(lo / q.quant.scale) + q.quant.zero_point)
    high = most if hi == math.inf else min(most, round(hi / q.quant.scale) + q.quant.zero_point)
    return min(low, most), max(high, least)
