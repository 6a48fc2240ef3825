"""int8 layers under TFLM's contract as fast kernels take them.

With r = rhmul(2·acc, q) and 1 <= e <= 22, where no number leaves 32 bits, the two roundings are

    y = clamp((r + ((2·zy + 1) << (e - 1)) - (acc < 0)) >> e)

What is subtracted for negative sums makes half round away from zero; where outputs below the zero point are clamped, it
can be left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilotlight.fixed import srdhm
from pilotlight.kernels.layers.int8 import Array, Int8Layer

MOST = 22  # bits to the right


def twice(layer: Int8Layer) -> Int8Layer | None:
    """The layer with e - 1 in `shifts`, 2·zy + 1 in `zy` and a shift of 1; None where the form above does not hold."""
    assert layer.shifts is not None
    q, e, largest = layer.m.astype(np.int64), -layer.shifts.astype(np.int64), layer.largest
    small = srdhm(largest, q) + 1 < 1 << np.clip(e - 1, 0, 40)  # every output is the zero point
    q, e = np.where(small, 0, q), np.where(small | (q == 0), 1, e)
    if np.any((e < 1) | (e > MOST)) or np.any(largest >= 1 << 30):
        return None
    return replace(
        layer, m=q.astype(np.int32), shifts=(e - 1).astype(np.int32), zy=2 * layer.zy + 1, shift=1
    )


def nudged(layer: Int8Layer) -> bool:
    """Whether negative sums matter, of a layer that `twice` gave."""
    return 2 * layer.lo + 1 < layer.zy


def starts_fit(layer: Int8Layer) -> bool:
    """Whether there is room below the biases for the bits to the right; where it is rounded once, none are needed."""
    return layer.shifts is None or bool(np.all(np.abs(layer.bias.astype(np.int64)) < 2**23))


def starts(layer: Int8Layer) -> Array:
    """What sums start from; rounded twice, times 256, with the bits to the right less one in the lowest byte."""
    bias = layer.bias.astype("<i4")
    return bias if layer.shifts is None else bias * 256 + layer.shifts.astype("<i4")
