"""Random int8 layers under TFLM's contract: those of `dense_s8_cases` with TFLM's multipliers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilotlight import fixed
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.pack_f32 import Conv2dShape
from support import dense_s8_cases as dense


def tflm_layer(seed: int, shape: Conv2dShape | None = None, kind: int | None = None) -> tuple[Int8Layer, np.ndarray]:
    """A layer and an input. A third of the layers ends with a relu, most linear ones have one factor for all outputs;
    some filters have factors near one, above it or 0."""
    layer, x = dense.random_layer(seed, shape, kind)
    rng = np.random.default_rng(seed)
    scale = layer.m.astype(np.float64) * 2.0 ** (layer.shift - 32)
    if layer.shape.ih == layer.shape.iw == 1 and seed % 5:
        scale[:] = scale[0]
    if seed % 7 == 3 and seed % 5 != 1:
        scale[rng.integers(len(scale))] *= float(rng.choice([2.0**-40, 2.0**-9, 0.0, 60.0, 4000.0]))
    if seed % 9 == 4:  # ties
        scale = 2.0 ** np.rint(np.log2(np.maximum(scale, 2.0**-30)))
    m, shifts = fixed.tflm_multiplier(scale)
    zy, lo, hi = ((layer.zy, layer.lo, layer.hi), (-128, -128, 127), (int(rng.integers(-90, 90)), -128, 127))[seed % 3]
    return replace(layer, m=m, shift=0, zy=zy, lo=lo, hi=hi, shifts=shifts), x


def cases(count: int, first: int = 0) -> list[tuple[Int8Layer, np.ndarray]]:
    return [tflm_layer(seed) for seed in range(first, first + count)]


def every_kind(count: int) -> list[tuple[Int8Layer, np.ndarray]]:
    """As many of each kind of shape."""
    return [tflm_layer(seed, kind=kind) for kind in range(7) for seed in range(count)]
