"""Transposed convolution of 16-bit tensors with int8 weights, channels last: acc = bias[o] + Σ x·w over the taps that
reach the pixel, in 64 bits, then as in `dense/int16.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.graph import INT16, Node
from pilotlight.ops.base import Result, register
from pilotlight.ops.conv_transpose.int8 import QConvTranspose2d
from pilotlight.ops.dense.int16 import make_dense
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.spec import NodeSpec, as_int16, requantize_attrs, requantized, wide


@register
class QConvTranspose2d16(QConvTranspose2d):
    """attrs: kernel, stride, pad, extra (output padding), dilation, groups, channels, down, zy, shift, lo, hi;
    inputs x, w (O, KH, KW, I / groups), bias int32 (O), m int32 (O). The output never overlaps the input."""

    name = "qconv_transpose2d_s16"

    def infer(self, node: Node) -> Result:
        return [(INT16, shape) for _, shape in super().infer(node)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a, groups = node.attrs, node.attrs["groups"]
        w = args[1].double().reshape(groups, -1, *args[1].shape[1:])  # (G, O / G, KH, KW, I / G)
        w = w.permute(0, 4, 1, 2, 3).flatten(0, 1)
        x = args[0].double().permute(0, 3, 1, 2)
        y = F.conv_transpose2d(x, w, None, a["stride"], a["pad"], a["extra"], groups, a["dilation"])
        acc = np.rint(y.permute(0, 2, 3, 1).numpy()).astype(np.int64) + wide(args[2]).reshape(-1)
        shifted = (acc + ((1 << a["down"]) >> 1)) >> a["down"]
        return as_int16(requantized(shifted, wide(args[3]).reshape(-1), a))


def make_transposed(
    node: Node, x_scale: float, y_scale: float, weight: np.ndarray, scales: np.ndarray, bias: np.ndarray,
    conv: dict[str, Any], limits: tuple[int, int],
) -> NodeSpec:
    """weight float (I, KH, KW, O / groups) with a scale per output channel."""
    groups, (inputs, kh, kw, _) = conv["groups"], weight.shape
    filters = weight.reshape(groups, inputs // groups, kh, kw, -1).transpose(0, 4, 2, 3, 1)
    filters = filters.reshape(conv["channels"], kh, kw, inputs // groups)
    w, offset, m = make_dense(node, x_scale, y_scale, filters, scales, bias)
    attrs = {**conv, "down": m.down, **requantize_attrs(m, 0, limits)}
    return NodeSpec("qconv_transpose2d_s16", attrs, (w, offset, m.value))


@form("conv_transpose2d", width=16)
def conv_transpose(q: Integer) -> list[Node] | None:
    x, weight, bias = q.inputs
    scale = q.node.attrs.get("weight_scale")
    if scale is None or x.quant is None or weight.data is None or bias.data is None:
        return None
    if len(scale) != weight.data.shape[3]:
        return None
    conv = {k: v for k, v in q.node.attrs.items() if k not in ("weight_scale", "clamp")}
    scales = np.tile(scale, conv["groups"])
    spec = make_transposed(q.node, x.quant.scale, q.quant.scale, weight.data, scales, bias.data, conv, q.limits)
    return [q.build(spec, x)]
