"""int8 layers under TFLM's contract as fast kernels take them.

With r = rhmul(2·acc, q) and 1 <= e <= 22, where no number leaves 32 bits, the two roundings are

    y = clamp((r + ((2·zy + 1) << (e - 1)) - (acc < 0)) >> e)

What is subtracted for negative sums makes half round away from zero; where outputs below the zero point are clamped, it
can be left out. A filter whose output is the same for every input, as trained networks have with scales next to 0,
becomes one without weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilotlight.fixed import tflm_requantize
from pilotlight.kernels.layers.int8 import Array, Int8Layer

MOST = 22  # bits to the right


def twice(layer: Int8Layer) -> Int8Layer | None:
    """The layer with e - 1 in `shifts`, 2·zy + 1 in `zy` and a shift of 1; None where the form above does not hold."""
    assert layer.shifts is not None
    bounds = [
        tflm_requantize(acc, layer.m, layer.shifts, layer.zy, (layer.lo, layer.hi)).astype(np.int64)
        for acc in (layer.least, layer.most)
    ]
    wraps = layer.largest << np.maximum(layer.shifts.astype(np.int64), 0) >= 2**31
    fixed = (bounds[0] == bounds[1]) & ~wraps
    w = np.where(fixed.reshape(-1, 1, 1, 1), 0, layer.w).astype(layer.w.dtype)
    bias = np.where(fixed, 4 * (bounds[0] - layer.zy), layer.bias).astype(np.int32)
    q, e = np.where(fixed, 1 << 30, layer.m), np.where(fixed, 1, -layer.shifts.astype(np.int64))
    form = replace(
        layer, w=w, bias=bias, m=q.astype(np.int32), shifts=(e - 1).astype(np.int32), zy=2 * layer.zy + 1, shift=1
    )
    return None if np.any((e < 1) | (e > MOST)) or np.any(form.largest >= 1 << 30) else form


def nudged(layer: Int8Layer) -> bool:
    """Whether negative sums matter, of a layer that `twice` gave."""
    return 2 * layer.lo + 1 < layer.zy


def starts_fit(layer: Int8Layer) -> bool:
    """Whether below biases, or twice these, there is room for the bits to the right; rounded once, none is needed."""
    return layer.shifts is None or bool(np.all(np.abs(layer.bias.astype(np.int64)) < 2**22))


def starts(layer: Int8Layer) -> Array:
    """What sums start from; rounded twice, times 256, with the bits to the right less one in the lowest byte."""
    bias = layer.bias.astype("<i4")
    return bias if layer.shifts is None else bias * 256 + layer.shifts.astype("<i4")
