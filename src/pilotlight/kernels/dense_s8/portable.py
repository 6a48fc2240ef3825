"""Kernels in plain C, for any core: conv_s8.h and depthwise_s8.h."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilotlight.kernels.dense_s8.layer import Array, Kernel, Layer
from pilotlight.kernels.dense_s8.table import columns, fields, pixels_at_once
from pilotlight.kernels.dense_s8.walk import Walk
from pilotlight.kernels.pack_f32 import Conv2dShape

BLOCK = 4  # filters
PIXELS, LOW_SCRATCH_PIXELS = 6, 2  # in a patch: a multiple of what a core computes at once, two or three


class Portable:
    """The family that every target has; `low_scratch` uses the smallest patches."""

    def __init__(self, low_scratch: bool = False):
        self.low_scratch = low_scratch

    def plan(self, layer: Layer) -> Kernel:
        layer = replace(layer, shape=layer.shape.flattened())
        if layer.shape.depthwise:
            return self._depthwise(layer)
        if is_row(layer.shape):
            return self._row(layer)
        return self._conv(layer)

    def _conv(self, layer: Layer) -> Kernel:
        s = layer.shape
        column = s.kh * s.ic // s.groups
        pixels = min(LOW_SCRATCH_PIXELS, s.ow) if self.low_scratch else pixels_at_once(s, PIXELS, column)
        walk = Walk(s, pixels, groups=s.groups)
        return Kernel(
            header="conv_s8",
            ctype="pl_conv_s8_t",
            table=lambda reverse: fields(layer, pixels, reverse),
            driver="pl_conv_s8",
            constants=self._constants(layer),
            scratch=round_up(columns(s, pixels) * column),
            distance=walk.distance(),
            reverse=walk.reverse(),
        )

    def _row(self, layer: Layer) -> Kernel:
        """A single row of inputs is read where it lies: an output stored early would destroy it."""
        alone = layer.shape.oc <= BLOCK
        return Kernel(
            header="conv_s8",
            ctype="pl_conv_s8_t",
            table=lambda reverse: fields(layer, 1, reverse),
            driver="pl_row_s8",
            constants=self._constants(layer),
            scratch=0,
            distance=layer.shape.ic if alone else None,
            reverse=None,
        )

    def _depthwise(self, layer: Layer) -> Kernel:
        s = layer.shape
        pixels = depthwise_pixels(s, self.low_scratch)
        width = (pixels - 1) * s.sw + (s.kw - 1) * s.dw + 1
        walk = Walk(s, pixels)
        return Kernel(
            header="depthwise_s8",
            ctype="pl_conv_s8_t",
            table=lambda reverse: fields(layer, pixels, reverse),
            driver="pl_depthwise_s8",
            constants=(
                np.ascontiguousarray(layer.w[..., 0].transpose(1, 2, 0)).astype(np.int8),  # (KH, KW, C)
                layer.bias.astype(np.int32),
                layer.m.astype(np.int32),
            ),
            scratch=round_up(s.kh * width * s.ic),
            distance=walk.distance(),
            reverse=walk.reverse(),
        )

    def _constants(self, layer: Layer) -> tuple[Array, ...]:
        s = layer.shape
        per_group = s.oc // s.groups
        filled = -per_group % BLOCK
        w = layer.w.transpose(0, 2, 1, 3).reshape(s.groups, per_group, -1)  # K = (KW, KH, I / groups)
        w = np.pad(w, ((0, 0), (0, filled), (0, 0)))
        blocks = w.reshape(s.groups, -1, BLOCK, w.shape[2]).transpose(0, 1, 3, 2)
        bias, m = (np.pad(v.reshape(s.groups, per_group), ((0, 0), (0, filled))) for v in (layer.bias, layer.m))
        return (
            np.ascontiguousarray(blocks).astype(np.int8).ravel(),
            bias.astype(np.int32).ravel(),
            m.astype(np.int32).ravel(),
        )


def is_row(s: Conv2dShape) -> bool:
    """One row of a linear layer."""
    return s.flattened() == Conv2dShape(1, 1, 1, s.ic, 1, 1, s.oc, 1, 1)


def depthwise_pixels(s: Conv2dShape, low_scratch: bool = False) -> int:
    """As many pixels of a row as keep the patch small, all channels of the kernel's rows."""
    pixels = 1
    while pixels < s.ow and not low_scratch and s.kh * (pixels * s.sw + (s.kw - 1) * s.dw + 1) * s.ic <= 2048:
        pixels += 1
    return pixels


def round_up(size: int, to: int = 8) -> int:
    return -(-size // to) * to
