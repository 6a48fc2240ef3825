"""A dense layer of int16 with int8 weights, as data."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight.fixed import Multiplier
from pilotlight.kernels.candidate import Array
from pilotlight.kernels.pack_f32 import Conv2dShape


@dataclass(frozen=True, eq=False)
class Int16Layer:
    """y = clamp(zy + rhmul(((acc + half) >> down) << shift, m), lo, hi), acc = bias + Σ x·w; padding reads 0."""

    shape: Conv2dShape
    w: Array  # int8 (O, KH, KW, I / groups)
    bias: Array  # int32 (O)
    m: Multiplier  # per channel
    zy: int
    lo: int
    hi: int
    narrow: bool  # the output is int8
