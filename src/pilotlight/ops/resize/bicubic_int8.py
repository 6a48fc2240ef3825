"""Bicubic resizing of int8 images, channels last. Which pixels and with which weights is decided when the model is
compiled, in float32 as PyTorch does.

    line_r = (Σ h_q · (x[r, q] - zx) + 2) >> 2           over four columns, h = rint(weight · 2^12)
    y      = clamp(zy + rhmul(acc << shift, m)), acc = Σ v_r · line_r over four rows, v = rint(weight · 2^11)
with m = rint(sx/sy · 2^(11 - shift)). Weights of a pixel sum to one exactly, so that flat areas stay what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import forward_distance
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node, Quant, Shape
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.table_int8 import make_requantize
from pilotlight.ops.resize.int8 import make_qresize2d
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, quant_of, requantize_table, requantized, wide

ROW, COLUMN = 2048, 4096  # one


@register
class QBicubic(Op):
    """attrs: out (OH, OW), zx, m, zy, shift, lo, hi; inputs x, rows (OH, 8), columns (OW, 8): four indices, four
    weights."""

    name = "qbicubic2d"
    called = "resize2d"

    def infer(self, node: Node) -> Result:
        n, _, _, c = node.inputs[0].shape
        return [(INT8, (n, *node.attrs["out"], c))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x, rows, columns = (wide(v) for v in args)
        x = x - a["zx"]
        lines = sum(columns[:, 4 + q, None] * x[:, :, columns[:, q]] for q in range(4))
        lines = (lines + 2) >> 2  # (N, H, OW, C)
        total = sum(rows[:, 4 + r, None, None] * lines[:, rows[:, r]] for r in range(4))
        return narrow(requantized(np.asarray(total), a["m"], a))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Output pixels are written one after another, each while its neighbours are read."""
        n, ih, iw, c = node.inputs[0].shape
        rows, columns = (np.asarray(v.data)[:, :4].min(axis=1).astype(np.int64) for v in node.inputs[1:])
        first = np.arange(n)[:, None, None] * (ih * iw) + rows[:, None] * iw + columns
        least = np.minimum.accumulate(first.reshape(-1)[::-1])[::-1] * c
        return {(0, 0): forward_distance(least, np.arange(1, len(least) + 1) * c)}

    def emit(self, node: Node, c: Step) -> None:
        a, (x, rows, columns) = node.attrs, node.inputs
        fields = dict(zip(("n", "ih", "iw", "c", "oh", "ow"), (*x.shape, *a["out"]), strict=True))
        c.use("q_bicubic")
        table = c.table("pl_q_resize_t", "resize", fields | {"out": requantize_table(a), "zx": a["zx"], "m": a["m"]})
        c.call("pl_q_resize_bicubic", table, c.read(x), c.read(rows), c.read(columns), c.write(node.output))


def _cubic(size: int, out: int, scale: float, align: bool, one: int) -> np.ndarray:
    """Four neighbours, those outside moved to the border, and their weights by cubic convolution with A = -3/4."""
    o, step, half = np.arange(out, dtype=np.float32), np.float32(scale), np.float32(0.5)
    at = o * step if align else (o + half) * step - half
    whole = np.floor(at)
    t = (at - whole).astype(np.float64)
    near, far = (lambda d: (1.25 * d - 2.25) * d * d + 1), (lambda d: ((-0.75 * d + 3.75) * d - 6) * d + 3)
    weights = np.rint(np.stack([far(t + 1), near(t), near(1 - t), far(2 - t)], axis=1) * one).astype(np.int64)
    weights[np.arange(out), np.where(t < 0.5, 1, 2)] += one - weights.sum(axis=1)
    places = np.clip(whole.astype(np.int64)[:, None] + np.arange(-1, 3), 0, size - 1)
    return np.concatenate([places, weights], axis=1).astype(np.int16)


def make_qbicubic2d(x: Quant, y: Quant, shape: Shape, resize: dict[str, Any], limits: Limits = LIMITS) -> NodeSpec:
    """`shape` is x's (N, H, W, C), each below 2^15, `resize` the attributes of the float node."""
    sizes = list(zip(shape[1:3], resize["out"], resize["scale"], (ROW, COLUMN), strict=True))
    rows, columns = (_cubic(size, out, scale, resize["align"], one) for size, out, scale, one in sizes)
    reach = [int(np.abs(table[:, 4:].astype(np.int64)).sum(axis=1).max()) for table in (rows, columns)]
    largest = ((255 * reach[1] + 2) // 4 + 1) * reach[0]
    numbers = output_attrs(x.scale / y.scale / (ROW * COLUMN / 4), largest, y.zero_point, limits)
    return NodeSpec("qbicubic2d", {"out": tuple(resize["out"]), "zx": x.zero_point, **numbers}, (rows, columns))


@form("resize2d", width=8)
def resize(q: Integer) -> list[Node] | None:
    x, a = q.inputs[0], q.node.attrs
    if not all_int8(q) or max(x.shape[1:3]) >= 1 << 15:
        return None
    if a["mode"] == "bicubic":
        return [q.build(make_qbicubic2d(quant_of(x), q.quant, x.shape, a, q.limits), x)]
    if a["mode"] == "bilinear" or (x.quant == q.quant and q.limits == LIMITS):  # nearest only moves
        return [q.build(make_qresize2d(quant_of(x), q.quant, x.shape, a, q.limits), x)]
    moved = q.build(make_qresize2d(quant_of(x), quant_of(x), x.shape, a), x, quant=x.quant)
    return [moved, q.build(make_requantize(quant_of(x), q.quant, q.limits), moved.output)]
