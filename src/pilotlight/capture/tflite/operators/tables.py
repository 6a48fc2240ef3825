"""Functions of one tensor: of 8-bit integers they are 256 bytes, computed here with TFLM's formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import LIMITS, Site
from pilotlight.graph import INT8, INT16, Quant, Value
from pilotlight.ops.pointwise import tflm_table
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.pointwise.tflm_curve import make_tflm_curve
from pilotlight.ops.pointwise.tflm_table import INTEGERS, rescaled


def table(site: Site, results: np.ndarray, called: str) -> Value:
    """y = results[byte of x], limited to int8."""
    (y,) = tflm_table.tflm_table(results, called).build(site.b, site.x())
    return y


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
    return table(site, tflm_table.sigmoids(site.quant(site.tensor())), "sigmoid")


@operator("TANH")
def tanh(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "tanh", site.x())
    if is_int16(site):
        return _curve(site, "tanh")
    if not is_int8(site):
        raise _refuse(site)
    return table(site, tflm_table.tangents(site.quant(site.tensor())), "tanh")


@operator("RELU")
def relu(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "clamp_min", site.x(), 0.0)
    if site.quantized not in ("INT8", "INT16"):
        raise _refuse(site)
    qx, qy = site.quants(0)
    factor = qx.scale / qy.scale
    if is_int8(site):
        steps = rescaled(INTEGERS - qx.zero_point, factor) + qy.zero_point
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
        return table(site, np.clip(INTEGERS, *limits), "relu6")
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
    if is_int16(site):
        return _leaky_16(site, qx, qy, qx.scale * float(alpha) / qy.scale)
    return table(site, tflm_table.leaky(qx, qy, float(alpha)), "leaky_relu")


def _leaky_16(site: Site, qx: Quant, qy: Quant, slope: float) -> Value:
    b = site.b
    x = compute(b, "sub", site.x(), qx.zero_point)
    below = compute(b, "mul", scaled(b, x, abs(slope)), -1 if slope < 0 else 1)
    y = apply(b, "where", compute(b, "ge", x, 0), scaled(b, x, qx.scale / qy.scale), below)
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
        steps = real if qx.scale == qy.scale else scaled(site.b, real, qx.scale / qy.scale)
        return clamped(site.b, compute(site.b, "add", steps, qy.zero_point), LIMITS["INT16"], INT16)
    return table(site, tflm_table.absolutes(qx, qy), "abs")


def _transformed(site: Site, function: Callable[[np.ndarray], np.ndarray], called: str) -> Value:
    """TFLM's table of a float function: dequantize, compute in float32, round half away from zero."""
    qx, qy = site.quants(0)
    real = np.float32(qx.scale) * (INTEGERS - qx.zero_point).astype(np.float32)
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


@operator("HARD_SWISH")
def hard_swish(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "hardswish", site.x())
    if not is_int8(site):
        raise _refuse(site)
    return table(site, tflm_table.hard_swishes(*site.quants(0)), "hardswish")
