"""Group and instance norm of int8, channels last, the formula of `int8.py` with the numbers of a group, all
its pixels and channels, as one row, and w and b per channel."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import Op, Result, register, same
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.norm.int8 import LONGEST, affine_numbers, normalized, row_numbers, table_fields
from pilotlight.ops.spec import Limits, NodeSpec, narrow, quant_of, wide


@register
class QGroupNorm(Op):
    """attrs: groups and those of qnorm; inputs x (N, ..., C), w (C), b (C). In place."""

    name = "qgroup_norm"
    called = "group_norm"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a, groups, channels = node.attrs, node.attrs["groups"], args[0].shape[-1]
        x = wide(args[0]).reshape(len(args[0]), -1, groups, channels // groups)  # (N, P, G, C / G)
        rows = x.transpose(0, 2, 1, 3)
        w, b = (
            np.broadcast_to(wide(v).reshape(1, groups, 1, -1), rows.shape).reshape(-1, a["size"]) for v in args[1:]
        )
        y = normalized(rows.reshape(-1, a["size"]), w, b, a).reshape(rows.shape)
        return narrow(y.transpose(0, 2, 1, 3).reshape(args[0].shape))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def scratch(self, node: Node) -> int:
        return 12 * int(node.attrs["groups"])

    def emit(self, node: Node, c: Step) -> None:
        a, (x, w, b) = node.attrs, node.inputs
        n, channels = x.shape[0], x.shape[-1]
        shape = {"pixels": x.elements // (n * channels), "channels": channels, "groups": a["groups"]}
        c.use("q_group_norm")
        table = c.table("pl_q_group_norm_t", "norm", {"norm": table_fields(a, n), **shape})
        pointers = (c.read(x), c.read(w), c.read(b), c.scratch("pl_q_group_t"), c.write(node.output))
        c.call("pl_q_group_norm", table, *pointers)


def make_qgroup_norm(
    x: Quant, y: Quant, shape: tuple[int, ...], groups: int, eps: float, weight: np.ndarray | None = None,
    bias: np.ndarray | None = None, limits: Limits = INT8,
) -> NodeSpec:
    """`shape` is x's (N, ..., C)."""
    channels = shape[-1]
    size = int(np.prod(shape[1:])) // groups
    w = np.ones(channels) if weight is None else np.asarray(weight, np.float64).reshape(channels)
    b = np.zeros(channels) if bias is None else np.asarray(bias, np.float64).reshape(channels)
    fraction, factors, offsets = affine_numbers(y, size, w, b)
    attrs: dict[str, Any] = {"groups": groups, **row_numbers(x, size, eps, True, limits), "fraction": fraction}
    return NodeSpec("qgroup_norm", attrs, (factors, offsets))


@form("group_norm", width=8)
def group_norm(q: Integer) -> list[Node] | None:
    """The affine constants that exist follow x in the order (scale, shift)."""
    a, x = q.node.attrs, q.inputs[0]
    if not all_int8(q) or any(not v.is_constant for v in q.inputs[1:]):
        return None
    if x.elements // x.shape[0] > LONGEST * a["groups"]:
        return None
    given = iter(v.data for v in q.inputs[1:])
    weight, bias = (next(given) if has else None for has in a["affine"])
    spec = make_qgroup_norm(quant_of(x), q.quant, x.shape, a["groups"], a["eps"], weight, bias, q.limits)
    return [q.build(spec, x)]
