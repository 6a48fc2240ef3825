"""In which order a driver reads and writes, and how far output may therefore overlap input.

Output rows are computed in groups of pixels, each in groups of channels. A group's input is read before any of its
output is written.
"""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt

from pilotlight.kernels.pack_f32 import Conv2dShape

Positions = npt.NDArray[np.int64]
NEVER = 1 << 40  # the position of a read that does not happen


class Walk:
    """For every step, in forward order: the range of bytes it reads and the range it writes."""

    def __init__(self, s: Conv2dShape, pixels: int, rows: int = 1, groups: int = 1, mixed: bool = False):
        """`pixels` of `rows` output rows at a time, their channels in `groups`, of which each reads its own part
        of the input channels. `mixed`: a step still reads when it has begun to write."""
        self.groups, self.before = groups, 0 if mixed else 1
        self.input_size, self.output_size = s.n * s.ih * s.iw * s.ic, s.n * s.oh * s.ow * s.oc
        first, col = np.arange(0, s.oh, rows), np.arange(0, s.ow, pixels)
        last, end = np.minimum(first + rows, s.oh) - 1, np.minimum(col + pixels, s.ow) - 1
        top = np.maximum(0, first * s.sh - s.top)
        bottom = np.minimum(s.ih - 1, last * s.sh - s.top + (s.kh - 1) * s.dh)
        left = np.maximum(0, col * s.sw - s.left)
        right = np.minimum(s.iw - 1, end * s.sw - s.left + (s.kw - 1) * s.dw)
        image, part = np.arange(s.n)[:, None, None, None], np.arange(groups)
        inputs, outputs = s.ic // groups, s.oc // groups
        nothing = ((top > bottom)[:, None] | (left > right)[None, :])[None, :, :, None]

        def reads(row: Positions, column: Positions, channel: Positions, none: int) -> Positions:
            pixel = (image * s.ih + row[None, :, None, None]) * s.iw + column[None, None, :, None]
            return np.where(nothing, none, pixel * s.ic + channel).ravel()

        def writes(row: Positions, column: Positions, channel: Positions) -> Positions:
            pixel = (image * s.oh + row[None, :, None, None]) * s.ow + column[None, None, :, None]
            return (pixel * s.oc + channel).ravel()

        self.read_from = reads(top, left, part * inputs, NEVER)
        self.read_to = reads(bottom, right, (part + 1) * inputs, -NEVER)
        self.written_from = writes(first, col, part * outputs)
        self.written_to = writes(last, end, (part + 1) * outputs)

    def across_rows(self, pixels: int, images: int) -> Walk:
        """Of a walk over single pixels: as many at a time, also where a row ends."""
        other = copy.copy(self)
        size = len(self.read_from) // images
        starts = np.concatenate([np.arange(0, size, pixels) + image * size for image in range(images)])
        other.read_from = np.minimum.reduceat(self.read_from, starts)
        other.read_to = np.maximum.reduceat(self.read_to, starts)
        other.written_from = np.minimum.reduceat(self.written_from, starts)
        other.written_to = np.maximum.reduceat(self.written_to, starts)
        return other

    def scaled(self, input_bytes: int, output_bytes: int) -> Walk:
        """The same walk over elements of more than one byte."""
        other = copy.copy(self)
        other.input_size, other.output_size = self.input_size * input_bytes, self.output_size * output_bytes
        other.read_from, other.read_to = self.read_from * input_bytes, self.read_to * input_bytes
        other.written_from, other.written_to = self.written_from * output_bytes, self.written_to * output_bytes
        return other

    def distance(self) -> int:
        """The largest safe `output - input`: what is written so far stays below what later steps read."""
        later = np.minimum.accumulate(self.read_from[::-1])[::-1][self.before :]
        gap = (later - np.maximum.accumulate(self.written_to)[: len(later)]).min(initial=self.input_size)
        return int(min(gap, self.input_size))

    def reverse(self) -> int:
        """The smallest safe one when pixels are walked backward; the channels of a pixel keep their order."""
        read_to = self.read_to.reshape(-1, self.groups)[::-1].ravel()
        written = self.written_from.reshape(-1, self.groups)[::-1].ravel()
        later = np.maximum.accumulate(read_to[::-1])[::-1][self.before :]
        gap = (later - np.minimum.accumulate(written)[: len(later)]).max(initial=-self.output_size)
        return int(max(gap, -self.output_size))
