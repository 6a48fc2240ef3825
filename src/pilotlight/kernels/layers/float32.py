"""A dense float layer as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pilotlight.kernels import pack_f32
from pilotlight.kernels.candidate import Array


@dataclass(frozen=True, eq=False)
class FloatLayer:
    """y = clamp(bias + Σ x·w, lo, hi) over all taps; padding reads 0."""

    shape: pack_f32.Shape
    w: Array  # (O, KH, KW, I / groups), or (O, I) of a linear layer
    bias: Array  # (O)
    lo: float = -math.inf
    hi: float = math.inf
