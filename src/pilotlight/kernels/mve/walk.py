"""How far the output of a Helium driver may overlap its input.

A driver computes output rows in groups of pixels, and at each the outputs in blocks of channels. A block's inputs are
read before its outputs are stored; blocks always go up, groups of pixels and rows are reversed in a backward walk.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pilotlight.kernels.pack_f32 import Conv2dShape

Positions = npt.NDArray[np.int64]
NEVER = 1 << 40  # the position of a read that does not happen


class HeliumWalk:
    """The bytes that each step reads and writes, (image rows, groups of pixels, blocks), in forward order."""

    def __init__(self, s: Conv2dShape, pixels: int, inputs: int, outputs: int):
        """`pixels` of a row at a time; a block stores `outputs` channels and reads `inputs`."""
        self.input_size, self.output_size = s.n * s.ih * s.iw * s.ic, s.n * s.oh * s.ow * s.oc
        line, column = np.arange(s.n * s.oh), np.arange(0, s.ow, pixels)
        last = np.minimum(column + pixels, s.ow) - 1
        block = np.arange(-(-s.oc // outputs))
        top, left, right = line % s.oh * s.sh - s.top, column * s.sw - s.left, last * s.sw - s.left + (s.kw - 1) * s.dw
        bottom = top + (s.kh - 1) * s.dh
        nothing = ((bottom < 0) | (top >= s.ih))[:, None] | ((right < 0) | (left >= s.iw))[None, :]

        def reads(row: Positions, col: Positions, channel: Positions, none: int) -> Positions:
            """Windows clipped to the input; dilated ones may read less."""
            row, col = np.clip(row, 0, s.ih - 1) + line // s.oh * s.ih, np.clip(col, 0, s.iw - 1)
            pixel = row[:, None] * s.iw + col[None, :]
            return np.where(nothing[..., None], none, pixel[..., None] * s.ic + channel)

        def writes(col: Positions, channel: Positions) -> Positions:
            return (line[:, None] * s.ow + col[None, :])[..., None] * s.oc + channel

        self.read_from = reads(top, left, block * inputs, NEVER)
        self.read_to = reads(bottom, right, np.minimum((block + 1) * inputs, s.ic), -NEVER)
        self.written_from = writes(column, block * outputs)
        self.written_to = writes(last, np.minimum((block + 1) * outputs, s.oc))

    def distance(self, reverse: bool) -> int:
        """Forward the largest safe `output - input` in bytes, in reverse the smallest.

        Forward, what is written so far has to stay below what later steps read; in reverse above it. Where nothing
        is read later, any distance is safe; at the input's size the two are disjoint.
        """
        if not reverse:
            later = np.minimum.accumulate(self.read_from.ravel()[::-1])[::-1][1:]
            gap = (later - np.maximum.accumulate(self.written_to.ravel())[:-1]).min(initial=self.input_size)
            return int(min(gap, self.input_size))
        read, written = self.read_to[::-1, ::-1].ravel(), self.written_from[::-1, ::-1].ravel()
        later = np.maximum.accumulate(read[::-1])[::-1][1:]
        gap = (later - np.minimum.accumulate(written)[:-1]).max(initial=-self.output_size)
        return int(max(gap, -self.output_size))
