"""ATen's transforms: any dimensions, one after another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from pilotlight.graph import FLOAT32, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import axis, lowers, unused
from pilotlight.ops.complex.base import Complex, complex_rule
from pilotlight.ops.fft.float import too_many_factors

_FREQUENCIES = {"fft_fftfreq.default": torch.fft.fftfreq, "fft_rfftfreq.default": torch.fft.rfftfreq}


def _frequencies(aten: str) -> None:
    @lowers(aten)
    def lower(b: Builder, n: int, d: float = 1.0, **rest: object) -> Value:
        unused(**rest)
        return b.constant(_FREQUENCIES[aten](n, d, dtype=b.results[0][0].torch), hint="frequencies")


for _name in _FREQUENCIES:
    _frequencies(_name)


NONE, ROOT, LENGTH = 0, 1, 2  # ATen's normalization


def _scale(b: Builder, normalization: int, lengths: Sequence[int]) -> float:
    """One factor for all dimensions."""
    for n in lengths:
        if too_many_factors(n):
            raise b.refuse(f"a transform of {n} points is not supported: it has too many prime factors")
    points = math.prod(lengths)
    return {NONE: 1.0, ROOT: points**-0.5, LENGTH: 1.0 / points}[normalization]


def _complex(b: Builder, x: Value, dim: int, inverse: bool, scale: float) -> Value:
    """One dimension of pairs."""
    rank = len(x.shape) - 1
    order = [*(d for d in range(rank) if d != dim), dim, rank]
    y = b.node("fft", [b.permute(x, order)], inverse=inverse, scale=scale)
    return b.permute(y, [order.index(d) for d in range(rank + 1)])


@complex_rule("_fft_c2c.default")
def c2c(b: Builder, self: Complex, dim: Sequence[int], normalization: int, forward: bool) -> Complex:
    rank = len(self.shape)
    dims = [axis(d, rank) for d in dim]
    scale = _scale(b, normalization, [self.shape[d] for d in dims])
    y = self.pair
    for number, d in enumerate(dims):
        y = _complex(b, y, d, not forward, scale if number == 0 else 1.0)
    return Complex(y)


@complex_rule("_fft_r2c.default")
def r2c(b: Builder, self: Value, dim: Sequence[int], normalization: int, onesided: bool) -> Complex:
    """The last of the dimensions is transformed first, as real numbers."""
    rank = len(self.shape)
    dims = [axis(d, rank) for d in dim]
    scale = _scale(b, normalization, [self.shape[d] for d in dims])
    last = dims[-1]
    order = [*(d for d in range(rank) if d != last), last]
    y = b.node("rfft", [b.permute(b.cast(self, FLOAT32), order)], full=not onesided, scale=scale)
    y = b.permute(y, [*(order.index(d) for d in range(rank)), rank])
    for d in dims[:-1]:
        y = _complex(b, y, d, False, 1.0)
    return Complex(y)


@complex_rule("_fft_c2r.default")
def c2r(b: Builder, self: Complex, dim: Sequence[int], normalization: int, last_dim_size: int) -> Value:
    """The last of the dimensions is transformed last, to real numbers."""
    rank = len(self.shape)
    dims = [axis(d, rank) for d in dim]
    scale = _scale(b, normalization, [*(self.shape[d] for d in dims[:-1]), last_dim_size])
    y = self.pair
    for d in dims[:-1]:
        y = _complex(b, y, d, True, 1.0)
    last = dims[-1]
    order = [*(d for d in range(rank) if d != last), last]
    y = b.node("irfft", [b.permute(y, [*order, rank])], n=last_dim_size, scale=scale)
    return b.permute(y, [order.index(d) for d in range(rank)])
