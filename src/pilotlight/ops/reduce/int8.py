"""Means and sums of int8 over neighbouring axes: y = clamp(zy + rhmul(acc << shift, m)), acc = Σ (x - zx),
m = rint(sx / (sy·n) · 2^(32 - shift)), n = 1 for sums. Global average pooling is the mean over H and W."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import forward_distance
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node, Quant, Shape
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.softmax.float import lanes
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, quant_of, requantize_table, requantized, wide


@register
class QMean(Op):
    """attrs: axes (neighbouring, sorted), zx, m, zy, shift, lo, hi. The axes stay as size 1."""

    name = "qmean"
    called = "mean"

    def infer(self, node: Node) -> Result:
        x, axes = node.inputs[0], node.attrs["axes"]
        return [(INT8, tuple(1 if i in axes else size for i, size in enumerate(x.shape)))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        total = (wide(args[0]) - a["zx"]).sum(axis=tuple(a["axes"]), keepdims=True)
        return narrow(requantized(total, a["m"], a))

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        axes = tuple(sorted(perm[a] for a in node.attrs["axes"]))
        return {**node.attrs, "axes": axes} if axes == tuple(range(axes[0], axes[-1] + 1)) else None

    def shape(self, node: Node) -> tuple[int, int, int]:
        x, axes = node.inputs[0], node.attrs["axes"]
        count = int(np.prod([x.shape[a] for a in axes]))
        return lanes((*x.shape[: axes[0]], count, *x.shape[axes[-1] + 1 :]), axes[0])

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Each result is written after its own lane was read and before the next four are."""
        outer, count, inner = self.shape(node)
        first = (np.arange(outer)[:, None] * count * inner + np.arange(inner)).reshape(-1)
        written = np.arange(1, outer * inner + 1)
        return {(0, 0): min(forward_distance(first[1:], written[:-1]), 0)}

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        outer, count, inner = self.shape(node)
        c.use("q_mean")
        table = c.table("pl_requantize_t", "mean", requantize_table(a))
        numbers = (outer, count, inner, -count * a["zx"], a["m"])
        c.call("pl_q_mean", table, c.read(node.inputs[0]), c.write(node.output), *numbers)


def sum_numbers(x: Quant, y: Quant, count: int, limits: Limits, divisor: int = 1) -> dict[str, int]:
    """The attributes that bring sums of `count` numbers, divided, into y's scale."""
    return {"zx": x.zero_point, **output_attrs(x.scale / y.scale / divisor, 255 * count, y.zero_point, limits)}


def make_qmean(x: Quant, y: Quant, shape: Shape, axes: Sequence[int], limits: Limits = LIMITS) -> NodeSpec:
    """The mean over `axes`, which have to be neighbours."""
    axes = tuple(sorted(a % len(shape) for a in axes))
    count = int(np.prod([shape[a] for a in axes]))
    return NodeSpec("qmean", {"axes": axes, **sum_numbers(x, y, count, limits, count)})


def make_qsum(x: Quant, y: Quant, shape: Shape, axes: Sequence[int], limits: Limits = LIMITS) -> NodeSpec:
    """The sum over `axes`, which have to be neighbours."""
    axes = tuple(sorted(a % len(shape) for a in axes))
    count = int(np.prod([shape[a] for a in axes]))
    return NodeSpec("qmean", {"called": "sum", "axes": axes, **sum_numbers(x, y, count, limits)})


@form("mean", width=8)
def mean(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x = q.inputs[0]
    return [q.build(make_qmean(quant_of(x), q.quant, x.shape, q.node.attrs["axes"], q.limits), x)]


@form("sum", width=8)
def total(q: Integer) -> list[Node] | None:
    x = q.inputs[0]
    if not all_int8(q):
        return None
    return [q.build(make_qsum(quant_of(x), q.quant, x.shape, q.node.attrs["axes"], q.limits), x)]
