"""The integer arithmetic that every target shares, in numpy. A graph has one of two contracts (`Graph.numerics`).

`pilotlight`, of models that are quantized here, rounds once:

    rhmul(a, b) = (int64(a) * b + 2^31) >> 32
    y = clamp(zero_point + rhmul(acc << k, M))        M = rint(scale * 2^(32-k)), one k per layer

16-bit activations have zero point 0. Where their accumulator is not proven to fit 32 bits it has 64, and a rounded
right shift comes first:

    y = clamp(zero_point + rhmul((acc + 2^(p-1)) >> p, M))        M = rint(scale * 2^(32+p)), one p per layer

One rounded high multiply is an instruction of its own on Cortex-M with DSP (SMMULR, SMMLAR) and Helium (VRMULH), one
64-bit multiply elsewhere.

`tflm`, of quantized TFLite files and of models that are quantized here with `numerics="tflm"`, gives the bytes of
TensorFlow Lite for Microcontrollers, which rounds twice. Its scales are float32.

    srdhm(a, q) = (int64(a) * q + 2^30) >> 31                       half up
    rdbpot(a, e) = a / 2^e                                          half away from zero
    y = clamp(zero_point + rdbpot(srdhm(acc << left, q), right))    scale = q * 2^(left-right-31), per channel

Sums of 16-bit activations that have 64 bits are rounded once, with the upper half of the multiplier:

    y = clamp((acc * reduced(q) + 2^(14-shift)) >> (15-shift))

In both contracts the C, the assembly and this file give the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pilotlight.errors import PilotlightError

INT8 = (-128, 127)
INT16 = (-32768, 32767)
PILOTLIGHT, TFLM = "pilotlight", "tflm"  # the contracts


def rhmul(a: np.ndarray, b: np.ndarray | int) -> np.ndarray:
    """The upper 32 bits of a 64-bit product, rounded."""
    return (a.astype(np.int64) * np.asarray(b, np.int64) + (1 << 31)) >> 32


@dataclass(frozen=True)
class Multiplier:
    """Real factors as integers: `value` (per channel, or one), and the shift of the accumulator, left or right."""

    value: np.ndarray  # int32
    shift: int
    down: int = 0


def multiplier(scale: np.ndarray | float) -> Multiplier:
    """The smallest shift k >= 0 with every rint(scale * 2^(32-k)) below 2^31."""
    factors = np.atleast_1d(np.asarray(scale, np.float64))
    shift = 0
    while np.any(np.rint(factors * 2.0 ** (32 - shift)) >= 2**31):
        shift += 1
    return Multiplier(np.rint(factors * 2.0 ** (32 - shift)).astype(np.int32), shift)


def wide_multiplier(scale: np.ndarray | float, largest: np.ndarray | int) -> Multiplier:
    """The multiplier for accumulators up to `largest` per channel: as above where 32 bits hold them, else with the
    smallest right shift that makes them fit."""
    m, top = multiplier(scale), int(np.max(largest))
    if top << m.shift < 2**31:
        return m
    down = 0
    while (top + ((1 << down) >> 1)) >> down >= 2**31:
        down += 1
    factors = np.rint(np.atleast_1d(np.asarray(scale, np.float64)) * 2.0 ** (32 + down))
    if np.any(factors >= 2**31):
        channel = int(np.argmax(factors))
        raise PilotlightError(
            f"the result of output channel {channel} can reach {top * float(np.max(scale)):.3g} steps of its scale, "
            "beyond 2^30",
            hint="give this layer a larger output range in calibration, or keep it in float",
            kind="overflow",
        )
    return Multiplier(factors.astype(np.int32), 0, down)


def requantize(
    acc: np.ndarray, m: Multiplier, zero_point: int, limits: tuple[int, int] = INT8, dtype: type = np.int8
) -> np.ndarray:
    """Accumulators (last axis: channels) as the next layer's integers."""
    shifted = ((acc.astype(np.int64) + ((1 << m.down) >> 1)) >> m.down) << m.shift
    scaled = rhmul(shifted, m.value)
    return np.clip(scaled + zero_point, *limits).astype(dtype)


def tflm_multiplier(scale: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Real factors as TFLM has them: q int32 and the shift int32 of each, positive to the left.

    It is `QuantizeMultiplier`: q = round(f * 2^31) with the factor f * 2^shift, half away from zero; a factor below
    2^-32 is 0."""
    fraction, shift = np.frexp(np.atleast_1d(np.asarray(scale, np.float64)))
    scaled = fraction * 2.0**31
    q = (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(np.int64)
    over = q == 1 << 31
    q, shift = np.where(over, q >> 1, q), shift.astype(np.int64) + over
    dead = shift < -31
    return np.where(dead, 0, q).astype(np.int32), np.where(dead, 0, shift).astype(np.int32)


def srdhm(a: np.ndarray, q: np.ndarray | int) -> np.ndarray:
    """TFLM's SaturatingRoundingDoublingHighMul for q that is not the least of int32."""
    return (a.astype(np.int64) * np.asarray(q, np.int64) + (1 << 30)) >> 31


def rdbpot(a: np.ndarray, exponent: np.ndarray | int) -> np.ndarray:
    """TFLM's RoundingDivideByPOT."""
    mask = (np.int64(1) << np.asarray(exponent, np.int64)) - 1
    return (a >> np.asarray(exponent, np.int64)) + ((a & mask) > (mask >> 1) + (a < 0))


def int32(a: np.ndarray) -> np.ndarray:
    """The lower 32 bits as a signed number: what is left of a sum or shift that is too large."""
    return ((a + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def tflm_scaled(acc: np.ndarray, q: np.ndarray | int, shift: np.ndarray | int) -> np.ndarray:
    """TFLM's MultiplyByQuantizedMultiplier: acc * q * 2^(shift-31), rounded twice."""
    s = np.asarray(shift, np.int64)
    return rdbpot(srdhm(int32(acc.astype(np.int64) << np.maximum(s, 0)), q), np.maximum(-s, 0))


def tflm_reduced(q: np.ndarray) -> np.ndarray:
    """TFLM's multipliers of 64-bit sums: 16 bits, without a sign."""
    return np.where(q < 0x7FFF0000, (q.astype(np.int64) + (1 << 15)) >> 16, 0x7FFF).astype(np.int32)


def tflm_scaled_wide(acc: np.ndarray, reduced: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """TFLM's MultiplyByQuantizedMultiplier of 64 bits: acc * reduced * 2^(shift-15), rounded half up."""
    total = 15 - shift.astype(np.int64)
    return (acc * reduced.astype(np.int64) + (np.int64(1) << (total - 1))) >> total


def tflm_requantize(
    acc: np.ndarray, q: np.ndarray, shifts: np.ndarray, zero_point: int, limits: tuple[int, int] = INT8,
    dtype: type = np.int8,
) -> np.ndarray:
    """Accumulators (last axis: channels) as the next layer's integers under TFLM's contract."""
    return np.clip(int32(tflm_scaled(acc, q, shifts) + zero_point), *limits).astype(dtype)


def tflm_steps(number: float, scale: float) -> int:
    """How many steps of a scale a number is, as TFLM computes the limits of an activation: in float32, half away from
    zero."""
    ratio = float(np.float32(number) / np.float32(scale))
    return int(math.copysign(math.floor(abs(ratio) + 0.5), ratio))


def check_accumulator(weight: np.ndarray, bias: np.ndarray, shift: int, largest: int = 128) -> None:
    """Prove that no accumulator overflows: (Σ|w|·largest + |bias|)·2^k < 2^31 per output channel (first axis)."""
    taps = np.abs(weight.astype(np.int64)).reshape(len(weight), -1).sum(axis=1)
    total = taps * largest + np.abs(bias.astype(np.int64))
    if np.any(total << shift >= 2**31):
        channel = int(np.argmax(total))
        raise PilotlightError(
            f"the accumulator of output channel {channel} can reach {int(total[channel])} · 2^{shift}, beyond 2^31",
            hint="give this layer a larger output range in calibration, or keep it in float",
            kind="overflow",
        )


def weight_scale(weight: np.ndarray, bias: np.ndarray | None, input_scale: float) -> np.ndarray:
    """Symmetric int8 scale per output channel (first axis).

    A filter whose scale is so small that its bias would overflow gets a larger one, and so rounds to zero.
    """
    largest = np.abs(weight.astype(np.float64)).reshape(len(weight), -1).max(axis=1, initial=0.0)
    scale = np.maximum(largest / 127.0, 2.0**-40)
    if bias is not None:
        scale = np.maximum(scale, np.abs(bias.astype(np.float64)) / (input_scale * 2.0**30))
    return scale
