"""An int8 layer as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pilotlight.kernels.candidate import Array
from pilotlight.kernels.pack_f32 import Conv2dShape


@dataclass(frozen=True, eq=False)
class Int8Layer:
    """y = clamp(zy + rhmul(acc << shift, m), lo, hi), acc = bias + Σ x·w over all taps, padded ones reading zx.

    With `shifts` the contract is TFLM's: y = clamp(zy + rdbpot(srdhm(acc << left, m), right)), see `pilotlight.fixed`.
    A linear layer is a 1x1 convolution over its rows: `pack_f32.Linear(n, i, o).as_conv2d()`.
    """

    shape: Conv2dShape
    w: Array  # int8 (O, KH, KW, I / groups)
    bias: Array  # int32 (O), the input's zero point folded in
    m: Array  # int32 (O), not negative
    zx: int = 0
    zy: int = 0
    shift: int = 0
    lo: int = -128
    hi: int = 127
    shifts: Array | None = None  # int32 (O), positive to the left

    @property
    def largest(self) -> Array:
        """Per filter, what the absolute value of an accumulator cannot pass."""
        taps = np.abs(self.w.astype(np.int64)).reshape(len(self.w), -1).sum(axis=1)
        return taps * 128 + np.abs(self.bias.astype(np.int64))

    @property
    def least(self) -> Array:
        """Per filter, the lowest accumulator of any input."""
        w = self.w.astype(np.int64).reshape(len(self.w), -1)
        return self.bias + np.where(w > 0, -128 * w, 127 * w).sum(axis=1)

    @property
    def most(self) -> Array:
        """Per filter, the highest."""
        w = self.w.astype(np.int64).reshape(len(self.w), -1)
        return self.bias + np.where(w > 0, 127 * w, -128 * w).sum(axis=1)
