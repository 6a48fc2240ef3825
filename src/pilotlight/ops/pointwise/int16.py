"""Sums and products of two 16-bit tensors that broadcast.

qadd: y = clamp((rhmul(x0·2^16, a) + rhmul(x1·2^16, b) + 2^(f-1)) >> f), a = rint(s0/sy · 2^(16+f)), b likewise. f is
      the largest up to 10 with which the sum fits 32 bits. Differences are sums with a negative b.
qmul: y = clamp(rhmul(x0·x1 << shift, m)), m = rint(s0·s1/sy · 2^(32 - shift)); a product fits 31 bits.
A result differs from float by at most one step, where float lies next to a half.
"""

from __future__ import annotations

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT16 as LIMITS
from pilotlight.fixed import rhmul
from pilotlight.graph import INT16, Node, Quant
from pilotlight.ops.base import Result, register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.pointwise.float import broadcast_shape
from pilotlight.ops.pointwise.int8 import Binary, of_two
from pilotlight.ops.pointwise.table_int16 import table
from pilotlight.ops.spec import (
    LARGEST,
    LIMIT,
    Limits,
    NodeSpec,
    as_int16,
    output_attrs,
    overflow,
    requantize_table,
    requantized,
    wide,
)


class Binary16(Binary):
    """A table of integers and runs of the output, as for int8."""

    header = "q_binary_s16"

    def infer(self, node: Node) -> Result:
        return [(INT16, broadcast_shape(node.inputs))]


@register
class QAdd16(Binary16):
    """attrs: a, b, fraction, lo, hi."""

    name = "qadd_s16"
    kind = "add_s16"
    numbers = ("a", "b", "fraction", "lo", "hi")

    def group(self, node: Node) -> str:
        return "sub" if node.attrs["b"] < 0 else "add"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n, (x, y) = node.attrs, (wide(v) << 16 for v in args)
        total = rhmul(x, n["a"]) + rhmul(y, n["b"]) + ((1 << n["fraction"]) >> 1)
        return as_int16(np.clip(total >> n["fraction"], n["lo"], n["hi"]))


@register
class QMul16(Binary16):
    """attrs: m, zy, shift, lo, hi."""

    name = "qmul_s16"
    called = "mul"
    kind = "mul_s16"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x, y = (wide(v) for v in args)
        return as_int16(requantized(x * y, node.attrs["m"], node.attrs))

    def table(self, node: Node, c: Step) -> str:
        fields = {"out": requantize_table(node.attrs), "m": node.attrs["m"]}
        return c.table("pl_q_mul_s16_t", "mul", fields)


def make_qadd16(x0: Quant, x1: Quant, y: Quant, alpha: float = 1.0, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 + alpha * x1."""
    ratios = [x0.scale / y.scale, alpha * x1.scale / y.scale]
    for fraction in range(10, -1, -1):
        a, b = (round(r * 2.0 ** (16 + fraction)) for r in ratios)
        sum_limit = ((abs(a) + abs(b)) * LARGEST >> 16) + 2 + (1 << fraction)
        if max(abs(a), abs(b), sum_limit) < LIMIT:
            return NodeSpec("qadd_s16", {"a": a, "b": b, "fraction": fraction, "lo": limits[0], "hi": limits[1]})
    raise overflow(max(map(abs, ratios)))


def make_qmul16(x0: Quant, x1: Quant, y: Quant, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 * x1."""
    return NodeSpec("qmul_s16", output_attrs(x0.scale * x1.scale / y.scale, LARGEST * LARGEST, 0, limits))


@form("add", "mul", "sub", width=16)
def binary(q: Integer) -> list[Node] | None:
    def make(a: Quant, b: Quant) -> NodeSpec:
        if q.node.op == "mul":
            return make_qmul16(a, b, q.quant, q.limits)
        return make_qadd16(a, b, q.quant, 1.0 if q.node.op == "add" else -1.0, q.limits)

    return of_two(q, 16, table, make)
