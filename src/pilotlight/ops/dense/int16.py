"""Convolution and linear layers of 16-bit activations with int8 weights.

    acc = bias + Σ x·w                          padding reads 0
    y   = clamp(zy + rhmul(acc << k, M))                      where (Σ|w|·2^15 + |bias|)·2^k < 2^31 in every channel
    y   = clamp(zy + rhmul((acc + 2^(p-1)) >> p, M))          else: acc has 64 bits, p is the smallest shift that fits
M, k and p are `fixed.wide_multiplier`'s. The result has 16 bits, or 8 where the next layer is narrow.
"""

from __future__ import annotations

import numpy as np
import torch

from pilotlight import fixed
from pilotlight.errors import PilotlightError
from pilotlight.graph import INT8, INT16, DType, Node
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers import Int16Layer
from pilotlight.ops.areas import Area
from pilotlight.ops.base import Result, register
from pilotlight.ops.dense.conv import ConvolutionLayer
from pilotlight.ops.dense.int8 import convolved, dense_node, integer_weights, multiplied
from pilotlight.ops.dense.linear import LinearLayer
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.spec import LARGEST


def _dtype(node: Node) -> DType:
    return INT8 if node.attrs["narrow"] else INT16


def _layer(node: Node, shape: pack_f32.Conv2dShape) -> Int16Layer:
    _, w, bias, m = (v.data for v in node.inputs)
    a = node.attrs
    assert w is not None and bias is not None and m is not None
    filters = w.reshape(len(w), shape.kh, shape.kw, -1)
    multiplier = fixed.Multiplier(m, a["shift"], a["down"])
    return Int16Layer(shape, filters, bias, multiplier, a["zy"], a["lo"], a["hi"], a["narrow"])


@register
class QConv2d16(ConvolutionLayer):
    """Inputs x int16 (N, H, W, I), w int8 (O, KH, KW, I / groups), bias int32 (O), M int32 (O). Attrs besides the float
    layer's: channels, zy, shift, down, lo, hi, narrow."""

    name = "qconv2d_s16"

    def dtype(self, node: Node) -> DType:
        return _dtype(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return convolved(node, args, 0)

    def part(self, node: Node, area: Area) -> None:
        """Only int8 and float layers are computed in parts."""
        return

    def layer(self, node: Node) -> Int16Layer:
        return _layer(node, self.shape(node))


@register
class QLinear16(LinearLayer):
    """Inputs x int16 (N, I), w int8 (O, I), bias int32 (O), M int32 (O). Attrs as above."""

    name = "qlinear_s16"
    called = "linear"

    def infer(self, node: Node) -> Result:
        return [(_dtype(node), (node.inputs[0].shape[0], node.attrs["channels"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return multiplied(node, args)

    def layer(self, node: Node) -> Int16Layer:
        return _layer(node, self.shape(node).as_conv2d())


def make_dense(
    node: Node, x_scale: float, y_scale: float, weight: np.ndarray, weight_scale: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, fixed.Multiplier]:
    """Weights (O, ...) and bias as integers, and the multiplier of their accumulators."""
    w, offset, scale = integer_weights(weight, weight_scale, bias, x_scale)
    largest = np.abs(w.astype(np.int64)).reshape(len(w), -1).sum(axis=1) * LARGEST + np.abs(offset)
    try:
        m = fixed.wide_multiplier(x_scale * scale / y_scale, largest)
    except PilotlightError as error:
        error.where = str(node.place)
        raise
    return w, offset.astype(np.int32), m


@form("conv2d", "linear", width=16, narrows=True)
def dense(q: Integer) -> list[Node] | None:
    """The integers of a dense layer from its scales."""
    x, weight, bias = q.inputs
    scale = q.node.attrs.get("weight_scale")
    if scale is None or x.quant is None or weight.data is None or bias.data is None:
        return None
    w, offset, m = make_dense(q.node, x.quant.scale, q.quant.scale, weight.data, scale, bias.data)
    return [dense_node(q, f"q{q.node.op}_s16", w, offset, m, down=m.down, narrow=q.dtype == INT8)]
