"""A transposed convolution as data."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight.codegen.step import Fields
from pilotlight.kernels.candidate import Array
from pilotlight.kernels.pack_f32 import Conv2dShape


@dataclass(frozen=True, eq=False)
class TransposedLayer:
    """acc = bias + Σ (x - zx)·w over the taps that reach a pixel; integers then become y as `out` says, with `shifts`
    under TFLM's contract."""

    shape: Conv2dShape  # `top` and `left` are what is cut off at the start
    w: Array  # float (I, KH, KW, O / groups); int8 (O, KH, KW, I / groups)
    bias: Array  # (O)
    m: Array | None = None  # integers: multipliers (O)
    zx: int = 0
    out: Fields | None = None  # integers: a pl_requantize_t
    down: int | None = None  # int16: accumulators are shifted right by so many bits first
    shifts: Array | None = None  # TFLM's (O), positive to the left

    @property
    def macs(self) -> int:
        s = self.shape
        return s.n * s.ih * s.iw * s.ic * s.kh * s.kw * (s.oc // s.groups)
