"""The functions of gemmlowp's fixed-point numbers that TFLM uses, on raw integers of 32 bits in numpy.

A number with n integer bits is a fraction of 2^(31-n).
"""

from __future__ import annotations

import numpy as np

from pilotlight.fixed import rdbpot, srdhm

LEAST, MOST = -(2**31), 2**31 - 1
# e^(-2^k) as a fraction of 2^31, for k = -2, -1, ...
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)


def times_power(x: np.ndarray, exponent: int) -> np.ndarray:
    """SaturatingRoundingMultiplyByPOT: x · 2^exponent."""
    return np.clip(x << exponent, LEAST, MOST) if exponent > 0 else rdbpot(x, -exponent)


def exp_on_quarter(a: np.ndarray) -> np.ndarray:
    """e^a for a fraction a from -1/4 to below 0: a polynomial around -1/8."""
    x = a + (1 << 28)
    x2 = srdhm(x, x)
    x3, x4 = srdhm(x2, x), srdhm(x2, x2)
    rest = times_power(srdhm(times_power(x4, -2) + x3, 715827883) + x2, -1)
    return 1895147668 + srdhm(np.full_like(a, 1895147668), x + rest)


def exp_on_negative(a: np.ndarray, integer_bits: int) -> np.ndarray:
    """e^a as a fraction, for a <= 0 with some integer bits."""
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    within = (a & (quarter - 1)) - quarter
    y = exp_on_quarter(times_power(within, integer_bits))
    rest = within - a
    for k, factor in zip(range(-2, 5), _POWERS, strict=True):
        if integer_bits > k:
            y = np.where(rest & (1 << (fraction_bits + k)), srdhm(y, factor), y)
    if integer_bits > 5:
        y = np.where(a < -(32 << fraction_bits), 0, y)
    return np.where(a == 0, MOST, y)


def one_over_one_plus(a: np.ndarray) -> np.ndarray:
    """1 / (1 + a) for a fraction a from 0 to 1."""
    half = (a + MOST + 1) >> 1
    x = 1515870810 + srdhm(half, -1010580540)
    for _ in range(3):
        x = x + times_power(srdhm(x, (1 << 29) - srdhm(half, x)), 2)
    return times_power(x, 1)


def one_minus_over_one_plus(a: np.ndarray) -> np.ndarray:
    """(1 - a) / (1 + a) for a fraction a from 0 to 1."""
    half = (a + MOST + 1) >> 1
    x = 1515870810 + srdhm(half, -1010580540)
    for _ in range(3):
        x = x + times_power(srdhm(x, (1 << 29) - srdhm(half, x)), 2)
    return times_power(x - (1 << 29), 2)


def logistic(a: np.ndarray, integer_bits: int) -> np.ndarray:
    """1 / (1 + e^-a) as a fraction."""
    y = one_over_one_plus(exp_on_negative(-np.abs(a), integer_bits))
    return np.where(a == 0, 1 << 30, np.where(a > 0, y, MOST - y))


def tanh(a: np.ndarray, integer_bits: int) -> np.ndarray:
    """The hyperbolic tangent as a fraction."""
    y = one_minus_over_one_plus(exp_on_negative(-np.abs(a), integer_bits + 1))  # with one bit more: -2 |a|
    return np.where(a == 0, 0, np.sign(a) * y)
