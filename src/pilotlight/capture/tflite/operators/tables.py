"""Functions of one tensor: of 8-bit integers they are 256 bytes, computed here with TFLM's formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from pilotlight import fixed
from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import LIMITS, Site
from pilotlight.graph import INT8, INT16, Quant, Value
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.pointwise.gemmlowp import logistic as logistic_of
from pilotlight.ops.pointwise.gemmlowp import tanh as tanh_of
from pilotlight.ops.pointwise.table_int8 import CODES
from pilotlight.ops.pointwise.tflm_curve import make_tflm_curve

_INTEGERS = CODES.astype(np.int64)  # every int8, in the order of its byte


def table(site: Site, results: np.ndarray, called: str) -> Value:
    """y = results[byte of x], limited to int8."""
    bytes_ = np.clip(results, -128, 127).astype(np.int8)
    return site.b.node("qtable", [site.x(), site.b.constant(bytes_, hint=f"{called}_table")], called=called)


def _ratio(x: Quant, y: Quant) -> float:
    """x over y as float32, which TFLM then takes as float64."""
    return float(np.float32(x.scale) / np.float32(y.scale))


def rescaled(x: np.ndarray, factor: float) -> np.ndarray:
    q, shift = fixed.tflm_multiplier(factor)
    return fixed.tflm_scaled(x, q, shift)


def is_int8(site: Site) -> bool:
    return site.quantized == "INT8" and site.x().dtype == INT8


def is_int16(site: Site) -> bool:
    return site.quantized == "INT16" and site.x().dtype == INT16


def _refuse(site: Site) -> Exception:
    return site.refuse(f"{site.tensor()} to {site.result}")


def _pointwise(name: str, row: str) -> None:
    @operator(name)
    def function(site: Site) -> Value:
        if site.tensor().type != "FLOAT32":
            raise _refuse(site)
        return apply(site.b, row, site.x())


for _name, _row in (
    ("EXP", "exp"), ("LOG", "log"), ("SQRT", "sqrt"), ("SQUARE", "square"), ("SIN", "sin"), ("COS", "cos"),
    ("FLOOR", "floor"), ("CEIL", "ceil"), ("ROUND", "round"), ("NEG", "neg"),
):
    _pointwise(_name, _row)


def _saturating(site: Site, function: Callable[[np.ndarray], np.ndarray], shift: int, zero: int) -> np.ndarray:
    """Sigmoid or tanh: numbers beyond what four integer bits hold give the ends."""
    qx = site.quant(site.tensor())
    fraction, left = math.frexp(qx.scale * 2.0**27)
    factor = round(fraction * 2.0**31)
    radius = math.floor(15.0 * 2.0**27 / 2.0**left) if left >= 0 else 2**31
    x = _INTEGERS - qx.zero_point
    inside = np.clip(x, -radius + 1, radius - 1)
    y = fixed.rdbpot(function(fixed.tflm_scaled(inside, factor, left)), shift) + zero
    return np.where(x <= -radius, -128, np.where(x >= radius, 127, y))


def _curve(site: Site, called: str) -> Value:
    """Sigmoid or tanh of 16 bits, to units of 2^-15."""
    qx, qy = site.quants(0)
    if qx.zero_point or qy != Quant(2.0**-15, 0) or not 2.0**-40 < qx.scale <= 1:
        raise site.refuse(f"{site.tensor()} ({qx}) to {site.result} ({qy}); TFLM takes 0 and gives 2^-15")
    (y,) = make_tflm_curve(called, qx.scale).build(site.b, site.x())
    return y


@operator("LOGISTIC")
def logistic(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "sigmoid", site.x())
    if is_int16(site):
        return _curve(site, "sigmoid")
    if not is_int8(site) or site.quant(site.result).zero_point != -128:
        raise _refuse(site)
    return table(site, _saturating(site, partial(logistic_of, integer_bits=4), 23, -128), "sigmoid")


@operator("TANH")
def tanh(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "tanh", site.x())
    if is_int16(site):
        return _curve(site, "tanh")
    if not is_int8(site):
        raise _refuse(site)
    return table(site, _saturating(site, partial(tanh_of, integer_bits=4), 24, 0), "tanh")


@operator("RELU")
def relu(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "clamp_min", site.x(), 0.0)
    if site.quantized not in ("INT8", "INT16"):
        raise _refuse(site)
    qx, qy = site.quants(0)
    factor = _ratio(qx, qy)
    if is_int8(site):
        steps = rescaled(_INTEGERS - qx.zero_point, factor) + qy.zero_point
        return table(site, np.maximum(steps, qy.zero_point), "relu")
    y = compute(site.b, "add", scaled(site.b, compute(site.b, "sub", site.x(), qx.zero_point), factor), qy.zero_point)
    return clamped(site.b, y, (qy.zero_point, LIMITS["INT16"][1]), INT16)


@operator("RELU6")
def relu6(site: Site) -> Value:
    """Integers are limited, not rescaled: TFLM takes the scale of the result to be that of the input."""
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "clamp_max", apply(site.b, "clamp_min", site.x(), 0.0), 6.0)
    if site.quantized not in ("INT8", "INT16"):
        raise _refuse(site)
    qx = site.quant(site.tensor())
    low, high = LIMITS[site.quantized]
    six = qx.zero_point + math.floor(float(np.float32(6.0) / np.float32(qx.scale)) + 0.5)
    limits = (qx.zero_point, max(low, min(six, high)))
    if is_int8(site):
        return table(site, np.clip(_INTEGERS, *limits), "relu6")
    return clamped(site.b, compute(site.b, "add", site.x(), 0), limits, INT16)


@operator("RELU_N1_TO_1")
def relu1(site: Site) -> Value:
    if site.tensor().type != "FLOAT32":
        raise _refuse(site)
    return apply(site.b, "clamp_max", apply(site.b, "clamp_min", site.x(), -1.0), 1.0)


@operator("LEAKY_RELU", options="LeakyReluOptions")
def leaky_relu(site: Site) -> Value:
    alpha = np.float32(site.options.Alpha)
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "leaky_relu", site.x(), float(alpha))
    if not is_int8(site) and not is_int16(site):
        raise _refuse(site)
    qx, qy = site.quants(0)
    slope = float(np.float32(qx.scale) * alpha / np.float32(qy.scale))
    if is_int16(site):
        return _leaky_16(site, qx, qy, slope)
    x = _INTEGERS - qx.zero_point
    below = rescaled(x, abs(slope)) * (-1 if slope < 0 else 1)
    return table(site, np.where(x >= 0, rescaled(x, _ratio(qx, qy)), below) + qy.zero_point, "leaky_relu")


def _leaky_16(site: Site, qx: Quant, qy: Quant, slope: float) -> Value:
    b = site.b
    x = compute(b, "sub", site.x(), qx.zero_point)
    below = compute(b, "mul", scaled(b, x, abs(slope)), -1 if slope < 0 else 1)
    y = apply(b, "where", compute(b, "ge", x, 0), scaled(b, x, _ratio(qx, qy)), below)
    return clamped(b, compute(b, "add", y, qy.zero_point), LIMITS["INT16"], INT16)


@operator("ABS")
def absolute(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "abs", site.x())
    if not is_int8(site) and not is_int16(site):
        raise _refuse(site)
    qx, qy = site.quants(0)
    if is_int16(site):
        real = apply(site.b, "abs", compute(site.b, "sub", site.x(), qx.zero_point))
        steps = real if qx.scale == qy.scale else scaled(site.b, real, _ratio(qx, qy))
        return clamped(site.b, compute(site.b, "add", steps, qy.zero_point), LIMITS["INT16"], INT16)
    x = np.abs(_INTEGERS - qx.zero_point)
    y = x if qx.scale == qy.scale else rescaled(x, _ratio(qx, qy))
    return table(site, y + qy.zero_point, "abs")


def _transformed(site: Site, function: Callable[[np.ndarray], np.ndarray], called: str) -> Value:
    """TFLM's table of a float function: dequantize, compute in float32, round half away from zero."""
    qx, qy = site.quants(0)
    real = np.float32(qx.scale) * (_INTEGERS - qx.zero_point).astype(np.float32)
    steps = (function(real) * (np.float32(1) / np.float32(qy.scale))).astype(np.float64)
    rounded = np.sign(steps) * np.floor(np.abs(steps) + 0.5) + qy.zero_point
    return table(site, np.clip(rounded, -(2.0**31), 2.0**31 - 1).astype(np.int64), called)


@operator("ELU")
def elu(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        below = apply(site.b, "expm1", apply(site.b, "clamp_max", site.x(), 0.0))
        return apply(site.b, "where", apply(site.b, "lt", site.x(), 0.0), below, site.x())
    if not is_int8(site):
        raise _refuse(site)

    def function(x: np.ndarray) -> np.ndarray:
        return np.where(x < 0, np.exp(np.minimum(x, 0).astype(np.float64)).astype(np.float32) - np.float32(1), x)

    return _transformed(site, function, "elu")


def _high16(a: np.ndarray, b: int) -> np.ndarray:
    """The rounded doubled high product of 16-bit numbers."""
    return np.minimum((a * b + (1 << 14)) >> 15, 32767)


@operator("HARD_SWISH")
def hard_swish(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "hardswish", site.x())
    if not is_int8(site):
        raise _refuse(site)
    qx, qy = site.quants(0)
    fine = np.float32(1 / 128) * np.float32(qx.scale)

    def factor(real: np.float32) -> tuple[int, int]:
        q, exponent = (int(n[0]) for n in fixed.tflm_multiplier(float(real)))
        return (32767 if q >= 0x7FFF8000 else (q + (1 << 15)) >> 16), exponent

    (out, out_exponent), (slope, exponent) = factor(fine / np.float32(qy.scale)), factor(
        fine / (np.float32(3) / np.float32(32768)))
    if out_exponent > 0:
        raise site.refuse(f"the result's scale {qy.scale:g} is too fine for the input's {qx.scale:g}")
    x = (_INTEGERS - qx.zero_point) * 128
    gate = np.clip(x << max(exponent - 1, 0), -32768, 32767)
    gate = _high16(gate, slope)
    gate = np.clip(gate << 1, -32768, 32767) if exponent > 0 else fixed.rdbpot(gate, max(-exponent, 0))
    gate = (gate + (1 << 15)) >> 1
    product = gate * _high16(x, out)
    y = np.sign(product) * (np.abs(product) >> 15)
    return table(site, fixed.rdbpot(y, -out_exponent) + qy.zero_point, "hardswish")
