"""Pooling of 16-bit tensors, channels last.

average: y = clamp(rhmul(acc << shift, m)), acc = Σ x, m = rint(sx / (sy·count) · 2^(32 - shift)), one m per count.
maximum: y = clamp(max x), in x's own scale; padding never wins.
A sum of 65,535 numbers fits 32 bits; larger windows have no form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Fields, Step
from pilotlight.fixed import INT16 as LIMITS
from pilotlight.graph import INT16, Node, Quant, Shape
from pilotlight.ops.base import Result, add_op
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.pool.int8 import QPool, cells
from pilotlight.ops.reduce.int16 import MOST, make_qmean16
from pilotlight.ops.requantize import make_rescale
from pilotlight.ops.spec import (
    LARGEST,
    Limits,
    NodeSpec,
    as_int16,
    quant_of,
    requantize_attrs,
    requantize_table,
    requantizer,
    scaled_distances,
)


class QPool16(QPool):
    """attrs: size, kernel, stride, pad, dilation, count_padding, divisor as for float pooling, lo, hi; for averages
    also zy, shift, first (the count of m[0]) and the input m."""

    def infer(self, node: Node) -> Result:
        return [(INT16, shape) for _, shape in super().infer(node)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return as_int16(self.pooled(node, args))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return scaled_distances(super().overlaps(node))

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        c.use("q_pool2d_s16")
        fields: Fields = {
            "pool": self.pool_fields(node), "out": requantize_table({"shift": 0, "zy": 0, **a}),
            "first": a.get("first", 0), "adaptive": int(self.adaptive),
        }
        table = c.table("pl_q_pool2d_s16_t", "pool", fields)
        constants = [c.read(v) for v in node.inputs]
        c.call(f"pl_q_{'avg' if self.average else 'max'}_pool2d_s16", table, *constants, c.write(node.output))


for _kind in ("avg", "max", "adaptive_avg", "adaptive_max"):
    add_op(f"q{_kind}_pool2d_s16", QPool16(_kind))


def make_qavg_pool16(
    x: Quant, y: Quant, shape: Shape, pool: dict[str, Any], adaptive: bool = False, limits: Limits = LIMITS
) -> NodeSpec:
    """`shape` is x's (N, H, W, C). One window that is the whole image is a mean."""
    found = list(cells(shape, pool, adaptive))
    counts = [cell.count for cell in found]
    first, taps = min(counts), max(len(cell.rows) * len(cell.columns) for cell in found)
    if len(found) == 1 and first == taps == shape[1] * shape[2]:
        return make_qmean16(x, y, shape, (1, 2), limits)
    m = requantizer(x.scale / y.scale / np.arange(first, max(counts) + 1), LARGEST * taps)
    attrs = {**pool, **requantize_attrs(m, 0, limits), "zx": 0, "first": first}
    return NodeSpec(f"q{'adaptive_' * adaptive}avg_pool2d_s16", attrs, (m.value,))


def make_qmax_pool16(pool: dict[str, Any], adaptive: bool = False, limits: Limits = LIMITS) -> NodeSpec:
    """y has x's scale."""
    return NodeSpec(f"q{'adaptive_' * adaptive}max_pool2d_s16", {**pool, "lo": limits[0], "hi": limits[1]})


@form("avg_pool2d", "adaptive_avg_pool2d", width=16)
def average_pool(q: Integer) -> list[Node] | None:
    x, adaptive = q.inputs[0], q.node.op.startswith("adaptive")
    if x.shape[1] * x.shape[2] > MOST:
        return None
    return [q.build(make_qavg_pool16(quant_of(x), q.quant, x.shape, q.node.attrs, adaptive, q.limits), x)]


@form("max_pool2d", "adaptive_max_pool2d", width=16)
def max_pool(q: Integer) -> list[Node] | None:
    """The largest integer is the largest number; another scale is applied after it."""
    x, adaptive = q.inputs[0], q.node.op.startswith("adaptive")
    if x.quant == q.quant:
        return [q.build(make_qmax_pool16(q.node.attrs, adaptive, q.limits), x)]
    pool = q.build(make_qmax_pool16(q.node.attrs, adaptive), x, quant=x.quant)
    return [pool, q.build(make_rescale(quant_of(x), q.quant, 16, q.limits), pool.output)]
