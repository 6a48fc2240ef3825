"""Discrete Fourier transforms of rows as data."""

from __future__ import annotations

from dataclasses import dataclass

from pilotlight.kernels.candidate import Array


@dataclass(frozen=True, eq=False)
class TransformLayer:
    """`batch` times `frames` rows of `n` points, each row transformed by itself and written one after another.

    kind   reads of a row                writes of a row
    fft    n complex points              n complex bins; the inverse if `inverse`
    rfft   n real points times `window`  the first `bins` complex bins: n // 2 + 1, or all n
    irfft  n // 2 + 1 complex bins       n real points

    Complex numbers are pairs of floats. The strides count floats of the input: frames may overlap. Results are
    multiplied by `scale`; imaginary parts of bins that a real row cannot have are ignored by irfft.
    """

    kind: str
    n: int
    bins: int
    batch: int = 1
    frames: int = 1
    x_batch: int = 0
    x_frame: int = 0
    x_point: int = 1
    inverse: bool = False
    scale: float = 1.0
    window: Array | None = None  # (n), of rfft

    @property
    def rows(self) -> int:
        return self.batch * self.frames
