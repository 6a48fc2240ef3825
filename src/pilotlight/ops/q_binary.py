"""Sums and products of two int8 tensors that broadcast.

qadd: y = clamp((a·x0 + b·x1 + c) >> 16); a = rint(s0/sy · 2^16), b likewise, c holds the zero points and the half
      that rounds. Differences are sums with a negative b.
qmul: y = clamp(((x0 - z0)(x1 - z1)·a + c) >> shift); a = rint(s0·s1/sy · 2^shift).
Everything fits 32 bits, which the makers prove; `shift` is the largest for which it does. The factors' rounding moves
a result by less than 2^-6 of a step, so it differs from float by at most one, where float lies next to a half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step, wrap
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node
from pilotlight.ops.areas import Area, AreaPart, same_part
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.pointwise import broadcast_shape, pointwise_overlaps
from pilotlight.ops.q_spec import LIMIT, Affine, Limits, NodeSpec, narrow, overflow, terms, wide


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
        """The kernel over runs along which each operand moves by one element or stays."""
        out = node.output
        operands = [loops.broadcast(v, out.shape) for v in node.inputs]
        sizes, strides = loops.collapse(out.shape, [loops.contiguous(out.shape), *(o.strides for o in operands)])
        run = sizes.pop() if sizes else 1
        steps = [s.pop() if s else 1 for s in strides]
        names = loops.index_names(len(sizes))
        at = [" + ".join(f"{n} * {s}" for n, s in zip(names, row, strict=True) if s) for row in strides]
        pointers = (c.write(out), *map(c.read, node.inputs))
        y, x0, x1 = (f"{p} + ({a})" if a else p for p, a in zip(pointers, at, strict=True))
        c.use(self.header)
        call = f"pl_q_{self.kind}({self.table(node, c)}, {x0}, {x1}, {y}, {run}, {steps[1]}, {steps[2]});"
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


def make_qadd(x0: Affine, x1: Affine, y: Affine, alpha: float = 1.0, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 + alpha * x1."""
    x0, x1, y = Affine(*x0), Affine(*x1), Affine(*y)
    a, b = (round(s / y.scale * 65536) for s in (x0.scale, alpha * x1.scale))
    c = y.zero * 65536 + 32768 - a * x0.zero - b * x1.zero
    if 128 * (abs(a) + abs(b)) + abs(c) >= LIMIT:
        raise overflow(max(abs(a), abs(b)) / 65536)
    return NodeSpec("qadd", {"a": a, "b": b, "c": c, "lo": limits[0], "hi": limits[1]})


def make_qmul(x0: Affine, x1: Affine, y: Affine, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 * x1."""
    x0, x1, y = Affine(*x0), Affine(*x1), Affine(*y)
    t = terms((x0.scale * x1.scale / y.scale,), (255 * 255,), y.zero)
    zeros = {"z0": int(x0.zero), "z1": int(x1.zero)}
    numbers = {"a": t.factors[0], "c": t.offset, "shift": t.shift, "lo": limits[0], "hi": limits[1]}
    return NodeSpec("qmul", zeros | numbers)
