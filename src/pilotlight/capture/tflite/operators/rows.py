"""Functions along the last axis whose TFLM formulas need roots and logarithms: written with integer operators.

`Whole` is an int64 tensor that is computed with as Python's integers are; each expression becomes part of one loop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pilotlight import fixed
from pilotlight.capture.tflite.operators.integers import compute, whole
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import Site
from pilotlight.graph import INT8, INT64, Quant, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.index.float import take
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.pointwise.gemmlowp import exp_on_negative
from pilotlight.ops.reduce.float import reduce

_MOST, _LEAST = 2**31 - 1, -(2**31)


@dataclass(frozen=True)
class Whole:
    """An int64 tensor."""

    b: Builder
    value: Value

    def _with(self, op: str, other: Whole | int) -> Whole:
        given = other.value if isinstance(other, Whole) else other
        return Whole(self.b, whole(self.b, compute(self.b, op, self.value, given)))

    def __add__(self, other: Whole | int) -> Whole:
        return self._with("add", other)

    def __sub__(self, other: Whole | int) -> Whole:
        return self._with("sub", other)

    def __mul__(self, other: Whole | int) -> Whole:
        return self._with("mul", other)

    def __rshift__(self, other: Whole | int) -> Whole:
        return self._with("right_shift", other)

    def __lshift__(self, other: Whole | int) -> Whole:
        return self._with("left_shift", other)

    def at_least(self, other: Whole | int) -> Whole:
        return self._with("maximum", other)

    def at_most(self, other: Whole | int) -> Whole:
        return self._with("minimum", other)

    def exceeds(self, other: Whole | int) -> Whole:
        """1 where it is larger, else 0."""
        return self._with("gt", other)

    def where(self, yes: Whole, no: Whole | int) -> Whole:
        """`yes` where this is not 0."""
        other = no.value if isinstance(no, Whole) else whole(self.b, no)
        return Whole(self.b, apply(self.b, "where", self.value, yes.value, other))

    def times(self, other: Whole | int) -> Whole:
        """The doubled high product, rounded half up."""
        return (self * other + (1 << 30)) >> 31

    def raised(self, by: Whole | int) -> Whole:
        """Shifted left, kept within 32 bits."""
        return (self << by).at_least(_LEAST).at_most(_MOST)

    def divided(self, exponent: Whole | int) -> Whole:
        """By a power of two, half away from zero."""
        if isinstance(exponent, int):
            return (self + ((1 << exponent) >> 1) + ((self >> 63) if exponent else 0)) >> exponent
        half = (Whole(self.b, whole(self.b, 1)) << exponent) >> 1
        return (self + half + (self >> 63) * exponent.exceeds(0)) >> exponent

    def bits(self) -> Whole:
        """How many bits a number from 0 to 2^31 has."""
        found = self.exceeds(0)
        for k in range(1, 32):
            found = found + self.exceeds((1 << k) - 1)
        return found

    def minus(self, number: int) -> Whole:
        """A number minus this."""
        return Whole(self.b, compute(self.b, "sub", number, self.value))


def _reciprocal(x: Whole) -> Whole:
    """1 / (1 + x) of fractions, as gemmlowp does."""
    half = (x + _MOST + 1) >> 1
    y = half.times(-1010580540) + 1515870810
    for _ in range(3):
        y = y + y.times(half.times(y).minus(1 << 29)).raised(2)
    return y.raised(1)


def inverse_root(x: Whole) -> tuple[Whole, Whole]:
    """1 / sqrt(x), x < 2^29, as a fraction and a shift to the right."""
    pairs = ((x.bits().minus(31)) >> 1) - 1
    shift = pairs.minus(11)
    near = (x << (pairs * 2)) >> 1
    half = near.divided(1)
    y = Whole(x.b, whole(x.b, 1 << 28))
    for _ in range(5):
        cube = y.times(y).times(y).raised(6)
        y = (y.times((1 << 28) + (1 << 27)) - half.times(cube)).raised(3)
    root = y.times(1518500250) << shift.minus(0).at_least(0)
    small = x.exceeds(1)
    return small.where(root, _MOST), small.where(shift.at_least(0), 0)


def _logarithm(x: Whole) -> Whole:
    """log(x) with five integer bits of x with twelve, x >= 1."""
    quarter, root, root_root = 1 << 23, 1518500250, 1805811301
    head = x.bits().minus(32)
    first = x.raised(head - 1).times(root).raised(1)
    first_power = (head.minus(12) << 25) + quarter
    small_head = x.times(root).bits().minus(31)
    second = x.raised(small_head)
    second_power = (small_head.minus(12) << 25) - quarter
    r, power = first.at_most(second), first_power.at_least(second_power)
    p = (r + root_root + 1) >> 1
    q = (r - root_root) * 2
    square = q.times(q)
    above = q.times(r) + q.times(square).times(117049297)
    below = p.times(q + 1057819769 + square.times(127690142)) + q.times(638450708)
    return (power.times(1488522236) + above.divided(6).times(_reciprocal(below))).raised(1)


def _rows(site: Site) -> Value:
    """The only input, whose result looks like it."""
    if site.x().dtype != INT8 or site.quantized != "INT8":
        raise site.refuse(f"{site.tensor()} to {site.result}")
    return site.x()


@operator("L2_NORMALIZATION", options="L2NormOptions")
def l2_normalization(site: Site) -> Value:
    b, x = site.b, site.x()
    axis = len(x.shape) - 1
    if site.options.FusedActivationFunction:
        raise site.refuse("a fused activation")
    if site.tensor().type == "FLOAT32":
        squares = reduce(b, "sum", apply(b, "square", x), (axis,))
        norm = apply(b, "maximum", apply(b, "sqrt", squares), b.constant(np.float32(1e-6), hint="epsilon"))
        return apply(b, "div", x, norm)
    zero = site.quant(site.tensor()).zero_point
    if _rows(site).shape[axis] > 8192 or site.quant(site.result) != Quant(1 / 128, 0):
        raise site.refuse(f"{site.tensor()} to {site.result} with the scale {site.quant(site.result)}")
    centred = Whole(b, compute(b, "sub", x, zero))
    total = Whole(b, reduce(b, "sum", (centred * centred).value, (axis,)))
    factor, right = inverse_root(total)
    shift = right.minus(7)
    y = (centred << shift.at_least(0)).times(factor).divided(shift.minus(0).at_least(0))
    return b.cast(y.at_least(-128).at_most(127).value, INT8)


@operator("LOG_SOFTMAX")
def log_softmax(site: Site) -> Value:
    b, x = site.b, site.x()
    axis = len(x.shape) - 1
    if site.tensor().type == "FLOAT32":
        return b.node("log_softmax", [x], axis=axis)
    if site.quant(site.result) != Quant(1 / 16, 127):
        raise site.refuse(f"{site.result} has the scale {site.quant(site.result)}; TFLM takes 1/16 from 127")
    q, left = (int(n[0]) for n in fixed.tflm_multiplier(
        min(site.quant(site.tensor()).scale * 2.0**26, 2.0**31 - 1)))
    radius = math.floor(31 * 2.0**26 / 2.0**left)
    distances = np.arange(256)
    steps = fixed.tflm_scaled(-distances, q, left)
    shares = np.where(distances <= radius, fixed.rdbpot(exp_on_negative(np.maximum(steps, _LEAST), 5), 12), 0)
    top = reduce(b, "amax", _rows(site), (axis,))
    below = Whole(b, compute(b, "sub", top, x))

    def looked_up(table: np.ndarray) -> Whole:
        return Whole(b, take(b, b.constant(table, INT64, "table"), 0, below.value))

    total = Whole(b, reduce(b, "sum", looked_up(shares).value, (axis,)))
    logarithm = _logarithm(total)
    back = tuple(int(n[0]) for n in fixed.tflm_multiplier(2.0 ** (31 - left) / q))
    reach = (logarithm + _LEAST).times(back[0]).divided(-back[1]).at_least(-radius - 1)
    y = ((looked_up(steps) - logarithm).divided(22) + 127).at_least(-128).at_most(127)
    inside = below.minus(0).exceeds(reach)
    return b.cast(inside.where(y, -128).value, INT8)
