"""Sums and products of two int8 tensors that broadcast.

qadd: y = clamp((a·x0 + b·x1 + c) >> 16); a = rint(s0/sy · 2^16), b likewise, c holds the zero points and the half
      that rounds. Differences are sums with a negative b.
qmul: y = clamp(((x0 - z0)(x1 - z1)·a + c) >> shift); a = rint(s0·s1/sy · 2^shift).
Everything fits 32 bits, which the makers prove; `shift` is the largest for which it does. The factors' rounding moves
a result by less than 2^-6 of a step, so it differs from float by at most one, where float lies next to a half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step, wrap
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node, Quant
from pilotlight.ops.areas import Area, AreaPart, same_part
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.forms import Integer, IntegerForm, all_int8, form
from pilotlight.ops.pointwise.float import broadcast_shape, pointwise_overlaps
from pilotlight.ops.pointwise.table_int8 import table
from pilotlight.ops.spec import LIMIT, Limits, NodeSpec, narrow, overflow, quant_of, terms, wide


class Binary(Op):
    """A table of integers and runs of the output."""

    kind = ""
    header = "q_binary"
    numbers: tuple[str, ...] = ()

    def infer(self, node: Node) -> Result:
        return [(INT8, broadcast_shape(node.inputs))]

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return same_part(node, area)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return pointwise_overlaps(node)

    def emit(self, node: Node, c: Step) -> None:
        self.kernel(c, node, f"pl_q_{self.kind}", self.header)

    def kernel(self, c: Step, node: Node, function: str, header: str) -> None:
        """A kernel over runs along which each operand moves by one element or stays."""
        out = node.output
        operands = [loops.broadcast(v, out.shape) for v in node.inputs]
        sizes, strides = loops.collapse(out.shape, [loops.contiguous(out.shape), *(o.strides for o in operands)])
        run = sizes.pop() if sizes else 1
        steps = [s.pop() if s else 1 for s in strides]
        names = loops.index_names(len(sizes))
        at = [" + ".join(f"({n} * {s})" for n, s in zip(names, row, strict=True) if s) for row in strides]
        pointers = (c.write(out), *map(c.read, node.inputs))
        y, x0, x1 = (f"{p} + ({a})" if a else p for p, a in zip(pointers, at, strict=True))
        c.use(header)
        call = f"{function}({self.table(node, c)}, {x0}, {x1}, {y}, {run}, {steps[1]}, {steps[2]});"
        loops.nest(c, sizes, [wrap(call, "    ")])

    def table(self, node: Node, c: Step) -> str:
        return c.table(f"pl_q_{self.kind}_t", self.kind, {k: node.attrs[k] for k in self.numbers})


@register
class QAdd(Binary):
    """attrs: a, b, c, lo, hi."""

    name = "qadd"
    kind = "add"
    numbers = ("a", "b", "c", "lo", "hi")

    def group(self, node: Node) -> str:
        return "sub" if node.attrs["b"] < 0 else "add"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n, (x, y) = node.attrs, (wide(v) for v in args)
        return narrow(np.clip((n["a"] * x + n["b"] * y + n["c"]) >> 16, n["lo"], n["hi"]))


@register
class QMul(Binary):
    """attrs: z0, z1, a, c, shift, lo, hi."""

    name = "qmul"
    called = "mul"
    kind = "mul"
    numbers = ("z0", "z1", "a", "c", "shift", "lo", "hi")

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n, (x, y) = node.attrs, (wide(v) for v in args)
        product = (x - n["z0"]) * (y - n["z1"]) * n["a"]
        return narrow(np.clip((product + n["c"]) >> n["shift"], n["lo"], n["hi"]))


def make_qadd(x0: Quant, x1: Quant, y: Quant, alpha: float = 1.0, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 + alpha * x1."""
    a, b = (round(s / y.scale * 65536) for s in (x0.scale, alpha * x1.scale))
    c = y.zero_point * 65536 + 32768 - a * x0.zero_point - b * x1.zero_point
    if 128 * (abs(a) + abs(b)) + abs(c) >= LIMIT:
        raise overflow(max(abs(a), abs(b)) / 65536)
    return NodeSpec("qadd", {"a": a, "b": b, "c": c, "lo": limits[0], "hi": limits[1]})


def make_qmul(x0: Quant, x1: Quant, y: Quant, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 * x1."""
    t = terms((x0.scale * x1.scale / y.scale,), (255 * 255,), y.zero_point)
    zeros = {"z0": x0.zero_point, "z1": x1.zero_point}
    numbers = {"a": t.factors[0], "c": t.offset, "shift": t.shift, "lo": limits[0], "hi": limits[1]}
    return NodeSpec("qmul", zeros | numbers)


def of_two(
    q: Integer, width: int, number: IntegerForm, make: Callable[[Quant, Quant], NodeSpec]
) -> list[Node] | None:
    """An operator of two tensors; where one is a constant of one element, `number` makes a table of it."""
    if any(v.is_constant and v.elements == 1 for v in q.inputs):
        return number(q)
    a, b = (q.constant(v, width) for v in q.inputs)
    return [q.build(make(quant_of(a), quant_of(b)), a, b)]


@form("add", "mul", "sub", width=8)
def binary(q: Integer) -> list[Node] | None:
    def make(a: Quant, b: Quant) -> NodeSpec:
        if q.node.op == "mul":
            return make_qmul(a, b, q.quant, q.limits)
        return make_qadd(a, b, q.quant, 1.0 if q.node.op == "add" else -1.0, q.limits)

    return of_two(q, 8, table, make) if all_int8(q) else None
