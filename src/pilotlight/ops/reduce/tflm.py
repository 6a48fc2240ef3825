"""Means and sums of int8 over neighbouring axes as TFLM computes them.

    y = clamp(zy + fixed.tflm_scaled(acc, q, shift)), acc = Σ (x - zx)

A mean divides by its count in the factor, q = (q of sx / sy) · 2^bits / count, rounded down."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from pilotlight import fixed
from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.fixed import TFLM
from pilotlight.graph import Node, Quant, Shape
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.reduce.int8 import QMean
from pilotlight.ops.spec import LIMIT, Limits, NodeSpec, narrow, overflow, quant_of, wide


@register
class TflmMean(QMean):
    """attrs: axes (neighbouring, sorted), zx, q, shift, zy, lo, hi. The axes stay as size 1."""

    name = "tflm_mean"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        total = (wide(args[0]) - a["zx"]).sum(axis=tuple(a["axes"]), keepdims=True)
        return narrow(fixed.tflm_requantize(total, a["q"], a["shift"], a["zy"], (a["lo"], a["hi"])))

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        outer, count, inner = self.shape(node)
        c.use("q_tflm_mean")
        names = ("q", "shift", "zy", "lo", "hi")
        table = c.table("pl_q_tflm_mean_t", "mean", {"begin": -count * a["zx"], **{name: a[name] for name in names}})
        c.call("pl_q_tflm_mean", table, c.read(node.inputs[0]), c.write(node.output), outer, count, inner)


def sum_factor(x: Quant, y: Quant, count: int, mean: bool) -> tuple[int, int]:
    """The factor of a sum of `count` numbers, or of their mean, and its shift."""
    q, shift = (int(n[0]) for n in fixed.tflm_multiplier(x.scale / y.scale))
    if mean:
        bits = min(count.bit_length() - 1, 32, 31 + shift)
        q, shift = (q << bits) // count, shift - bits
    return q, shift


def sums_fit(x: Quant, y: Quant, count: int, mean: bool) -> bool:
    """Whether no sum of `count` numbers leaves 32 bits."""
    return (255 * count) << max(sum_factor(x, y, count, mean)[1], 0) < LIMIT


def make_tflm_mean(
    x: Quant, y: Quant, shape: Shape, axes: Sequence[int], limits: Limits = LIMITS, mean: bool = True
) -> NodeSpec:
    """The mean or the sum over `axes`, which have to be neighbours."""
    axes = tuple(sorted(a % len(shape) for a in axes))
    count = math.prod(shape[a] for a in axes)
    q, shift = sum_factor(x, y, count, mean)
    if not sums_fit(x, y, count, mean):
        raise overflow(x.scale / y.scale)
    numbers = {"zx": x.zero_point, "q": q, "shift": shift, "zy": y.zero_point, "lo": limits[0], "hi": limits[1]}
    return NodeSpec("tflm_mean", {"axes": axes, **numbers, **({} if mean else {"called": "sum"})})


@form("mean", "sum", width=8, numerics=TFLM)
def reduced(q: Integer) -> list[Node] | None:
    """MEAN and SUM."""
    if not all_int8(q):
        return None
    x, axes = q.inputs[0], q.node.attrs["axes"]
    return [q.build(make_tflm_mean(quant_of(x), q.quant, x.shape, axes, q.limits, q.node.op == "mean"), x)]
