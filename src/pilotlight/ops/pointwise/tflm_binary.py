"""Sums, products and squared differences of two tensors of int8 or int16 that broadcast, as TFLM computes them.

tflm_add: y = clamp(zy + scaled(scaled((x0 - z0) << left, q0) ± scaled((x1 - z1) << left, q1), qy))
tflm_mul: y = clamp(zy + scaled((x0 - z0)(x1 - z1), qy))
tflm_squared_difference: y = clamp(zy + scaled((scaled((x0 - z0) << left, q0) - scaled((x1 - z1) << left, q1))², qy))
with `fixed.tflm_scaled`. tflm_sum: y = clamp((a·x0 + b·x1 + c) >> shift) takes the place of a tflm_add of int8 where it
gives the same for every pair of numbers, which is tried for all 65,536.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Fields, Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.fixed import TFLM, int32, tflm_multiplier, tflm_scaled
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import Result, register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.float import broadcast_shape
from pilotlight.ops.pointwise.int8 import Binary
from pilotlight.ops.spec import LIMIT, Limits, NodeSpec, narrow, quant_of, wide

OPERANDS = ("x0", "x1", "y")


@register
class TflmSum(Binary):
    """attrs: a, b, c, shift, lo, hi."""

    name = "tflm_sum"
    called = "add"
    kind = "tflm_sum"
    header = "q_tflm_sum"
    numbers = ("a", "b", "c", "shift", "lo", "hi")

    def group(self, node: Node) -> str:
        return "sub" if node.attrs["b"] < 0 else "add"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return narrow(linear_sum(node.attrs, *(wide(v) for v in args)))


class TflmBinary(Binary):
    """attrs: x0, x1, y: (zero point, multiplier, shift) of each; left (of the operands), sign (of the second), lo, hi.
    The result has the type of the inputs."""

    def infer(self, node: Node) -> Result:
        return [(node.inputs[0].dtype, broadcast_shape(node.inputs))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x0, x1 = (wide(v) for v in args)
        return narrow(self.computed(node.attrs, x0, x1), node.inputs[0].dtype.numpy.type)

    def computed(self, attrs: dict[str, Any], x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
        raise NotImplementedError(type(self).__name__)

    def emit(self, node: Node, c: Step) -> None:
        bits = 8 * node.output.dtype.size
        self.kernel(c, node, f"pl_q_{self.name}_s{bits}", f"q_tflm_runs_s{bits}")

    def table(self, node: Node, c: Step) -> str:
        a = node.attrs
        operands = {k: dict(zip(("z", "q", "shift"), a[k], strict=True)) for k in OPERANDS}
        fields: Fields = {**operands, **{k: a[k] for k in ("left", "sign", "lo", "hi")}}
        return c.table("pl_q_tflm_binary_t", self.called, fields)


@register
class TflmAdd(TflmBinary):
    """x0 + sign · x1."""

    name = "tflm_add"
    called = "add"

    def computed(self, attrs: dict[str, Any], x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
        return result(attrs, operand(attrs, "x0", x0) + attrs["sign"] * operand(attrs, "x1", x1))


@register
class TflmMul(TflmBinary):
    """x0 · x1."""

    name = "tflm_mul"
    called = "mul"

    def computed(self, attrs: dict[str, Any], x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
        return result(attrs, (x0 - attrs["x0"][0]) * (x1 - attrs["x1"][0]))


@register
class TflmSquaredDifference(TflmBinary):
    """(x0 - x1)²."""

    name = "tflm_squared_difference"
    called = "squared_difference"

    def computed(self, attrs: dict[str, Any], x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
        return result(attrs, int32((operand(attrs, "x0", x0) - operand(attrs, "x1", x1)) ** 2))


def operand(attrs: dict[str, Any], which: str, x: np.ndarray) -> np.ndarray:
    zero, q, shift = attrs[which]
    return tflm_scaled(int32((x - zero) << attrs["left"]), q, shift)


def result(attrs: dict[str, Any], v: np.ndarray) -> np.ndarray:
    zero, q, shift = attrs["y"]
    return np.clip(int32(tflm_scaled(v, q, shift) + zero), attrs["lo"], attrs["hi"])


def _attrs(
    zeros: tuple[int, int, int], factors: tuple[float, float, float], left: int, sign: int, limits: Limits
) -> dict[str, Any]:
    attrs: dict[str, Any] = {"left": left, "sign": sign, "lo": limits[0], "hi": limits[1]}
    for name, zero, factor in zip(OPERANDS, zeros, factors, strict=True):
        (q,), (shift,) = tflm_multiplier(factor)
        attrs[name] = (zero, int(q), int(shift))
    return attrs


def _zeros(*quants: Quant) -> tuple[int, int, int]:
    a, b, c = (q.zero_point for q in quants)
    return a, b, c


def tflm_add_attrs(
    x0: Quant, x1: Quant, y: Quant, limits: Limits = LIMITS, bits: int = 8, sign: int = 1
) -> tuple[dict[str, Any], tuple[float, float, float]]:
    """The attributes of a tflm_add, and the factors of x0, x1 and y. Scales are the file's, of 32 bits; factors have
    64."""
    left = 15 if bits == 16 else 20
    top = 2 * max(x0.scale, x1.scale)
    factors = (x0.scale / top, x1.scale / top, top / ((1 << left) * y.scale))
    return _attrs(_zeros(x0, x1, y), factors, left, sign, limits), factors


def make_tflm_add(
    x0: Quant, x1: Quant, y: Quant, limits: Limits = LIMITS, bits: int = 8, sign: int = 1
) -> NodeSpec:
    """y = x0 + sign · x1, integers of `bits` bits."""
    attrs, factors = tflm_add_attrs(x0, x1, y, limits, bits, sign)
    found = _fast_sum(attrs, factors) if bits == 8 else None
    return NodeSpec("tflm_add", attrs) if found is None else NodeSpec("tflm_sum", found)


def make_tflm_mul(x0: Quant, x1: Quant, y: Quant, limits: Limits = LIMITS) -> NodeSpec:
    """y = x0 · x1."""
    factors = (1.0, 1.0, x0.scale * x1.scale / y.scale)
    return NodeSpec("tflm_mul", _attrs(_zeros(x0, x1, y), factors, 0, 1, limits))


def make_tflm_squared_difference(
    x0: Quant, x1: Quant, y: Quant, limits: Limits = LIMITS, bits: int = 8
) -> NodeSpec:
    """y = (x0 - x1)²."""
    left = 0 if bits == 16 else 7
    top = 2 * max(x0.scale, x1.scale)
    below = float(np.float32(1 << (2 * left)) * np.float32(y.scale))
    factors = (x0.scale / top, x1.scale / top, top * top / below)
    return NodeSpec("tflm_squared_difference", _attrs(_zeros(x0, x1, y), factors, left, 1, limits))


def _fast_sum(attrs: dict[str, Any], factors: tuple[float, float, float]) -> dict[str, int] | None:
    """Factors of 32-bit sums as fine as they can be, moved a little until no pair of numbers makes a difference."""
    codes = np.arange(-128, 128)
    x0, x1 = codes[:, None], codes[None, :]
    want = TflmAdd().computed(attrs, x0, x1)
    zero0, zero1, zero = (attrs[k][0] for k in OPERANDS)
    for shift in range(24, 14, -1):
        unit = 2.0 ** (shift + attrs["left"]) * factors[2]
        a, b = round(factors[0] * unit), attrs["sign"] * round(factors[1] * unit)
        c = (zero << shift) + (1 << (shift - 1)) - a * zero0 - b * zero1
        if 128 * (abs(a) + abs(b)) + abs(c) + 2048 < LIMIT:
            break
    else:
        return None
    limits = {"lo": attrs["lo"], "hi": attrs["hi"]}
    few = (0, -1, 1, -2, 2)
    for da, db, dc in product(few, few, (0, -16, 16)):
        moved = {"a": a + da, "b": b + db, "c": c + dc - da * zero0 - db * zero1, "shift": shift, **limits}
        if np.array_equal(linear_sum(moved, x0, x1), want):
            return moved
    return None


def linear_sum(attrs: dict[str, Any], x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    """What tflm_sum gives."""
    return np.clip((attrs["a"] * x0 + attrs["b"] * x1 + attrs["c"]) >> attrs["shift"], attrs["lo"], attrs["hi"])


@form("add", "sub", "mul", width=8, numerics=TFLM)
def binary(q: Integer) -> list[Node] | None:
    """ADD, SUB and MUL; a constant is a tensor of int8 with a scale of its own."""
    if not all_int8(q):
        return None
    x0, x1 = (q.constant(v, 8) for v in q.inputs)
    quants = quant_of(x0), quant_of(x1), q.quant
    if q.node.op == "mul":
        spec = make_tflm_mul(*quants, q.limits)
    else:
        spec = make_tflm_add(*quants, q.limits, sign=1 if q.node.op == "add" else -1)
    return [q.build(spec, x0, x1)]
