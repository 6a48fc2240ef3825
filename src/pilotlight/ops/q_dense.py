"""Integer convolution and linear layers.

    acc = bias + Σ x·w   (int32; the input's zero point is folded into the bias, padding reads the zero point)
    y   = clamp(zy + rhmul(acc << k, M), lo, hi)
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight import fixed
from pilotlight.errors import PilotlightError
from pilotlight.graph import Node
from pilotlight.graph.dtypes import INT8
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers import Int8Layer
from pilotlight.ops import base
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.base import Result, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.spec import NodeSpec


def finish(node: Node, acc: torch.Tensor) -> torch.Tensor:
    """Accumulators (..., O) as int8."""
    a = node.attrs
    m = fixed.Multiplier(np.asarray(node.inputs[3].data), a["shift"])
    y = fixed.requantize(acc.numpy(), m, a["zy"], (a["lo"], a["hi"]))
    return torch.from_numpy(y)


@register
class QConv2d(Chosen):
    """Inputs x int8 (N, H, W, I), w int8 (O, KH, KW, I / groups), bias int32 (O), M int32 (O)."""

    name = "qconv2d"

    def infer(self, node: Node) -> Result:
        ((_, shape),) = base.get("conv2d").infer(node)
        return [(INT8, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        top, left, bottom, right = a["pad"]
        x = F.pad(args[0].permute(0, 3, 1, 2).double(), (left, right, top, bottom), value=a["zx"])
        w = args[1].permute(0, 3, 1, 2).double()
        acc = F.conv2d(x, w, args[2].double(), a["stride"], 0, a["dilation"], a["groups"])
        return finish(node, acc.permute(0, 2, 3, 1).to(torch.int64))

    def macs(self, node: Node) -> int:
        return base.get("conv2d").macs(node)

    def describe(self, node: Node) -> str:
        return base.get("conv2d").describe(node)

    def group(self, node: Node) -> str:
        return base.get("conv2d").group(node)

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return base.get("conv2d").part(node, area)

    def layer(self, node: Node) -> Int8Layer:
        from pilotlight.ops.conv import Conv2d

        op = base.get("conv2d")
        assert isinstance(op, Conv2d)
        return _layer(node, op.shape(node))


@register
class QLinear(Chosen):
    """Inputs x int8 (N, I), w int8 (O, I), bias int32 (O), M int32 (O)."""

    name = "qlinear"
    called = "linear"

    def infer(self, node: Node) -> Result:
        return [(INT8, (node.inputs[0].shape[0], node.attrs["channels"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        acc = args[0].double() @ args[1].double().T + args[2].double()
        return finish(node, acc.to(torch.int64))

    def macs(self, node: Node) -> int:
        return node.output.elements * node.inputs[0].shape[1]

    def layer(self, node: Node) -> Int8Layer:
        (n, i), (_, o) = node.inputs[0].shape, node.output.shape
        return _layer(node, pack_f32.LinearShape(n, i, o).as_conv2d())


def _layer(node: Node, shape: pack_f32.Conv2dShape) -> Int8Layer:
    _, w, bias, m = (v.data for v in node.inputs)
    a = node.attrs
    assert w is not None and bias is not None and m is not None
    filters = w.reshape(len(w), shape.kh, shape.kw, -1)
    return Int8Layer(shape, filters, bias, m, a["zx"], a["zy"], a["shift"], a["lo"], a["hi"])


@form("conv2d", "linear", width=8)
def dense(q: Integer) -> list[Node] | None:
    """The integers of a dense layer from its scales."""
    x, weight, bias = q.inputs
    node, scale = q.node, q.node.attrs.get("weight_scale")
    if scale is None or x.quant is None or weight.data is None or bias.data is None or x.dtype != INT8:
        return None
    if q.dtype != INT8:
        return None
    b = bias.data.astype(np.float64)
    scale = np.maximum(scale, np.maximum(np.abs(b) / (x.quant.scale * 2.0**30), 2.0**-40))
    shape = (len(scale),) + (1,) * (weight.data.ndim - 1)
    w = np.clip(np.rint(weight.data.astype(np.float64) / scale.reshape(shape)), -127, 127).astype(np.int8)
    accumulators = np.rint(b / (x.quant.scale * scale)).astype(np.int64)
    m = fixed.multiplier(x.quant.scale * scale / q.quant.scale)
    sums = w.astype(np.int64).reshape(len(w), -1).sum(axis=1)
    folded = accumulators - x.quant.zero_point * sums
    try:
        fixed.check_accumulator(w, folded, m.shift)
    except PilotlightError as error:
        error.where = str(node.place)
        raise
    lo, hi = limits(node, q)
    constants = [q.graph.constant(w, weight.name), q.graph.constant(folded.astype(np.int32), bias.name),
                 q.graph.constant(m.value, "multiplier")]
    attrs = {k: v for k, v in node.attrs.items() if k not in ("weight_scale", "clamp")}
    numbers = {"channels": len(scale), "zx": x.quant.zero_point, "zy": q.quant.zero_point, "shift": m.shift}
    return [q.build(NodeSpec(f"q{node.op}", attrs | numbers | {"lo": lo, "hi": hi}), x, *constants)]


def limits(node: Node, q: Integer) -> tuple[int, int]:
    """The clamp that was fused into the layer, as integers, within those of the result."""
    (least, most), (lo, hi) = q.limits, node.attrs.get("clamp", (-math.inf, math.inf))
    low = least if lo == -math.inf else max(least, round(lo / q.quant.scale) + q.quant.zero_point)
    high = most if hi == math.inf else min(most, round(hi / q.quant.scale) + q.quant.zero_point)
    return min(low, most), max(high, least)
