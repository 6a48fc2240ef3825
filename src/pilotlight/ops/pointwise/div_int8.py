"""Quotients of two int8 tensors that broadcast:

    y = clamp(((x0 - z0)·a / (x1 - z1) + c) >> shift)       the division rounds toward zero
a = rint(s0/(s1·sy) · 2^shift), c holds the zero point and the half that rounds; `shift` is the largest for which
everything fits 32 bits. Where the divisor is 0 the result is the limit of the dividend's sign.
"""

from __future__ import annotations

import numpy as np
import torch

from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.int8 import Binary, of_two
from pilotlight.ops.pointwise.table_int8 import table
from pilotlight.ops.spec import Limits, NodeSpec, narrow, terms, wide


@register
class QDiv(Binary):
    """attrs: z0, z1, a, c, shift, lo, hi."""

    name = "qdiv"
    called = "div"
    kind = "div"
    header = "q_div"
    numbers = ("z0", "z1", "a", "c", "shift", "lo", "hi")

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n, (x, y) = node.attrs, (wide(v) for v in args)
        over, under = np.broadcast_arrays((x - n["z0"]) * n["a"], y - n["z1"])
        quotient = np.sign(over) * np.sign(under) * (np.abs(over) // np.maximum(np.abs(under), 1))
        result = (quotient + n["c"]) >> n["shift"]
        result = np.where((under == 0) & (over != 0), np.where(over < 0, n["lo"], n["hi"]), result)
        return narrow(np.clip(result, n["lo"], n["hi"]))


def make_qdiv(x0: Quant, x1: Quant, y: Quant, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 / x1."""
    t = terms((x0.scale / (x1.scale * y.scale),), (255,), y.zero_point)
    zeros = {"z0": x0.zero_point, "z1": x1.zero_point}
    numbers = {"a": t.factors[0], "c": t.offset, "shift": t.shift, "lo": limits[0], "hi": limits[1]}
    return NodeSpec("qdiv", zeros | numbers)


@form("div", width=8)
def div(q: Integer) -> list[Node] | None:
    return of_two(q, 8, table, lambda a, b: make_qdiv(a, b, q.quant, q.limits)) if all_int8(q) else None
