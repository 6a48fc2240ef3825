"""How many bytes of scratch CMSIS-NN's functions need, by the instructions of the core: what its own functions
`*_get_buffer_size` say, which is known before anything is built.

The same files may be built for a computer, where the kernels are plain C, so it is never less than these need."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from pilotlight.boards import Board

BLOCK = 124  # channels that Helium's depthwise kernels take at a time


class Core(IntEnum):
    """Which kernels CMSIS-NN compiles."""

    PLAIN = 0
    DSP = 1
    HELIUM = 2

    @staticmethod
    def of(board: Board) -> Core:
        return Core.HELIUM if "mve" in board.isa else Core.DSP if "dsp" in board.isa else Core.PLAIN


@dataclass(frozen=True)
class Window:
    """What a convolution reads and writes: sizes are (rows, columns)."""

    batch: int
    size: tuple[int, int]
    channels: int
    out: tuple[int, int]
    filters: int
    depth: int  # channels that one filter reads
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]  # above, left
    dilation: tuple[int, int]

    @property
    def pointwise(self) -> bool:
        """Whether CMSIS-NN takes it for a convolution of 1 x 1."""
        return self.kernel == self.dilation == (1, 1) and self.pad == (0, 0) and self.channels == self.depth

    @property
    def row(self) -> bool:
        """Whether CMSIS-NN takes it for a convolution of 1 x N."""
        return self.size[0] == self.kernel[0] == self.dilation[1] == 1 and self.channels == self.depth and (
            self.stride[1] * self.channels % 4 == 0)

    @property
    def missing(self) -> int:
        """Columns that the windows of a row need beyond those of the image."""
        return (self.out[1] - 1) * self.stride[1] + self.kernel[1] - self.size[1]


def conv(core: Core, w: Window) -> int:
    if w.pointwise:
        return 0
    column = w.channels * w.kernel[0] * w.kernel[1]
    plain = 4 * _up(column, 4)
    if core != Core.HELIUM:
        return plain
    return max(plain, _row(w) if w.row else 4 * _up(column, 16))


def _row(w: Window) -> int:
    odd = w.missing % 2
    left, right = padded_columns(w)
    if left + right > w.out[1]:
        return 4 * _up(w.channels * w.kernel[1], 16)
    at_left = w.pad[1] * w.channels
    at_right = right * w.channels if odd else at_left
    return max(w.kernel[1] * w.channels + at_left, (w.kernel[1] - 1) * w.channels + at_right)


def padded_columns(w: Window) -> tuple[int, int]:
    """How many output columns Helium's kernel of 1 x N takes for those that read padding, at the left and right."""
    stride, pad = w.stride[1], w.pad[1]
    after = pad + w.missing % 2
    left, right = (max(1, (amount + stride - 1) // stride) if amount else 0 for amount in (pad, after))
    return left, right


def depthwise(core: Core, w: Window) -> int:
    if core == Core.PLAIN or w.channels != w.filters or w.batch != 1 or w.dilation != (1, 1):
        return 0
    if core == Core.HELIUM:
        return 4 * BLOCK * w.kernel[0] * w.kernel[1]
    if w.kernel == (3, 3) and max(w.pad) <= 1:
        return 0
    return 2 * w.channels * w.kernel[0] * w.kernel[1]


def avg_pool(core: Core, channels: int) -> int:
    return 4 * channels if core == Core.DSP else 0


def _up(count: int, step: int) -> int:
    return -(-count // step) * step
