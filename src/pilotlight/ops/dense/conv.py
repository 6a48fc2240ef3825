"""Convolution, channels last: x (N, H, W, I), w (O, KH, KW, I / groups), y (N, OH, OW, O).

One-dimensional convolutions are the case H = 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.graph import FLOAT32, DType, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers import FloatLayer
from pilotlight.ops.areas import Area, AreaPart, window_part
from pilotlight.ops.base import Result, lowers, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.quantizing import DenseLayer, Treatment, quantized
from pilotlight.ops.volume import convolve

NO_CLAMP = (-math.inf, math.inf)


def clamped(node: Node, y: torch.Tensor) -> torch.Tensor:
    lo, hi = node.attrs.get("clamp", NO_CLAMP)
    return y.clamp(lo, hi)


def window_words(name: str, node: Node) -> str:
    """Such as `conv2d 3x3 stride 2`."""
    words = [name, "x".join(map(str, node.attrs["kernel"]))]
    for what in ("stride", "dilation"):
        if max(node.attrs[what]) > 1:
            words += [what, "x".join(map(str, dict.fromkeys(node.attrs[what])))]
    return " ".join(words)


def window_size(size: int, kernel: int, stride: int, before: int, after: int, dilation: int) -> int:
    return (size + before + after - dilation * (kernel - 1) - 1) // stride + 1


class ConvolutionLayer(Chosen):
    """What convolutions of all widths share. attrs: kernel, stride, pad (top, left, bottom, right), dilation, groups,
    channels."""

    def dtype(self, node: Node) -> DType:
        """Of the output."""
        raise NotImplementedError(type(self).__name__)

    def infer(self, node: Node) -> Result:
        n, h, w, _ = node.inputs[0].shape
        a = node.attrs
        top, left, bottom, right = a["pad"]
        oh = window_size(h, a["kernel"][0], a["stride"][0], top, bottom, a["dilation"][0])
        ow = window_size(w, a["kernel"][1], a["stride"][1], left, right, a["dilation"][1])
        return [(self.dtype(node), (n, oh, ow, a["channels"]))]

    def macs(self, node: Node) -> int:
        kh, kw = node.attrs["kernel"]
        return node.output.elements * kh * kw * (node.inputs[0].shape[3] // node.attrs["groups"])

    def describe(self, node: Node) -> str:
        return window_words(self.group(node), node)

    def group(self, node: Node) -> str:
        groups = node.attrs["groups"]
        alone = groups == node.attrs["channels"] == node.inputs[0].shape[3] and groups > 1
        return "depthwise conv2d" if alone else "conv2d"

    def part(self, node: Node, area: Area) -> AreaPart | None:
        a = node.attrs
        found = window_part(node, area, a["kernel"], a["stride"], a["pad"][:2], a["dilation"])
        if found is None:
            return None
        read, ((_, top, bottom), (_, left, right)) = found
        return AreaPart({**a, "pad": (top, left, bottom, right)}, [read, *(None for _ in node.inputs[1:])])

    def shape(self, node: Node) -> pack_f32.Conv2dShape:
        """The kernel's view of the shapes."""
        n, ih, iw, ic = node.inputs[0].shape
        _, oh, ow, oc = node.output.shape
        a = node.attrs
        (kh, kw), (sh, sw), (dh, dw) = a["kernel"], a["stride"], a["dilation"]
        top, left = a["pad"][:2]
        return pack_f32.Conv2dShape(n, ih, iw, ic, oh, ow, oc, kh, kw, sh, sw, top, left, dh, dw, a["groups"])


@register
class Conv2d(ConvolutionLayer):
    """Further attrs: clamp; inputs x, w, bias."""

    name = "conv2d"

    def dtype(self, node: Node) -> DType:
        return FLOAT32

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        top, left, bottom, right = a["pad"]
        x = F.pad(args[0].permute(0, 3, 1, 2), (left, right, top, bottom))
        y = F.conv2d(x, args[1].permute(0, 3, 1, 2), args[2], a["stride"], 0, a["dilation"], a["groups"])
        return clamped(node, y.permute(0, 2, 3, 1)).contiguous()

    def layer(self, node: Node) -> FloatLayer:
        return float_layer(node, self.shape(node))


def float_layer(node: Node, shape: pack_f32.Shape) -> FloatLayer:
    """A node with inputs x, w, bias and a clamp as its kernels see it."""
    _, w, bias = (v.data for v in node.inputs)
    assert w is not None and bias is not None
    return FloatLayer(shape, w, bias, *node.attrs.get("clamp", NO_CLAMP))


# ---- ATen ------------------------------------------------------------------------------------------------------


def pair(values: Sequence[int], rank: int, fill: int = 1) -> tuple[int, int]:
    """Per-dimension numbers of a 1-d or 2-d operator as (height, width)."""
    values = list(values) * rank if len(values) == 1 else list(values)
    return (fill, values[0]) if rank == 1 else (values[0], values[1])


@lowers("convolution.default", quantized=Treatment(DenseLayer()))
def convolution(
    b: Builder, input: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Value:
    rank, w = len(weight.shape) - 2, b.known(weight)
    if rank > 2 or input.dtype != FLOAT32 or w is None or (bias is not None and bias.data is None):
        return convolve(b, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    x = input
    if len(x.shape) == rank + 1:
        x = b.reshape(x, (1, *x.shape))
    w4 = w.reshape(*w.shape[:2], *((1,) if rank == 1 else ()), *w.shape[2:])
    x = b.channels_last(x)
    if rank == 1:
        x = b.reshape(x, (x.shape[0], 1, x.shape[1], x.shape[2]))
    pad, extra = pair(padding, rank, fill=0), pair(output_padding, rank, fill=0)
    common: dict[str, Any] = {"stride": pair(stride, rank), "dilation": pair(dilation, rank), "groups": groups}
    if weight in b.channel_scales:
        common["weight_scale"], _ = b.channel_scales[weight]
    if transposed:
        y = _transposed(b, x, w4, bias, pad, extra, common)
    else:
        y = _direct(b, x, w4, bias, pad, common)
    if rank == 1:
        y = b.reshape(y, (y.shape[0], y.shape[2], y.shape[3]))
    return b.reshape(b.channels_first(y), b.results[0][1])


@lowers("conv1d.default", "conv2d.default", quantized=Treatment(DenseLayer()))
@lowers("conv3d.default")
def direct_convolution(
    b: Builder, input: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], groups: int,
) -> Value:
    return convolution(b, input, weight, bias, stride, padding, dilation, False, (0,), groups)


def _bias(b: Builder, bias: Value | None, channels: int) -> Value:
    if bias is None:
        return b.constant(np.zeros(channels, np.float32), hint="zero_bias")
    return bias


def _direct(
    b: Builder, x: Value, w: np.ndarray, bias: Value | None, pad: tuple[int, int], common: dict[str, Any]
) -> Value:
    weight = b.constant(np.ascontiguousarray(w.transpose(0, 2, 3, 1)), hint="weight")
    return b.node(
        "conv2d", [x, weight, _bias(b, bias, w.shape[0])], kernel=w.shape[2:], pad=(*pad, *pad), channels=w.shape[0],
        **common,
    )


def _transposed(
    b: Builder, x: Value, w: np.ndarray, bias: Value | None, pad: tuple[int, int], extra: tuple[int, int],
    common: dict[str, Any],
) -> Value:
    groups = common["groups"]
    assert isinstance(groups, int)
    channels = w.shape[1] * groups
    weight = b.constant(np.ascontiguousarray(w.transpose(0, 2, 3, 1)), hint="weight")  # (I, KH, KW, O / groups)
    return b.node(
        "conv_transpose2d", [x, weight, _bias(b, bias, channels)], kernel=w.shape[2:], pad=pad, extra=extra,
        channels=channels, **common,
    )


quantized(Treatment(DenseLayer()), "conv1d.padding", "conv2d.padding")
