"""Convolution and linear layers of 16-bit activations with int8 weights, as TFLM computes them; zero points are 0.

    acc = bias + Σ x·w                                  padding reads 0
    y   = clamp(fixed.tflm_scaled_wide(acc, M, shift))  wide: sums of 64 bits, M reduced to 16 bits
    y   = clamp(fixed.tflm_scaled(acc, M, shift))       else: sums of 32 bits
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight import fixed
from pilotlight.graph import INT16, DType, Node
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers.tflm_int16 import TflmInt16Layer
from pilotlight.ops.areas import Area
from pilotlight.ops.base import Result, register
from pilotlight.ops.dense.conv import ConvolutionLayer
from pilotlight.ops.dense.linear import LinearLayer
from pilotlight.ops.spec import as_int16


def _result(node: Node, acc: np.ndarray) -> torch.Tensor:
    a = node.attrs
    m, shifts = (np.asarray(v.data) for v in node.inputs[3:])
    scaled = fixed.tflm_scaled_wide(acc, m, shifts) if a["wide"] else fixed.tflm_scaled(fixed.int32(acc), m, shifts)
    return as_int16(np.clip(scaled, a["lo"], a["hi"]))


def _layer(node: Node, shape: pack_f32.Conv2dShape) -> TflmInt16Layer:
    w, bias, m, shifts = (v.data for v in node.inputs[1:])
    assert w is not None and bias is not None and m is not None and shifts is not None
    a, filters = node.attrs, w.reshape(len(w), shape.kh, shape.kw, -1)
    return TflmInt16Layer(shape, filters, bias, m, shifts, a["wide"], a["lo"], a["hi"])


@register
class TflmConv2d16(ConvolutionLayer):
    """Inputs x int16 (N, H, W, I), w int8 (O, KH, KW, I / groups), bias int64 (O), M int32 (O), shifts int32 (O). Attrs
    besides the float layer's: channels, wide, lo, hi."""

    name = "tflm_conv2d_s16"

    def dtype(self, node: Node) -> DType:
        return INT16

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        top, left, bottom, right = a["pad"]
        x = F.pad(args[0].permute(0, 3, 1, 2).double(), (left, right, top, bottom))
        acc = F.conv2d(x, args[1].permute(0, 3, 1, 2).double(), None, a["stride"], 0, a["dilation"], a["groups"])
        return _result(node, acc.permute(0, 2, 3, 1).to(torch.int64).numpy() + args[2].numpy())

    def part(self, node: Node, area: Area) -> None:
        """Only int8 and float layers are computed in parts."""
        return

    def layer(self, node: Node) -> TflmInt16Layer:
        return _layer(node, self.shape(node))


@register
class TflmLinear16(LinearLayer):
    """Inputs x int16 (N, I), w int8 (O, I), bias int64 (O), M int32 (O), shifts int32 (O). Attrs as above."""

    name = "tflm_linear_s16"
    called = "linear"

    def infer(self, node: Node) -> Result:
        return [(INT16, (node.inputs[0].shape[0], node.attrs["channels"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        acc = (args[0].double() @ args[1].double().T).to(torch.int64)
        return _result(node, acc.numpy() + args[2].numpy())

    def layer(self, node: Node) -> TflmInt16Layer:
        return _layer(node, self.shape(node).as_conv2d())


def tflm_factors(scale: np.ndarray, wide: bool) -> tuple[np.ndarray, np.ndarray]:
    """M and shifts of such a layer from its real factors."""
    q, shifts = fixed.tflm_multiplier(scale)
    return (fixed.tflm_reduced(q) if wide else q), shifts
