"""Means and pooling of 16-bit tensors, channels last.

mean, average: y = clamp(rhmul(acc·up, m)), acc = Σ x, m = rint(sx / (sy·count) · 2^32 / up), one m per count.
maximum:       y = clamp(max x), in x's own scale; padding never wins.
A sum of 65,535 numbers fits 32 bits; longer means have no form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Fields, Step
from pilotlight.fixed import INT16 as LIMITS
from pilotlight.graph import INT16, Node, Shape
from pilotlight.ops.base import Integer, Result, add_op, register
from pilotlight.ops.q16_requantize import make_rescale
from pilotlight.ops.q16_spec import LARGEST, as_int16, build_node, scaled_distances, wide_form
from pilotlight.ops.q_mean import QMean
from pilotlight.ops.q_pool import QPool, cells
from pilotlight.ops.q_spec import (
    Affine,
    Limits,
    NodeSpec,
    affine,
    requantize_attrs,
    requantize_table,
    requantized,
    requantizer,
    wide,
)

MOST = 65535  # numbers of a sum


@register
class QMean16(QMean):
    """attrs: axes (neighbouring, sorted), m, zy, shift, lo, hi. The axes stay as size 1."""

    name = "qmean_s16"

    def infer(self, node: Node) -> Result:
        return [(INT16, shape) for _, shape in super().infer(node)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        total = wide(args[0]).sum(axis=tuple(a["axes"]), keepdims=True)
        return as_int16(requantized(total, a["m"], a))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return scaled_distances(super().overlaps(node))

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        c.use("q_mean_s16")
        table = c.table("pl_requantize_t", "mean", requantize_table(a))
        c.call("pl_q_mean_s16", table, c.read(node.inputs[0]), c.write(node.output), *self.shape(node), a["m"])


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


def make_qmean16(x: Affine, y: Affine, shape: Shape, axes: Sequence[int], limits: Limits = LIMITS) -> NodeSpec:
    """The mean over `axes`, which have to be neighbours."""
    axes = tuple(sorted(a % len(shape) for a in axes))
    count = int(np.prod([shape[a] for a in axes]))
    m = requantizer(Affine(*x).scale / Affine(*y).scale / count, LARGEST * count)
    return NodeSpec("qmean_s16", {"axes": axes, "m": int(m.value[0]), **requantize_attrs(m, 0, limits)})


def make_qavg_pool16(
    x: Affine, y: Affine, shape: Shape, pool: dict[str, Any], adaptive: bool = False, limits: Limits = LIMITS
) -> NodeSpec:
    """`shape` is x's (N, H, W, C). One window that is the whole image is a mean."""
    found = list(cells(shape, pool, adaptive))
    counts = [cell.count for cell in found]
    first, taps = min(counts), max(len(cell.rows) * len(cell.columns) for cell in found)
    if len(found) == 1 and first == taps == shape[1] * shape[2]:
        return make_qmean16(x, y, shape, (1, 2), limits)
    m = requantizer(Affine(*x).scale / Affine(*y).scale / np.arange(first, max(counts) + 1), LARGEST * taps)
    attrs = {**pool, **requantize_attrs(m, 0, limits), "zx": 0, "first": first}
    return NodeSpec(f"q{'adaptive_' * adaptive}avg_pool2d_s16", attrs, (m.value,))


def make_qmax_pool16(pool: dict[str, Any], adaptive: bool = False, limits: Limits = LIMITS) -> NodeSpec:
    """y has x's scale."""
    return NodeSpec(f"q{'adaptive_' * adaptive}max_pool2d_s16", {**pool, "lo": limits[0], "hi": limits[1]})


@wide_form("mean")
def mean(q: Integer) -> list[Node] | None:
    x, axes = q.inputs[0], q.node.attrs["axes"]
    if np.prod([x.shape[a] for a in axes]) > MOST:
        return None
    return [build_node(q, make_qmean16(affine(x), _result(q), x.shape, axes, q.limits), x)]


@wide_form("avg_pool2d", "adaptive_avg_pool2d")
def average_pool(q: Integer) -> list[Node] | None:
    x, adaptive = q.inputs[0], q.node.op.startswith("adaptive")
    if x.shape[1] * x.shape[2] > MOST:
        return None
    return [build_node(q, make_qavg_pool16(affine(x), _result(q), x.shape, q.node.attrs, adaptive, q.limits), x)]


@wide_form("max_pool2d", "adaptive_max_pool2d")
def max_pool(q: Integer) -> list[Node] | None:
    """The largest integer is the largest number; another scale is applied after it."""
    x, adaptive = q.inputs[0], q.node.op.startswith("adaptive")
    if x.quant == q.quant:
        return [build_node(q, make_qmax_pool16(q.node.attrs, adaptive, q.limits), x)]
    pool = build_node(q, make_qmax_pool16(q.node.attrs, adaptive), x, quant=x.quant)
    return [pool, build_node(q, make_rescale(affine(x), _result(q), 16, q.limits), pool.output)]


def _result(q: Integer) -> Affine:
    return Affine(q.quant.scale, q.quant.zero_point)
