"""TFLM's integer arithmetic written with plain integer operators, which become one loop."""

from __future__ import annotations

import numpy as np

from pilotlight import fixed
from pilotlight.graph import INT16, INT64, DType, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.pointwise.float import apply

Number = int | np.ndarray | Value


def whole(b: Builder, number: Number) -> Value:
    """An int64: a value that is cast, or constants."""
    if isinstance(number, Value):
        return b.cast(number, INT64)
    return b.constant(np.asarray(number, np.int64), hint="integers")


def compute(b: Builder, op: str, left: Number, right: Number) -> Value:
    return apply(b, op, whole(b, left), whole(b, right))


def scaled(b: Builder, x: Number, factor: np.ndarray | float) -> Value:
    """`fixed.tflm_scaled` of a real factor, or of one for each index of the last axis."""
    q, shift = fixed.tflm_multiplier(factor)
    return scaled_by(b, x, q if q.size > 1 else int(q[0]), shift if shift.size > 1 else int(shift[0]))


def scaled_by(b: Builder, x: Number, q: np.ndarray | int, shift: np.ndarray | int) -> Value:
    """x * q * 2^(shift - 31), rounded twice as TFLM does."""
    left, right = np.maximum(shift, 0), np.maximum(-np.asarray(shift), 0)
    y = compute(b, "mul", x, 1 << left.astype(np.int64)) if left.any() else whole(b, x)
    y = compute(b, "right_shift", compute(b, "add", compute(b, "mul", y, q), 1 << 30), 31)
    return divided(b, y, right) if right.any() else y


def scaled_wide(b: Builder, x: Number, factor: float) -> Value:
    """`fixed.tflm_scaled_wide` of a real factor: sums of 64 bits, rounded once."""
    q, shift = fixed.tflm_multiplier(factor)
    total = 15 - int(shift[0])
    y = compute(b, "add", compute(b, "mul", x, int(fixed.tflm_reduced(q)[0])), 1 << (total - 1))
    return compute(b, "right_shift", y, total)


def divided(b: Builder, x: Value, exponent: np.ndarray | int) -> Value:
    """x / 2^exponent, half away from zero."""
    half = (1 << np.asarray(exponent, np.int64)) >> 1
    negative = compute(b, "right_shift", x, 63)
    if np.any(half == 0):
        negative = compute(b, "mul", negative, (half != 0).astype(np.int64))
    return compute(b, "right_shift", compute(b, "add", compute(b, "add", x, half), negative), exponent)


def clamped(b: Builder, x: Value, limits: tuple[int, int], dtype: DType) -> Value:
    """Limited, and narrowed to the type of a result."""
    low, high = limits
    return b.cast(compute(b, "minimum", compute(b, "maximum", x, low), high), dtype)


def shifted(b: Builder, x: Value, by: int, dtype: DType) -> Value:
    """8-bit integers in the other of the two types, int8 and uint8."""
    return b.cast(apply(b, "add", b.cast(x, INT16), b.scalar(by, INT16)), dtype)
