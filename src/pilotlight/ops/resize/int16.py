"""Resizing 16-bit images, channels last: nearest and bilinear, with the pixels and weights of `int8.py`.

nearest:  y = x[rows[oy], columns[ox]], in x's own scale.
bilinear: across = ((2^11 - h)·x0 + h·x1 + 64) >> 7 in the rows above and below,
          y = clamp(rhmul(acc << shift, m)), acc = (2^11 - v)·above + v·below, m = rint(sx/sy · 2^(17 - shift)).
"""

from __future__ import annotations

from typing import Any

import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT16 as LIMITS
from pilotlight.graph import INT16, Node, Quant, Shape
from pilotlight.ops.base import Result, register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.requantize import make_rescale
from pilotlight.ops.resize.int8 import ONE, QResize, make_qresize2d
from pilotlight.ops.spec import (
    Limits,
    NodeSpec,
    as_int16,
    output_attrs,
    quant_of,
    requantize_table,
    requantized,
    scaled_distances,
    wide,
)


@register
class QResize16(QResize):
    """attrs: mode, out (OH, OW), m, zy, shift, lo, hi; inputs as for int8."""

    name = "qresize2d_s16"

    def infer(self, node: Node) -> Result:
        return [(INT16, shape) for _, shape in super().infer(node)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x, rows, columns = (wide(v) for v in args)
        if a["mode"] == "nearest":
            return as_int16(x[:, rows][:, :, columns])
        v, h = rows[:, 2, None, None], columns[:, 2, None]
        above, below = (
            ((ONE - h) * x[:, r][:, :, columns[:, 0]] + h * x[:, r][:, :, columns[:, 1]] + 64) >> 7
            for r in rows[:, :2].T
        )
        return as_int16(requantized((ONE - v) * above + v * below, a["m"], a))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return scaled_distances(super().overlaps(node))

    def emit(self, node: Node, c: Step) -> None:
        """The nearest pixel is moved as bytes, two per channel."""
        a, (x, rows, columns) = node.attrs, node.inputs
        nearest = a["mode"] == "nearest"
        *shape, channels = x.shape
        sizes = (*shape, channels * (2 if nearest else 1))
        fields: dict[str, Any] = dict(zip(("n", "ih", "iw", "c"), sizes, strict=True))
        fields |= {"oh": a["out"][0], "ow": a["out"][1], "out": requantize_table(a), "zx": 0, "m": a["m"]}
        c.use("q_resize" if nearest else "q_resize_s16")
        table = c.table("pl_q_resize_t", "resize", fields)
        tables = (c.read(rows), c.read(columns))
        if nearest:
            c.call("pl_q_resize_nearest", table, c.read(x, "int8_t"), *tables, c.write(node.output, "int8_t"))
        else:
            c.call("pl_q_resize_bilinear_s16", table, c.read(x), *tables, c.write(node.output))


def make_qresize16(x: Quant, y: Quant, shape: Shape, resize: dict[str, Any], limits: Limits = LIMITS) -> NodeSpec:
    """`shape` is x's (N, H, W, C), `resize` the attributes of the float node."""
    narrow = make_qresize2d(Quant(1.0, 0), Quant(1.0, 0), shape, resize)
    attrs = {k: narrow.attrs[k] for k in ("mode", "out")}
    numbers = output_attrs(x.scale / y.scale * 2.0**-15, 1 << 30, 0, limits)
    return NodeSpec("qresize2d_s16", attrs | numbers, narrow.constants)


@form("resize2d", width=16)
def resize(q: Integer) -> list[Node] | None:
    x, a = q.inputs[0], q.node.attrs
    if a["mode"] == "bicubic" or max(x.shape[1:3]) > LIMITS[1]:
        return None
    y = q.quant
    if a["mode"] == "bilinear" or (x.quant == q.quant and q.limits == LIMITS):
        return [q.build(make_qresize16(quant_of(x), y, x.shape, a, q.limits), x)]
    moved = q.build(make_qresize16(quant_of(x), quant_of(x), x.shape, a), x, quant=x.quant)
    return [moved, q.build(make_rescale(quant_of(x), y, 16, q.limits), moved.output)]
