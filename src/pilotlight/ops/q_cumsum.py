"""Sums of int8: y = clamp(zero + rhmul(acc · up, m)), acc = Σ (x - zx), m = rint(sx/sy · 2^32 / up). A running sum
gives one result per element; a sum over whole axes is `q_mean`'s kernel with another m."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8
from pilotlight.graph import Node, Shape
from pilotlight.ops.base import Integer, Op, Result, integer, register, same
from pilotlight.ops.q_forms import all_int8, build_nodes, result
from pilotlight.ops.q_spec import (
    Affine,
    Limits,
    NodeSpec,
    affine,
    narrow,
    requantize_attrs,
    requantize_table,
    requantized,
    requantizer,
    wide,
)
from pilotlight.ops.softmax import lane_distance, lanes


@register
class QCumSum(Op):
    """attrs: axis, zx, m, zy, shift, lo, hi. Lane by lane, in place."""

    name = "qcumsum"
    called = "cumsum"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        return narrow(requantized((wide(args[0]) - a["zx"]).cumsum(a["axis"]), a["m"], a))

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return {**node.attrs, "axis": perm[node.attrs["axis"]]}

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): lane_distance(node.inputs[0], node.attrs["axis"])}

    def emit(self, node: Node, c: Step) -> None:
        a, x = node.attrs, node.inputs[0]
        c.use("q_cumsum")
        table = c.table("pl_requantize_t", "sum", requantize_table(a))
        c.call("pl_q_cumsum", table, c.read(x), c.write(node.output), *lanes(x.shape, a["axis"]), a["zx"], a["m"])


def _numbers(x: Affine, y: Affine, count: int, limits: Limits) -> dict[str, int]:
    m = requantizer(x.scale / y.scale, 255 * count)
    return {"zx": int(x.zero), "m": int(m.value[0]), **requantize_attrs(m, int(y.zero), limits)}


def make_qcumsum(x: Affine, y: Affine, shape: Shape, axis: int, limits: Limits = INT8) -> NodeSpec:
    """Running sums along `axis`."""
    return NodeSpec("qcumsum", {"axis": axis, **_numbers(Affine(*x), Affine(*y), shape[axis], limits)})


def make_qsum(x: Affine, y: Affine, shape: Shape, axes: Sequence[int], limits: Limits = INT8) -> NodeSpec:
    """The sum over `axes`, which have to be neighbours."""
    axes = tuple(sorted(a % len(shape) for a in axes))
    count = int(np.prod([shape[a] for a in axes]))
    return NodeSpec("qmean", {"called": "sum", "axes": axes, **_numbers(Affine(*x), Affine(*y), count, limits)})


@integer("cumsum")
def cumsum(q: Integer) -> list[Node] | None:
    x = q.inputs[0]
    if not all_int8(q):
        return None
    return build_nodes(q, make_qcumsum(affine(x), result(q), x.shape, q.node.attrs["axis"], q.limits), x)


@integer("sum")
def total(q: Integer) -> list[Node] | None:
    x = q.inputs[0]
    if not all_int8(q):
        return None
    return build_nodes(q, make_qsum(affine(x), result(q), x.shape, q.node.attrs["axes"], q.limits), x)
