"""Resizing int8 images, channels last: nearest and bilinear. Which pixels and with which weights is decided when the
model is compiled, in float32 as PyTorch does.

nearest:  y = x[rows[oy], columns[ox]], in x's own scale.
bilinear: y = clamp(zy + rhmul(acc << shift, m)), acc = Σ (x - zx) · v · h over four pixels, the weights v and h of an
          axis being rint(t · 2^11) and the rest to 2^11; m = rint(sx/sy · 2^(10 - shift)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import forward_distance
from pilotlight.errors import PilotlightError
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node, Quant, Shape
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, requantize_table, requantized, wide

ONE = 2048


@register
class QResize(Op):
    """attrs: mode, out (OH, OW), zx, m, zy, shift, lo, hi; inputs x, rows (OH) or (OH, 3), columns likewise: an index,
    or two and the weight of the second."""

    name = "qresize2d"
    called = "resize2d"

    def infer(self, node: Node) -> Result:
        n, _, _, c = node.inputs[0].shape
        return [(INT8, (n, *node.attrs["out"], c))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x, rows, columns = (wide(v) for v in args)
        if a["mode"] == "nearest":
            return narrow(x[:, rows][:, :, columns])
        v, h = rows[:, 2, None, None], columns[:, 2, None]
        x = x - a["zx"]
        across = [(ONE - h) * x[:, r][:, :, columns[:, 0]] + h * x[:, r][:, :, columns[:, 1]] for r in rows[:, :2].T]
        return narrow(requantized((ONE - v) * across[0] + v * across[1], a["m"], a))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Output pixels are written one after another, each while its neighbours are read."""
        n, ih, iw, c = node.inputs[0].shape
        rows, columns = (_first(v.data) for v in node.inputs[1:])
        corners = rows[:, None] * iw + columns
        first = (np.arange(n)[:, None] * (ih * iw) + corners.reshape(-1)).reshape(-1) * c
        return {(0, 0): forward_distance(first, np.arange(1, len(first) + 1) * c)}

    def emit(self, node: Node, c: Step) -> None:
        a, (x, rows, columns) = node.attrs, node.inputs
        fields = dict(zip(("n", "ih", "iw", "c", "oh", "ow"), (*x.shape, *a["out"]), strict=True))
        c.use("q_resize")
        table = c.table("pl_q_resize_t", "resize", fields | {"out": requantize_table(a), "zx": a["zx"], "m": a["m"]})
        pointers = (c.read(x), c.read(rows), c.read(columns), c.write(node.output))
        c.call(f"pl_q_resize_{a['mode']}", table, *pointers)


def _first(table: np.ndarray | None) -> np.ndarray:
    assert table is not None
    return (table if table.ndim == 1 else table[:, 0]).astype(np.int64)


def _nearest(size: int, out: int, scale: float, half: float) -> np.ndarray:
    at = (np.arange(out, dtype=np.float32) + np.float32(half)) * np.float32(scale)
    return np.minimum(at.astype(np.int64), size - 1).astype(np.int16)


def _bilinear(size: int, out: int, scale: float, align: bool) -> np.ndarray:
    o, step, half = np.arange(out, dtype=np.float32), np.float32(scale), np.float32(0.5)
    at = np.maximum(o * step if align else (o + half) * step - half, np.float32(0))
    a = np.minimum(at.astype(np.int64), size - 1)
    t = np.minimum(at - a.astype(np.float32), np.float32(1))
    return np.stack([a, np.minimum(a + 1, size - 1), np.rint(t * ONE)], axis=1).astype(np.int16)


def make_qresize2d(x: Quant, y: Quant, shape: Shape, resize: dict[str, Any], limits: Limits = LIMITS) -> NodeSpec:
    """`shape` is x's (N, H, W, C), `resize` the attributes of the float node. Nearest keeps x's scale: where y has
    another, `make_requantize` follows."""
    mode, sizes = resize["mode"], list(zip(shape[1:3], resize["out"], resize["scale"], strict=True))
    if mode == "bicubic" or max(shape[1:3]) >= 1 << 15:
        raise PilotlightError(f"{mode} resizing of {shape[1]} x {shape[2]} has no int8 form", kind="unsupported")
    if mode == "bilinear":
        tables = tuple(_bilinear(*s, resize["align"]) for s in sizes)
    else:
        tables = tuple(_nearest(*s, 0.5 if mode == "nearest-exact" else 0.0) for s in sizes)
    attrs = {"mode": mode.removesuffix("-exact"), "out": tuple(resize["out"]), "zx": x.zero_point}
    numbers = output_attrs(x.scale / y.scale / ONE**2, 255 * ONE**2, y.zero_point, limits)
    return NodeSpec("qresize2d", attrs | numbers, tables)
