"""Convolution and linear layers of 16-bit activations with int8 weights.

    acc = bias + Σ x·w                          padding reads 0
    y   = clamp(zy + rhmul(acc << k, M))                      where (Σ|w|·2^15 + |bias|)·2^k < 2^31 in every channel
    y   = clamp(zy + rhmul((acc + 2^(p-1)) >> p, M))          else: acc has 64 bits, p is the smallest shift that fits
M, k and p are `fixed.wide_multiplier`'s. The result has 16 bits, or 8 where the next layer is narrow.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight import fixed
from pilotlight.errors import PilotlightError
from pilotlight.graph import INT8, INT16, Node
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers import Int16Layer
from pilotlight.ops import base
from pilotlight.ops.base import Result, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.q_dense import limits
from pilotlight.ops.spec import LARGEST, NodeSpec


def finish(node: Node, acc: torch.Tensor) -> torch.Tensor:
    """Accumulators (..., O) as the node's integers."""
    a = node.attrs
    m = fixed.Multiplier(np.asarray(node.inputs[3].data), a["shift"], a["down"])
    dtype = np.int8 if a["narrow"] else np.int16
    return torch.from_numpy(fixed.requantize(acc.numpy(), m, a["zy"], (a["lo"], a["hi"]), dtype))


class Dense16(Chosen):
    """Attrs besides the float layer's: channels, zy, shift, down, lo, hi, narrow."""

    def image(self, node: Node) -> pack_f32.Conv2dShape:
        raise NotImplementedError(type(self).__name__)

    def layer(self, node: Node) -> Int16Layer:
        _, w, bias, m = (v.data for v in node.inputs)
        a, shape = node.attrs, self.image(node)
        assert w is not None and bias is not None and m is not None
        filters = w.reshape(len(w), shape.kh, shape.kw, -1)
        multiplier = fixed.Multiplier(m, a["shift"], a["down"])
        return Int16Layer(shape, filters, bias, multiplier, a["zy"], a["lo"], a["hi"], a["narrow"])


@register
class QConv2d16(Dense16):
    """Inputs x int16 (N, H, W, I), w int8 (O, KH, KW, I / groups), bias int32 (O), M int32 (O)."""

    name = "qconv2d_s16"

    def infer(self, node: Node) -> Result:
        ((_, shape),) = base.get("conv2d").infer(node)
        return [(INT8 if node.attrs["narrow"] else INT16, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        top, left, bottom, right = a["pad"]
        x = F.pad(args[0].permute(0, 3, 1, 2).double(), (left, right, top, bottom))
        w = args[1].permute(0, 3, 1, 2).double()
        acc = F.conv2d(x, w, args[2].double(), a["stride"], 0, a["dilation"], a["groups"])
        return finish(node, acc.permute(0, 2, 3, 1).to(torch.int64))

    def macs(self, node: Node) -> int:
        return base.get("conv2d").macs(node)

    def describe(self, node: Node) -> str:
        return base.get("conv2d").describe(node)

    def group(self, node: Node) -> str:
        return base.get("conv2d").group(node)

    def image(self, node: Node) -> pack_f32.Conv2dShape:
        from pilotlight.ops.conv import Conv2d

        op = base.get("conv2d")
        assert isinstance(op, Conv2d)
        return op.shape(node)


@register
class QLinear16(Dense16):
    """Inputs x int16 (N, I), w int8 (O, I), bias int32 (O), M int32 (O)."""

    name = "qlinear_s16"
    called = "linear"

    def infer(self, node: Node) -> Result:
        dtype = INT8 if node.attrs["narrow"] else INT16
        return [(dtype, (node.inputs[0].shape[0], node.attrs["channels"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        acc = args[0].double() @ args[1].double().T + args[2].double()
        return finish(node, acc.to(torch.int64))

    def macs(self, node: Node) -> int:
        return node.output.elements * node.inputs[0].shape[1]

    def image(self, node: Node) -> pack_f32.Conv2dShape:
        (n, i), (_, o) = node.inputs[0].shape, node.output.shape
        return pack_f32.LinearShape(n, i, o).as_conv2d()


def make_dense(
    node: Node, x_scale: float, y_scale: float, weight: np.ndarray, weight_scale: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, fixed.Multiplier]:
    """Weights (O, ...) and bias as integers, and the multiplier of their accumulators. A filter whose scale is so small
    that its bias would need more than 30 bits gets a larger one."""
    b = bias.astype(np.float64)
    scale = np.maximum(weight_scale, np.maximum(np.abs(b) / (x_scale * 2.0**30), 2.0**-40))
    shape = (len(scale),) + (1,) * (weight.ndim - 1)
    w = np.clip(np.rint(weight.astype(np.float64) / scale.reshape(shape)), -127, 127).astype(np.int8)
    offset = np.rint(b / (x_scale * scale)).astype(np.int64)
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
    node, scale = q.node, q.node.attrs.get("weight_scale")
    if scale is None or x.quant is None or weight.data is None or bias.data is None:
        return None
    w, offset, m = make_dense(node, x.quant.scale, q.quant.scale, weight.data, scale, bias.data)
    lo, hi = limits(node, q)
    constants = [q.graph.constant(w, weight.name), q.graph.constant(offset, bias.name),
                 q.graph.constant(m.value, "multiplier")]
    attrs = {k: v for k, v in node.attrs.items() if k not in ("weight_scale", "clamp")}
    numbers = {"channels": len(scale), "zy": q.quant.zero_point, "shift": m.shift, "down": m.down, "lo": lo, "hi": hi}
    spec = NodeSpec(f"q{node.op}_s16", attrs | numbers | {"narrow": q.dtype == INT8})
    return [q.build(spec, x, *constants)]
