"""Transposed convolution, channels last: x (N, H, W, I), w (I, KH, KW, O / groups), y (N, OH, OW, O).

Outputs whose position leaves the same remainder when divided by the stride are one phase: they see the same taps, as an
ordinary convolution of stride 1 does. So the kernel is one convolution for each pair of phases.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.codegen.walk import backward_distance, forward_distance
from pilotlight.graph import FLOAT32, Graph, Node
from pilotlight.kernels import pack_f32
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.dense.conv import window_words
from pilotlight.ops.quantizing import DenseLayer, Treatment, quantized

Pair = tuple[int, int]


def taps(phase: int, kernel: int, stride: int, dilation: int) -> list[int]:
    """The kernel taps that outputs of one phase see, in the order of the inputs under them."""
    return [k for k in reversed(range(kernel)) if (k * dilation - phase) % stride == 0]


def pack(weight: np.ndarray, stride: Pair, dilation: Pair, groups: int) -> np.ndarray:
    """(I, KH, KW, O / groups) as the kernel walks it: for each pair of phases an ordinary convolution."""
    _, kh, kw, _ = weight.shape
    filters = np.concatenate([part.transpose(3, 1, 2, 0) for part in np.split(weight, groups, axis=0)])
    parts = []
    for vertical in range(stride[0]):
        rows = taps(vertical, kh, stride[0], dilation[0])
        for horizontal in range(stride[1]):
            columns = taps(horizontal, kw, stride[1], dilation[1])
            if rows and columns:
                parts.append(pack_f32.pack_conv2d(filters[:, rows][:, :, columns], groups))
    return np.concatenate(parts)


@register
class ConvTranspose2d(Op):
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

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        weight = node.inputs[1]
        assert weight.data is not None
        a = node.attrs
        packed = pack(weight.data, a["stride"], a["dilation"], a["groups"])
        node.inputs[1] = graph.constant(packed, weight.name)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Output rows are written one after another, each while the input rows under its taps are read."""
        first, _ = self._input_rows(node)
        row = FLOAT32.size * math.prod(node.output.shape[2:])
        return {(0, 0): forward_distance(first, np.arange(1, len(first) + 1) * row)}

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        _, end = self._input_rows(node)
        row = FLOAT32.size * math.prod(node.output.shape[2:])
        return {(0, 0): backward_distance(end, np.arange(len(end)) * row)}

    def _input_rows(self, node: Node) -> tuple[np.ndarray, np.ndarray]:
        """For each output row of each image, the bytes that its taps may read: from and to."""
        n, ih = node.inputs[0].shape[:2]
        (kernel, _), (stride, _), (pad, _), (dilation, _) = (
            node.attrs[name] for name in ("kernel", "stride", "pad", "dilation")
        )
        under = np.arange(node.output.shape[1]) + pad  # the place of the first tap, times the stride
        top = np.clip(-((dilation * (kernel - 1) - under) // stride), 0, ih)
        bottom = np.minimum(under // stride + 1, ih)
        images, row = np.arange(n)[:, None] * ih, FLOAT32.size * math.prod(node.inputs[0].shape[2:])
        return ((images + top) * row).reshape(-1), ((images + bottom) * row).reshape(-1)

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        n, ih, iw, ic = node.inputs[0].shape
        _, oh, ow, oc = node.output.shape
        fields = {"n": n, "ih": ih, "iw": iw, "ic": ic, "oh": oh, "ow": ow, "oc": oc}
        names = (("kh", "kw"), ("sh", "sw"), ("pt", "pl"), ("dh", "dw"))
        for keys, attr in zip(names, ("kernel", "stride", "pad", "dilation"), strict=True):
            fields |= dict(zip(keys, a[attr], strict=True))
        fields |= {"groups": a["groups"], "reverse": int(c.reverse)}
        c.use("conv_transpose2d_f32")
        sizes = {size for _, size in pack_f32.filter_blocks(oc // a["groups"])}
        c.micro |= {f"mac_f32_{pixels}x{size}" for pixels in (1, 2) for size in sizes}
        table = c.table("pl_conv_transpose2d_t", "conv_transpose", fields)
        c.call("pl_conv_transpose2d_f32", table, *(c.read(v) for v in node.inputs), c.write(node.output))


quantized(Treatment(DenseLayer(channels=1)), "conv_transpose1d.default", "conv_transpose2d.input")
