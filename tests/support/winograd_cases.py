"""Random 3x3 layers of stride 1 for the kernels in Winograd's form, each with both ends of the zero points."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace

import numpy as np

from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.dsp import winograd
from pilotlight.kernels.dsp.dense_s8 import finish_of
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.pack_f32 import Conv2dShape
from support import dense_s8_cases as dense
from support.families import Family


class Winograd:
    """As a family of its own: chosen whether it pays or not."""

    def plan(self, layer: Int8Layer) -> Candidate:
        return winograd.stored(layer, finish_of(layer))


class Unfolded:
    """The same with weights that come into that form on the board, for one, two or all rows of tiles at a time."""

    def plan(self, layer: Int8Layer) -> Candidate:
        s = layer.shape
        tall = min((1, 2, 100)[(s.oc + s.ow) % 3], -(-s.oh // 2))
        return winograd.unfolded(layer, finish_of(layer), tall)


FAMILIES: dict[str, Family] = {"stored": Winograd(), "unfolded": Unfolded()}


def random_shape(seed: int) -> Conv2dShape:
    """Odd and even sizes, padding of each side apart, channels that fill one turn or several, any number of filters."""
    rng = np.random.default_rng([seed, 33])

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    pt, pl, pb, pr = (draw(0, 1) if seed % 5 else draw(0, 4) for _ in range(4))
    ih, iw = draw(max(1, 3 - pt - pb), 11), draw(max(1, 3 - pl - pr), 13)
    ic = (16, 4 * draw(1, 8), 4 * draw(1, 5), 4 * draw(1, 4))[seed % 4]
    oh, ow = ih + pt + pb - 2, iw + pl + pr - 2
    return Conv2dShape(1 + (seed % 7 == 0), ih, iw, ic, oh, ow, draw(4, 11), 3, 3, 1, 1, pt, pl)


def cases(count: int) -> list[tuple[Int8Layer, np.ndarray]]:
    """What weights, inputs and zero points are: `dense_s8_cases.random_layer`. Every sixth shifts its accumulators."""
    return [_shifted(seed, *dense.random_layer(seed, random_shape(seed))) for seed in range(count)]


def _shifted(seed: int, layer: Int8Layer, x: np.ndarray) -> tuple[Int8Layer, np.ndarray]:
    shift = seed % 4 + 1
    if seed % 6 != 4 or np.any(layer.largest << shift >= 2**31):
        return layer, x
    return replace(layer, shift=shift, m=layer.m >> shift), x


if __name__ == "__main__":
    library = ctypes.CDLL(sys.argv[1])
    for number, (a_layer, data) in enumerate(cases(int(sys.argv[3]))):
        kernel = FAMILIES[sys.argv[2]].plan(a_layer)
        for apart in {None, kernel.distance}:
            dense.run(library, f"case_{number}", kernel, a_layer, data, apart)
