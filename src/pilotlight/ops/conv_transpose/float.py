"""Transposed convolution, channels last: x (N, H, W, I), w (I, KH, KW, O / groups), y (N, OH, OW, O)."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from pilotlight.graph import FLOAT32, Node
from pilotlight.kernels.layers import TransposedLayer
from pilotlight.kernels.pack_f32 import Conv2dShape
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.base import Result, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.dense.conv import window_words
from pilotlight.ops.quantizing import DenseLayer, Treatment, quantized


@register
class ConvTranspose2d(Chosen):
    """attrs: kernel, stride, pad, extra (output padding), dilation, groups, channels; inputs x, w, bias."""

    name = "conv_transpose2d"

    def infer(self, node: Node) -> Result:
        n, h, w, _ = node.inputs[0].shape
        a = node.attrs
        oh, ow = (
            (size - 1) * s - 2 * p + d * (k - 1) + e + 1
            for size, s, p, d, k, e in zip(
                (h, w), a["stride"], a["pad"], a["dilation"], a["kernel"], a["extra"], strict=True
            )
        )
        return [(FLOAT32, (n, oh, ow, a["channels"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x, w = args[0].permute(0, 3, 1, 2), args[1].permute(0, 3, 1, 2)
        y = F.conv_transpose2d(x, w, args[2], a["stride"], a["pad"], a["extra"], a["groups"], a["dilation"])
        return y.permute(0, 2, 3, 1).contiguous()

    def macs(self, node: Node) -> int:
        kh, kw = node.attrs["kernel"]
        return node.inputs[0].elements * kh * kw * (node.attrs["channels"] // node.attrs["groups"])

    def describe(self, node: Node) -> str:
        return window_words("conv_transpose2d", node)

    def part(self, node: Node, area: Area) -> AreaPart | None:
        """Padding is what is cut off at the start, so that a part may begin anywhere."""
        a, spans, pads = node.attrs, [], []
        for at, size, k, s, p, d in zip(
            area, node.inputs[0].shape[1:3], a["kernel"], a["stride"], a["pad"], a["dilation"], strict=True
        ):
            first = max(0, min(-((d * (k - 1) - at.start - p) // s), (at.start + p) // s))
            last = min(size, (at.stop - 1 + p) // s + 1)
            if first >= last:
                return None
            spans.append(range(first, last))
            pads.append(at.start + p - first * s)
        return AreaPart({**a, "pad": tuple(pads)}, [Area(*spans), *(None for _ in node.inputs[1:])])

    def layer(self, node: Node) -> TransposedLayer:
        _, w, bias = (v.data for v in node.inputs)
        assert w is not None and bias is not None
        return TransposedLayer(transposed_shape(node), w, bias)


def transposed_shape(node: Node) -> Conv2dShape:
    """The kernel's view of the shapes."""
    n, ih, iw, ic = node.inputs[0].shape
    _, oh, ow, oc = node.output.shape
    a = node.attrs
    (kh, kw), (sh, sw), (top, left), (dh, dw) = (a[name] for name in ("kernel", "stride", "pad", "dilation"))
    return Conv2dShape(n, ih, iw, ic, oh, ow, oc, kh, kw, sh, sw, top, left, dh, dw, a["groups"])


quantized(Treatment(DenseLayer(channels=1)), "conv_transpose1d.default", "conv_transpose2d.input")
