"""DIV and RSQRT: quotients and inverse roots of integers, as TFLM computes them."""

from __future__ import annotations

import math

import numpy as np

from pilotlight import fixed
from pilotlight.capture.tflite.operators.dense import limited
from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled_by
from pilotlight.capture.tflite.operators.rows import Whole, inverse_root
from pilotlight.capture.tflite.operators.tables import is_int8, is_int16, table
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import LIMITS, Site
from pilotlight.graph import INT8, INT16, INT32, INT64, Graph, Quant, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.index.float import take
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.pointwise.gemmlowp import one_over_one_plus
from pilotlight.ops.pointwise.table_int8 import CODES

_FINE = 20  # bits of fraction of an inverse root
_OF_ZERO = -1515870788  # the "reciprocal" of 0
_LARGEST = 255  # of an int8 without its zero point


@operator("DIV", options="DivOptions")
def div(site: Site) -> Value:
    kinds = (site.tensor(0).type, site.tensor(1).type, site.result.type)
    if kinds == ("FLOAT32",) * 3:
        return limited(site, apply(site.b, "div", site.x(0), site.x(1)))
    if kinds == ("INT32",) * 3:
        return _whole_quotient(site)
    if {site.x(0).dtype, site.x(1).dtype} != {INT8} or site.quantized != "INT8":
        raise site.refuse(f"{site.tensor(0)} by {site.tensor(1)}; TFLM divides float32, int32 and int8")
    return _quotient(site)


def _whole_quotient(site: Site) -> Value:
    divisor = site.known(1)
    if divisor is None or not np.all(divisor):
        raise site.refuse(f"{site.tensor(0)} by {site.tensor(1)}, which may be 0; TFLM ends the program there")
    if site.options.FusedActivationFunction:
        raise site.refuse(f"a fused activation of {site.result}")
    return apply(site.b, "trunc_divide", site.x(0), site.b.cast(site.x(1), INT32))


def _values(site: Site, k: int, quant: Quant) -> np.ndarray:
    """What an operand can be without its zero point."""
    known = site.known(k)
    return (CODES if known is None else known).astype(np.int64).reshape(-1) - quant.zero_point


def _quotient(site: Site) -> Value:
    """Both operands by tables: the dividend shifted as far left as 32 bits hold, the divisor's reciprocal. The
    dividend takes the divisor's sign."""
    b = site.b
    q0, q1, qy = site.quants(0, 1)
    (q,), (up,) = fixed.tflm_multiplier(q0.scale / (q1.scale * qy.scale))
    dividends = np.arange(-_LARGEST, _LARGEST + 1)
    room = 31 - np.array([int(v if v >= 0 else ~v).bit_length() for v in dividends])
    divisors = CODES.astype(np.int64) - q1.zero_point
    inverse, over = _reciprocals(np.abs(divisors))
    _check_shifts(site, q0, q1, int(up), dividends, room, over)
    order = np.argsort(CODES)  # from -128 on
    place = compute(b, "add", site.x(1), 128)

    def by_divisor(numbers: np.ndarray) -> Whole:
        return Whole(b, take(b, b.constant(numbers[order], INT64, "divisors"), 0, place))

    signs = by_divisor(np.where(divisors < 0, -1, 1))
    signed = Whole(b, compute(b, "sub", site.x(0), q0.zero_point)) * signs + _LARGEST
    lifted, headroom = (
        Whole(b, take(b, b.constant(numbers, INT64, "dividends"), 0, signed.value))
        for numbers in (dividends << room, room)
    )
    quotient = lifted.times(by_divisor(inverse)).times(int(q))
    y = quotient.divided(headroom + by_divisor(over) - int(up))
    return clamped(b, (y + qy.zero_point).value, site.limits(), INT8)


def _reciprocals(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 / x as a fraction, and how many bits x has before the point. Of 0 TFLM's steps overflow and end at a
    negative number: a quotient by 0 has the sign that its dividend has not."""
    bits = np.array([int(v).bit_length() for v in x])
    inverse = one_over_one_plus((np.maximum(x, 1) << (32 - np.maximum(bits, 1))) - (1 << 31))
    return np.where(x == 0, _OF_ZERO, inverse), bits - 1


def _check_shifts(
    site: Site, q0: Quant, q1: Quant, up: int, dividends: np.ndarray, room: np.ndarray, over: np.ndarray
) -> None:
    """TFLM's last shift has to the right at most 31 bits, at least 0."""
    tops = {int(v): int(n) for v, n in zip(dividends, room, strict=True)}
    rooms = [tops[int(s * v)] for v in _values(site, 0, q0) for s in (1, -1)]
    found = over[np.isin(CODES, _values(site, 1, q1) + q1.zero_point)]
    least, most = min(rooms) + int(found.min()) - up, max(rooms) + int(found.max()) - up
    if least < 0 or most > 31:
        raise site.refuse(
            f"with these scales TFLM shifts by {most if most > 31 else least} bits, for which C has no rule",
            "give the result a finer scale" if most > 31 else "give the result a coarser scale",
        )


def _root(site: Site, b: Builder, x: Value, qx: Quant, qy: Quant) -> Value:
    """1 / sqrt(x): the largest number where x is 0; below 0 too, where TFLM stops with an error."""
    centred = Whole(b, compute(b, "sub", x, qx.zero_point))
    fraction, right = inverse_root(centred.at_least(1))
    data = (Whole(b, compute(b, "left_shift", 1, right.minus(_FINE).value))).times(fraction)
    (q,), (shift,) = fixed.tflm_multiplier(1.0 / (math.sqrt(qx.scale) * qy.scale))
    y = Whole(b, compute(b, "add", scaled_by(b, data.value, int(q), int(shift) - _FINE), qy.zero_point))
    low, high = LIMITS[site.quantized]
    limited_ = y.at_least(low).at_most(high)
    return b.cast(centred.exceeds(0).where(limited_, high).value, INT8 if high == 127 else INT16)


@operator("RSQRT")
def rsqrt(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return apply(site.b, "rsqrt", site.x())
    if not is_int8(site) and not is_int16(site):
        raise site.refuse(f"{site.tensor()} to {site.result}")
    qx, qy = site.quants(0)
    if is_int16(site):
        if qx.zero_point or qy.zero_point:
            raise site.refuse("16-bit tensors with a zero point")
        return _root(site, site.b, site.x(), qx, qy)
    b = Builder(Graph("table"))
    results = b.known(_root(site, b, b.constant(CODES.astype(np.int8), hint="codes"), qx, qy))
    assert results is not None
    return table(site, results, "rsqrt")
