"""SOFTMAX, along the last axis."""

from __future__ import annotations

import numpy as np

from pilotlight.capture.tflite.operators.integers import compute, scaled
from pilotlight.capture.tflite.operators.rows import Whole
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import Site
from pilotlight.graph import INT8, INT16, INT64, Quant, Value
from pilotlight.ops.index.float import take
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.reduce.float import reduce
from pilotlight.ops.softmax.tflm import make_tflm_softmax

_RANGE = np.float32(65535)
_STEPS = 512


@operator("SOFTMAX", options="SoftmaxOptions")
def softmax(site: Site) -> Value:
    x, beta = site.x(), float(np.float32(site.options.Beta))
    axis = len(x.shape) - 1
    if site.tensor().type == "FLOAT32":
        sharp = x if beta == 1.0 else apply(site.b, "mul", x, beta)
        return site.b.node("softmax", [sharp], axis=axis)
    if x.dtype == INT16 and site.quantized == "INT16":
        return _of_16_bits(site, beta)
    if x.dtype != INT8 or site.quantized not in ("INT8", "INT16"):
        raise site.refuse(f"{site.tensor()} to {site.result}")
    bits = 8 if site.quantized == "INT8" else 16
    if site.quant(site.result) != Quant(2.0**-bits, -(1 << (bits - 1))):
        raise site.refuse(f"{site.result} has the scale {site.quant(site.result)}; TFLM takes 2^-{bits} from its least")
    (y,) = make_tflm_softmax(site.quant(site.tensor()), beta, axis, bits).build(site.b, x)
    return y


def _rounded(v: np.ndarray) -> np.ndarray:
    """Half away from zero, in float32."""
    return (np.sign(v) * np.floor(np.abs(v) + np.float32(0.5))).astype(np.float32)


def _exponential(x: np.ndarray) -> np.ndarray:
    return np.exp(x.astype(np.float64)).astype(np.float32)


def _one_over_one_plus(x: np.ndarray) -> np.ndarray:
    return np.float32(1) / (np.float32(1) + x)


def _table(exponential: bool) -> np.ndarray:
    """TFLM's table of 513 numbers with 15 bits of fraction: each moved towards the curve by half of what a line to the
    next is off in the middle. Computed in float32 as TFLM does."""
    function = _exponential if exponential else _one_over_one_plus
    scale, zero = (np.float32(10) / _RANGE, 32767) if exponential else (np.float32(1) / _RANGE, -32768)
    low, high = scale * np.float32(-32768 - zero), scale * np.float32(32767 - zero)
    out = np.float32(2) / _RANGE
    factor = np.float32(65536) / (out * np.float32(32767) - out * np.float32(-32768))
    step = (high - low) / np.float32(_STEPS)
    places = np.arange(_STEPS, dtype=np.float32)
    here, between, after = (
        function(low + places * step), function(low + places * step + step / np.float32(2)),
        function(low + (places + 1) * step),
    )
    sample = _rounded(here * factor)
    error = _rounded((after * factor + sample) / np.float32(2)) - _rounded(between * factor)
    last = _rounded(function(np.atleast_1d(high)) * factor)
    return np.clip(np.append(sample - _rounded(error / np.float32(2)), last), -32768, 32767).astype(np.int16)


def _looked_up(site: Site, x: Whole, exponential: bool) -> Whole:
    """A 16-bit number between two of the table."""
    b = site.b
    table = b.constant(_table(exponential), hint="exp_table" if exponential else "inverse_table")
    at = (x >> 7) + 256
    first, second = (
        Whole(b, b.cast(take(b, table, 0, place.value), INT64)) for place in (at, at + 1)
    )
    return first + (((second - first) * (x - ((x >> 7) << 7)) + 64) >> 7)


def _of_16_bits(site: Site, beta: float) -> Value:
    b, x = site.b, site.x()
    axis = len(x.shape) - 1
    qx, qy = site.quants(0)
    if qx.zero_point or qy.zero_point or abs(qy.scale * 32768 - 1) > 0.001:
        raise site.refuse(f"{site.tensor()} ({qx}) to {site.result} ({qy}); TFLM takes 0 and gives 2^-15")
    below = compute(b, "sub", x, reduce(b, "amax", x, (axis,)))
    steps = Whole(b, scaled(b, below, qx.scale * beta / (10.0 / 65535.0))) + 32767
    share = _looked_up(site, steps.at_least(-32768).at_most(32767), True)
    total = Whole(b, reduce(b, "sum", share.value, (axis,)))
    bits = total.bits()
    normal = ((total << bits.minus(31)) + (1 << 13)) >> 14
    inverse = _looked_up(site, (normal - (1 << 15) - (1 << 16)).at_least(-32768).at_most(32767), False)
    shift = bits - 1
    half = Whole(b, compute(b, "left_shift", 1, (shift - 1).value))
    y = ((share * inverse + half) >> shift).at_least(0).at_most(32767)
    return b.cast(y.value, INT16)
