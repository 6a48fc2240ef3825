"""int8 and int4 weights of float layers: how they are packed, and the numbers that their kernels need.

`linear_w8.h` and `linear_w4.h` walk rows outside and blocks of four outputs inside; what is left of the outputs
goes one by one. Everything here follows from that order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BLOCK = 4  # outputs side by side
WORD = 8  # int4 numbers in a word
CHUNK = 32  # inputs whose int4 products are summed in 32 bits
STEP_BITS = 16
INPUT_BITS = 23  # of an input beside int4 weights: 255 * 2^23 fits 32 bits
FLOAT = 4  # bytes

Int8 = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Grid:
    """How the inputs of an int4 layer are divided."""

    inputs: int
    group: int  # inputs that share a scale

    @property
    def width(self) -> int:
        """Inputs with the zeros behind them."""
        return -(-self.inputs // WORD) * WORD

    @property
    def chunk(self) -> int:
        return min(CHUNK, self.group)

    @property
    def groups(self) -> int:
        return -(-self.inputs // self.group)

    @property
    def chunks(self) -> int:
        return -(-self.width // self.chunk)

    @property
    def room(self) -> int:
        """Bits between the highest and the lowest exponent in use, such that no 64-bit sum overflows."""
        return max(0, min(14, 15 - (self.chunks - 1).bit_length()))

    @staticmethod
    def fits(group: int) -> bool:
        return group % CHUNK == 0 or group in (WORD, 2 * WORD)


def input_bits(q: Int8, grid: Grid) -> int:
    """How many bits an input may have, such that no 32-bit sum of a chunk overflows."""
    wide = np.zeros((len(q), grid.chunks * grid.chunk), np.int64)
    wide[:, : grid.inputs] = np.abs(q.astype(np.int64))
    most = int(wide.reshape(len(q), grid.chunks, grid.chunk).sum(axis=2).max(initial=0))
    return INPUT_BITS if most < 256 else INPUT_BITS - 1


def pack_w8(q: Int8) -> Int8:
    """(O, I) → blocks (I, 4), then the rest (rest, I), flat."""
    full = len(q) // BLOCK * BLOCK
    blocks = q[:full].reshape(-1, BLOCK, q.shape[1]).transpose(0, 2, 1)
    return np.concatenate([blocks.ravel(), q[full:].ravel()])


def pack_w4(q: Int8, grid: Grid) -> npt.NDArray[np.int32]:
    """(O, I) → words of eight: blocks (I / 2) of 2 inputs by 4 outputs, then the rest (rest, I / 8), flat."""
    wide = np.zeros((len(q), grid.width), np.int8)
    wide[:, : grid.inputs] = q
    numbers = pack_w8(wide).reshape(-1, WORD).astype(np.uint32) & 15
    words = (numbers << (4 * np.arange(WORD, dtype=np.uint32))).sum(axis=1, dtype=np.uint32)
    return words.view(np.int32)


def pack_steps(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
    """(O, groups) → blocks (groups, 4), then the rest (rest, groups), flat."""
    full = len(steps) // BLOCK * BLOCK
    blocks = steps[:full].reshape(-1, BLOCK, steps.shape[1]).transpose(0, 2, 1)
    return np.concatenate([blocks.ravel(), steps[full:].ravel()]).astype(np.uint16).view(np.int16)


def split_scales(scales: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None:
    """Scales (O, groups) as integers below 2^16 times a power of two for each output; None where they are others.

    A single group needs no common unit: any scale is then a step of 2^15 times a number.
    """
    if scales.shape[1] == 1:
        return np.full(scales.shape, 1 << (STEP_BITS - 1), np.int64), scales[:, 0] / (1 << (STEP_BITS - 1))
    _, exponent = np.frexp(scales.max(axis=1))
    unit = np.ldexp(1.0, exponent - STEP_BITS)
    steps = scales / unit[:, None]
    if np.any(steps != np.rint(steps)) or np.any(steps < 0) or np.any(steps >= 1 << STEP_BITS):
        return None
    return steps.astype(np.int64), unit


def forward_distance(rows: int, inputs: int, outputs: int) -> int:
    """The largest safe `out - in` in bytes: a row is read before its outputs are written."""
    size = rows * inputs
    gaps = [row * (inputs - outputs) for row in (1, rows - 1)] if rows > 1 else []
    return FLOAT * min([*gaps, size])


def reverse_distance(rows: int, inputs: int, outputs: int) -> int:
    """The smallest safe `out - in` in bytes when rows are walked from the last to the first."""
    gaps = [row * (inputs - outputs) for row in (1, rows - 1)] if rows > 1 else []
    return FLOAT * max([*gaps, -rows * outputs])
