"""int8 and int4 weights of float layers: how they are packed, and the numbers that their kernels need.

`linear_w8.h` and `linear_w4.h` walk rows in the outer loop and blocks of two or four outputs in the inner.
Everything here follows from that order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PAIR = 2  # inputs side by side in a word, and outputs of int8
QUAD = 4  # outputs of int4, and inputs in one turn of a kernel's loop
CHUNK = 32  # inputs whose int4 products are summed in 32 bits
STEP_BITS = 16
INPUT_BITS8 = 29
INPUT_BITS4 = 23  # 255 * 2^23 fits 32 bits
FLOAT = 4  # bytes

Int8 = npt.NDArray[np.int8]


def width(inputs: int) -> int:
    """The inputs and the zeros after them."""
    return -(-inputs // QUAD) * QUAD


@dataclass(frozen=True)
class Grid:
    """How the inputs of an int4 layer are divided."""

    inputs: int
    group: int  # inputs that share a scale

    @property
    def chunk(self) -> int:
        return min(CHUNK, self.group)

    @property
    def groups(self) -> int:
        return -(-self.inputs // self.group)

    @property
    def chunks(self) -> int:
        return -(-self.inputs // self.chunk)

    @property
    def room(self) -> int:
        """Bits between the highest and the lowest exponent in use, such that no 64-bit sum overflows."""
        return max(0, min(14, 15 - (self.chunks - 1).bit_length()))

    @staticmethod
    def fits(group: int) -> bool:
        return group > 0 and (group % CHUNK == 0 or (CHUNK % group == 0 and group % QUAD == 0))


def input_bits(q: Int8, grid: Grid) -> int:
    """How many bits an input may have, such that no 32-bit sum of a chunk overflows."""
    wide = np.zeros((len(q), grid.chunks * grid.chunk), np.int64)
    wide[:, : grid.inputs] = np.abs(q.astype(np.int64))
    most = int(wide.reshape(len(q), grid.chunks, grid.chunk).sum(axis=2).max(initial=0))
    return INPUT_BITS4 if most < 256 else INPUT_BITS4 - 1


def pack_w8(q: Int8) -> Int8:
    """(O, I) → (O / 2, I / 2) words of 2 inputs by 2 outputs, flat."""
    return _blocks(q, PAIR).ravel()


def pack_w4(q: Int8) -> npt.NDArray[np.int32]:
    """(O, I) → (O / 4, I / 2) words of 2 inputs by 4 outputs, flat; the first is the lowest."""
    numbers = _blocks(q, QUAD).reshape(-1, PAIR * QUAD).astype(np.uint32) & 15
    words = (numbers << (4 * np.arange(PAIR * QUAD, dtype=np.uint32))).sum(axis=1, dtype=np.uint32)
    return words.view(np.int32)


def _blocks(q: Int8, outputs: int) -> Int8:
    """(O, I) → (blocks, I, outputs) with zeros after both."""
    blocks = -(-len(q) // outputs)
    wide = np.zeros((blocks * outputs, width(q.shape[1])), np.int8)
    wide[: len(q), : q.shape[1]] = q
    return np.ascontiguousarray(wide.reshape(blocks, outputs, -1).transpose(0, 2, 1))


def pack_steps(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
    """(O, groups) → (O / 4, groups, 4), flat, zeros at the end."""
    blocks = -(-len(steps) // QUAD)
    wide = np.zeros((blocks * QUAD, steps.shape[1]), np.uint16)
    wide[: len(steps)] = steps
    return np.ascontiguousarray(wide.reshape(blocks, QUAD, -1).transpose(0, 2, 1)).ravel().view(np.int16)


def split_scales(scales: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None:
    """Scales (O, groups) as integers below 2^16 times a power of two for each output; None where that is not possible.

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
