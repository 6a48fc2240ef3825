"""Transposed convolution of int8, channels last: y = clamp(zy + rhmul(acc << shift, m[o])),
acc = bias[o] + Σ (x - zx)·w over the taps that reach the pixel; with shifts under TFLM's contract. Their number differs
from pixel to pixel, so the zero point of x is subtracted in the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.fixed import INT8 as LIMITS
from pilotlight.fixed import check_accumulator, multiplier, tflm_requantize
from pilotlight.graph import INT8, Node, Quant
from pilotlight.kernels.layers import TransposedLayer
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.base import Result, get, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.conv_transpose.float import transposed_shape
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.spec import (
    Limits,
    NodeSpec,
    narrow,
    quant_of,
    requantize_attrs,
    requantize_table,
    requantized,
    wide,
)


@register
class QConvTranspose2d(Chosen):
    """attrs: kernel, stride, pad, extra (output padding), dilation, groups, channels, zx, zy, shift, lo, hi;
    inputs x, w (O, KH, KW, I / groups), bias int32 (O), m int32 (O), TFLM's: shifts int32 (O), without attr shift.
    The output never overlaps the input."""

    name = "qconv_transpose2d"
    called = "conv_transpose2d"

    def infer(self, node: Node) -> Result:
        ((_, shape),) = get("conv_transpose2d").infer(node)
        return [(INT8, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a, groups = node.attrs, node.attrs["groups"]
        x = (args[0].double() - a["zx"]).permute(0, 3, 1, 2)
        w = args[1].double().reshape(groups, -1, *args[1].shape[1:])  # (G, O / G, KH, KW, I / G)
        w = w.permute(0, 4, 1, 2, 3).flatten(0, 1)
        y = F.conv_transpose2d(x, w, None, a["stride"], a["pad"], a["extra"], groups, a["dilation"])
        acc = np.rint(y.permute(0, 2, 3, 1).numpy()).astype(np.int64) + wide(args[2]).reshape(-1)
        m, *shifts = (wide(v).reshape(-1) for v in args[3:])
        if shifts:
            return narrow(tflm_requantize(acc, m, shifts[0], a["zy"], (a["lo"], a["hi"])))
        return narrow(requantized(acc, m, a))

    def macs(self, node: Node) -> int:
        return get("conv_transpose2d").macs(node)

    def describe(self, node: Node) -> str:
        return get("conv_transpose2d").describe(node)

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return get("conv_transpose2d").part(node, area)

    def layer(self, node: Node) -> TransposedLayer:
        w, bias, m, *shifts = (v.data for v in node.inputs[1:])
        assert w is not None and bias is not None and m is not None
        a = {"shift": 0, **node.attrs}
        zx, down = a.get("zx", 0), a.get("down")  # int8 has the one, int16 the other
        return TransposedLayer(transposed_shape(node), w, bias, m, zx, requantize_table(a), down, *shifts)


def make_qconv_transpose2d(
    x: Quant, y: Quant, weight: np.ndarray, weight_scale: np.ndarray | float, bias: np.ndarray | None,
    conv: dict[str, Any], limits: Limits = LIMITS,
) -> NodeSpec:
    """weight int8 (I, KH, KW, O / groups) with a scale per output channel, bias float (O); `conv` holds the attributes
    of the float node: kernel, stride, pad, extra, dilation, groups, channels."""
    channels, groups = conv["channels"], conv["groups"]
    inputs, kh, kw, _ = weight.shape
    w = weight.reshape(groups, inputs // groups, kh, kw, -1).transpose(0, 4, 2, 3, 1)
    w = np.ascontiguousarray(w).reshape(channels, kh, kw, inputs // groups)
    scales = x.scale * np.broadcast_to(np.asarray(weight_scale, np.float64), (channels,))
    offset = np.zeros(channels) if bias is None else np.rint(np.asarray(bias, np.float64) / scales)
    m = multiplier(scales / y.scale)
    check_accumulator(w, offset.astype(np.int64), m.shift, 255)
    attrs = {**conv, "zx": x.zero_point, **requantize_attrs(m, y.zero_point, limits)}
    return NodeSpec("qconv_transpose2d", attrs, (w, offset.astype(np.int32), m.value))


@form("conv_transpose2d", width=8)
def conv_transpose(q: Integer) -> list[Node] | None:
    x, weight, bias = q.inputs
    scale = q.node.attrs.get("weight_scale")
    if not all_int8(q) or scale is None or weight.data is None or bias.data is None:
        return None
    a = {k: v for k, v in q.node.attrs.items() if k not in ("weight_scale", "clamp")}
    if len(scale) != weight.data.shape[3]:
        return None
    integers = np.clip(np.rint(weight.data / scale), -127, 127).astype(np.int8)
    scales = np.tile(scale, a["groups"])
    return [q.build(make_qconv_transpose2d(quant_of(x), q.quant, integers, scales, bias.data, a, q.limits), x)]
