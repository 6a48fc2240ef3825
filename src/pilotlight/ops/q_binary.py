"""Sums and products of two int8 tensors that broadcast.

qadd: y = clamp((a·x0 + b·x1 + c) >> shift); a = rint(s0/sy · 2^shift), b likewise, c holds the zero points and the
      half that rounds. Differences are sums with a negative b.
qmul: y = clamp(((x0 - z0)(x1 - z1)·a + c) >> shift); a = rint(s0·s1/sy · 2^shift).
Everything fits 32 bits: `shift` is the largest for which that is proven. The factors' rounding moves a result by
less than 2^-6 of a step, so it differs from float by at most one, where float lies next to a half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.emit import loops
from pilotlight.emit.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.pointwise import broadcast_shape, pointwise_overlaps
from pilotlight.ops.q_recipe import Affine, Limits, Recipe, narrow, terms, wide


class Binary(Op):
    """A loop over the output, with every number written into it."""

    def infer(self, node: Node) -> Result:
        return [(INT8, broadcast_shape(node.inputs))]

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return pointwise_overlaps(node)

    def loop(self, node: Node, c: Step, function: str, keys: tuple[str, ...]) -> None:
        numbers = ", ".join(str(node.attrs[k]) for k in keys)
        body = loops.Instruction(f"{function}({{0}}, {{1}}, {numbers})", (("in", 0), ("in", 1)), INT8, INT8)
        c.use("q_binary")
        loops.pointwise(c, node.output, [loops.broadcast(v, node.output.shape) for v in node.inputs], [body])


@register
class QAdd(Binary):
    """attrs: a, b, c, shift, lo, hi."""

    name = "qadd"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n, (x, y) = node.attrs, (wide(v) for v in args)
        return narrow(np.clip((n["a"] * x + n["b"] * y + n["c"]) >> n["shift"], n["lo"], n["hi"]))

    def emit(self, node: Node, c: Step) -> None:
        self.loop(node, c, "pl_q_add", ("a", "b", "c", "shift", "lo", "hi"))


@register
class QMul(Binary):
    """attrs: z0, z1, a, c, shift, lo, hi."""

    name = "qmul"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n, (x, y) = node.attrs, (wide(v) for v in args)
        product = (x - n["z0"]) * (y - n["z1"]) * n["a"]
        return narrow(np.clip((product + n["c"]) >> n["shift"], n["lo"], n["hi"]))

    def emit(self, node: Node, c: Step) -> None:
        self.loop(node, c, "pl_q_mul", ("z0", "z1", "a", "c", "shift", "lo", "hi"))


def make_qadd(x0: Affine, x1: Affine, y: Affine, alpha: float = 1.0, limits: Limits = LIMITS) -> Recipe:
    """y = x0 + alpha * x1."""
    x0, x1, y = Affine(*x0), Affine(*x1), Affine(*y)
    s0, s1 = x0.scale / y.scale, alpha * x1.scale / y.scale
    t = terms((s0, s1), (128 + abs(x0.zero), 128 + abs(x1.zero)), y.zero)
    a, b = t.factors
    c = t.offset - a * x0.zero - b * x1.zero
    return Recipe("qadd", {"a": a, "b": b, "c": c, "shift": t.shift, "lo": limits[0], "hi": limits[1]})


def make_qmul(x0: Affine, x1: Affine, y: Affine, limits: Limits = LIMITS) -> Recipe:
    """y = x0 * x1."""
    x0, x1, y = Affine(*x0), Affine(*x1), Affine(*y)
    t = terms((x0.scale * x1.scale / y.scale,), (255 * 255,), y.zero)
    zeros = {"z0": int(x0.zero), "z1": int(x1.zero)}
    numbers = {"a": t.factors[0], "c": t.offset, "shift": t.shift, "lo": limits[0], "hi": limits[1]}
    return Recipe("qmul", zeros | numbers)
