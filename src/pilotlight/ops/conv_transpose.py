"""Transposed convolution, channels last: x (N, H, W, I), w (I, KH, KW, O / groups), y (N, OH, OW, O)."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.emit.step import Step
from pilotlight.emit.target import Target
from pilotlight.graph import FLOAT32, Graph, Node
from pilotlight.ops.base import Op, Result, register


def pack(weight: np.ndarray, groups: int) -> np.ndarray:
    """(I, KH, KW, O / groups) as the kernel walks it: per group blocks of at most 4 filters, each
    (KH, KW, I / groups, width)."""
    parts = []
    for part in np.split(weight, groups, axis=0):
        for first in range(0, weight.shape[3], 4):
            parts.append(part[..., first : first + 4].transpose(1, 2, 0, 3).reshape(-1))
    return np.concatenate(parts)


@register
class ConvTranspose2d(Op):
    """attrs: kernel, stride, pad, extra (output padding), dilation, groups, channels; inputs x, w, bias.

    The output never overlaps the input: a pixel reads inputs on all sides of it.
    """

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

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        weight = node.inputs[1]
        assert weight.data is not None
        node.inputs[1] = graph.constant(pack(weight.data, node.attrs["groups"]), weight.name)

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        n, ih, iw, ic = node.inputs[0].shape
        _, oh, ow, oc = node.output.shape
        fields = {"n": n, "ih": ih, "iw": iw, "ic": ic, "oh": oh, "ow": ow, "oc": oc}
        names = (("kh", "kw"), ("sh", "sw"), ("pt", "pl"), ("dh", "dw"))
        for keys, attr in zip(names, ("kernel", "stride", "pad", "dilation"), strict=True):
            fields |= dict(zip(keys, a[attr], strict=True))
        c.use("conv_transpose2d_f32")
        table = c.table("pl_conv_transpose2d_t", "conv_transpose", fields | {"groups": a["groups"]})
        c.call("pl_conv_transpose2d_f32", table, *(c.read(v) for v in node.inputs), c.write(node.output))
