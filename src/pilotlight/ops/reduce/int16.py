"""Means of 16-bit tensors: y = clamp(rhmul(acc << shift, m)), acc = Σ x, m = rint(sx / (sy·n) · 2^(32 - shift)).

A sum of 65,535 numbers fits 32 bits; longer means have no form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT16 as LIMITS
from pilotlight.graph import INT16, Node, Quant, Shape
from pilotlight.ops.base import Result, register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.reduce.int8 import QMean
from pilotlight.ops.spec import (
    LARGEST,
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


def make_qmean16(x: Quant, y: Quant, shape: Shape, axes: Sequence[int], limits: Limits = LIMITS) -> NodeSpec:
    """The mean over `axes`, which have to be neighbours."""
    axes = tuple(sorted(a % len(shape) for a in axes))
    count = int(np.prod([shape[a] for a in axes]))
    return NodeSpec("qmean_s16", {"axes": axes, **output_attrs(x.scale / y.scale / count, LARGEST * count, 0, limits)})


@form("mean", width=16)
def mean(q: Integer) -> list[Node] | None:
    x, axes = q.inputs[0], q.node.attrs["axes"]
    if np.prod([x.shape[a] for a in axes]) > MOST:
        return None
    return [q.build(make_qmean16(quant_of(x), q.quant, x.shape, axes, q.limits), x)]
