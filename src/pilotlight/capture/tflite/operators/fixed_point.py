"""Functions of fixed-point numbers as gemmlowp computes them, with which TFLM makes sigmoid and tanh.

A number with n integer bits is raw / 2^(31 - n). Products are doubled high products, rounded half up.
"""

from __future__ import annotations

import numpy as np

from pilotlight.fixed import rdbpot, srdhm

Raw = np.ndarray  # int64 that fits int32
_MOST, _LEAST = 2**31 - 1, -(2**31)
_EXP_EIGHTH, _THIRD = 1895147668, 715827883  # exp(-1/8) and 1/3, no integer bits
_EXP_STEPS = ((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401), (4, 242))
_48_17, _NEG_32_17, _ONE_2 = 1515870810, -1010580540, 1 << 29  # two integer bits


def _left(x: Raw, by: int) -> Raw:
    return np.clip(x << by, _LEAST, _MOST)


def exp_of_negative(x: Raw, integer_bits: int) -> Raw:
    """exp(x) with no integer bits, x <= 0."""
    fraction = 31 - integer_bits
    quarter = 1 << (fraction - 2)
    part = (x & (quarter - 1)) - quarter
    y = _exp_near_zero(_left(part, integer_bits))
    rest = part - x
    for exponent, factor in _EXP_STEPS:
        if integer_bits > exponent:
            y = np.where(rest & (1 << (fraction + exponent)), srdhm(y, factor), y)
    return np.where(x == 0, _MOST, y)


def _exp_near_zero(x: Raw) -> Raw:
    """For -1/4 <= x < 0, by a polynomial around -1/8."""
    x1 = x + (1 << 28)
    x2 = srdhm(x1, x1)
    x3, x4 = srdhm(x2, x1), srdhm(x2, x2)
    tail = rdbpot(srdhm(rdbpot(x4, 2) + x3, _THIRD) + x2, 1)
    return _EXP_EIGHTH + srdhm(x1 + tail, _EXP_EIGHTH)


def _reciprocal(x: Raw) -> tuple[Raw, Raw]:
    """2 / (1 + x) for x in 0 to 1, two integer bits, by three steps of Newton."""
    total = x + _MOST
    half = (total + 1) >> 1
    y = _48_17 + srdhm(half, _NEG_32_17)
    for _ in range(3):
        y = y + _left(srdhm(y, _ONE_2 - srdhm(half, y)), 2)
    return y, half


def sigmoid(x: Raw, integer_bits: int = 4) -> Raw:
    """No integer bits."""
    y, _ = _reciprocal(exp_of_negative(-np.abs(x), integer_bits))
    positive = _left(y, 1)
    return np.where(x == 0, 1 << 30, np.where(x > 0, positive, _MOST - positive))


def tanh(x: Raw, integer_bits: int = 4) -> Raw:
    """No integer bits."""
    y, _ = _reciprocal(exp_of_negative(-np.abs(x), integer_bits + 1))
    positive = _left(y - _ONE_2, 2)
    return np.where(x == 0, 0, np.where(x > 0, positive, -positive))
