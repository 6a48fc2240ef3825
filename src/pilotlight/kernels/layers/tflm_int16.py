"""A dense layer of int16 with int8 weights under TFLM's contract, as data."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight.kernels.candidate import Array
from pilotlight.kernels.pack_f32 import Conv2dShape


@dataclass(frozen=True, eq=False)
class TflmInt16Layer:
    """acc = bias + Σ x·w, padding reads 0; y = clamp(acc times m and shifts), see `pilotlight.fixed`."""

    shape: Conv2dShape
    w: Array  # int8 (O, KH, KW, I / groups)
    bias: Array  # int64 (O)
    m: Array  # int32 (O); wide: reduced
    shifts: Array  # int32 (O), positive to the left
    wide: bool  # sums have 64 bits, else 32 and are rounded twice
    lo: int
    hi: int
