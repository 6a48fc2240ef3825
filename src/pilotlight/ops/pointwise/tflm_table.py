"""Functions of one int8 tensor as TFLM computes them: what each of the 256 integers gives, in the order of its byte.

The results are whole numbers that are not limited yet; `tflm_table` makes the 256 bytes of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from pilotlight import fixed
from pilotlight.errors import PilotlightError
from pilotlight.fixed import INT8, TFLM
from pilotlight.graph import Node, Quant
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.gemmlowp import logistic, tanh
from pilotlight.ops.pointwise.table_int8 import CODES
from pilotlight.ops.spec import Limits, NodeSpec, quant_of

INTEGERS = CODES.astype(np.int64)
LOGISTIC, TANH = Quant(1 / 256, -128), Quant(1 / 128, 0)  # the scales that TFLM takes their results to have


def tflm_table(results: np.ndarray, called: str, limits: Limits = INT8) -> NodeSpec:
    """y = results[byte of x], limited."""
    return NodeSpec("qtable", {"called": called}, (np.clip(results, *limits).astype(np.int8),))


def rescaled(x: np.ndarray, factor: float) -> np.ndarray:
    q, shift = fixed.tflm_multiplier(factor)
    return fixed.tflm_scaled(x, q, shift)


def quantized(x: Quant, y: Quant) -> np.ndarray:
    """QUANTIZE: the same numbers in another scale."""
    return rescaled(INTEGERS - x.zero_point, x.scale / y.scale) + y.zero_point


def _saturating(x: Quant, function: Callable[[np.ndarray], np.ndarray], shift: int, zero: int) -> np.ndarray:
    """Numbers beyond what four integer bits hold give the ends."""
    fraction, left = math.frexp(x.scale * 2.0**27)
    factor = round(fraction * 2.0**31)
    radius = math.floor(15.0 * 2.0**27 / 2.0**left) if left >= 0 else 2**31
    d = INTEGERS - x.zero_point
    inside = np.clip(d, -radius + 1, radius - 1)
    y = fixed.rdbpot(function(fixed.tflm_scaled(inside, factor, left)), shift) + zero
    return np.where(d <= -radius, -128, np.where(d >= radius, 127, y))


def sigmoids(x: Quant) -> np.ndarray:
    """LOGISTIC, in the scale above."""
    return _saturating(x, partial(logistic, integer_bits=4), 23, -128)


def tangents(x: Quant) -> np.ndarray:
    """TANH, in the scale above."""
    return _saturating(x, partial(tanh, integer_bits=4), 24, 0)


def leaky(x: Quant, y: Quant, alpha: float) -> np.ndarray:
    """LEAKY_RELU."""
    slope = x.scale * float(np.float32(alpha)) / y.scale
    d = INTEGERS - x.zero_point
    below = rescaled(d, abs(slope)) * (-1 if slope < 0 else 1)
    return np.where(d >= 0, rescaled(d, x.scale / y.scale), below) + y.zero_point


def absolutes(x: Quant, y: Quant) -> np.ndarray:
    """ABS."""
    d = np.abs(INTEGERS - x.zero_point)
    return (d if x.scale == y.scale else rescaled(d, x.scale / y.scale)) + y.zero_point


def _high16(a: np.ndarray, b: int) -> np.ndarray:
    """The rounded doubled high product of 16-bit numbers."""
    return np.minimum((a * b + (1 << 14)) >> 15, 32767)


def _factor16(real: np.float32) -> tuple[int, int]:
    q, exponent = (int(n[0]) for n in fixed.tflm_multiplier(float(real)))
    return (32767 if q >= 0x7FFF8000 else (q + (1 << 15)) >> 16), exponent


def hard_swishes(x: Quant, y: Quant) -> np.ndarray:
    """HARD_SWISH."""
    fine = np.float32(1 / 128) * np.float32(x.scale)
    out, out_exponent = _factor16(fine / np.float32(y.scale))
    slope, exponent = _factor16(fine / (np.float32(3) / np.float32(32768)))
    if out_exponent > 0:
        raise PilotlightError(
            f"the result's scale {y.scale:g} is too fine for the input's {x.scale:g}", kind="unsupported")
    d = (INTEGERS - x.zero_point) * 128
    gate = np.clip(d << max(exponent - 1, 0), -32768, 32767)
    gate = _high16(gate, slope)
    gate = np.clip(gate << 1, -32768, 32767) if exponent > 0 else fixed.rdbpot(gate, max(-exponent, 0))
    gate = (gate + (1 << 15)) >> 1
    product = gate * _high16(d, out)
    steps = np.sign(product) * (np.abs(product) >> 15)
    return fixed.rdbpot(steps, -out_exponent) + y.zero_point


@form("sigmoid", "tanh", "leaky_relu", "hardswish", "abs", width=8, numerics=TFLM)
def function(q: Integer) -> list[Node] | None:
    """Each has an operator of its own in TFLM."""
    x, *constants = q.inputs
    name = q.node.op
    if not all_int8(q) or x.is_constant or any(v.data is None or v.elements != 1 for v in constants):
        return None
    given, y = quant_of(x), q.quant
    fixed_scale = {"sigmoid": LOGISTIC, "tanh": TANH}.get(name)
    if fixed_scale is not None and y != fixed_scale:
        return None
    if name == "leaky_relu":
        slope = constants[0].data
        assert slope is not None
        steps = leaky(given, y, float(slope.reshape(-1)[0]))
    elif fixed_scale is not None:
        steps = sigmoids(given) if name == "sigmoid" else tangents(given)
    else:
        steps = (hard_swishes if name == "hardswish" else absolutes)(given, y)
    return [q.build(tflm_table(steps, name, q.limits), x)]


@form("requantize", width=8, numerics=TFLM)
def requantize(q: Integer) -> list[Node] | None:
    """QUANTIZE; a clamp after it is one in the scale of the result."""
    x = q.inputs[0]
    return [q.build(tflm_table(quantized(quant_of(x), q.quant), "requantize", q.limits), x)] if all_int8(q) else None
