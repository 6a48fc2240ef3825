"""Kernels in plain C, for any core: conv_s8 and depthwise_s8; with TFLM's rounding conv_tflm_s8 and depthwise_tflm_s8.
The loops are the same, in conv.rounded.h.j2 and depthwise.rounded.h.j2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.layers.int8_table import columns, fields, pixels_at_once
from pilotlight.kernels.layers.sweep import called, pixel_counts, unlike
from pilotlight.kernels.layers.walk import Walk
from pilotlight.kernels.pack_f32 import Conv2dShape
from pilotlight.kernels.registry import offers

BLOCK = 4  # filters
PIXELS, LOW_SCRATCH_PIXELS = 6, 2  # in a patch: a multiple of what a core computes at once, two or three
CONV_RATE, ROW_RATE, DEPTHWISE_RATE = Rate(2.35, 38), Rate(2.5, 30), Rate(8.3, 5)
LOW_SCRATCH_RATE = Rate(2.6, 60)


@offers(Int8Layer, without={"dsp", "mve", "mul", "thumb1"})
def portable(layer: Int8Layer, target: Target) -> Iterator[Candidate]:
    """The usual kernel, and the same with the smallest patches."""
    layer = replace(layer, shape=layer.shape.flattened())
    if is_row(layer.shape):
        yield _row(layer)
        return
    make = _depthwise if layer.shape.depthwise else _conv
    usual = list(variants(make(layer, False), make(layer, True)))
    yield from usual
    if target.measured:
        tried = pixel_counts(layer.shape.ow)
        yield from unlike(usual, (called(make(layer, False, pixels), f"p{pixels}") for pixels in tried))


def variants(usual: Candidate, low: Candidate) -> Iterator[Candidate]:
    """Both, if the second needs less scratch memory or lets output and input overlap further."""
    yield usual
    if (low.scratch, low.distance, low.reverse) != (usual.scratch, usual.distance, usual.reverse):
        yield replace(low, name=f"{low.name}.low_scratch")


def _conv(layer: Int8Layer, low_scratch: bool, tried: int | None = None) -> Candidate:
    """`tried`: how many pixels share a patch, instead of what is usual."""
    s = layer.shape
    column = s.kh * s.ic // s.groups
    pixels = tried or (min(LOW_SCRATCH_PIXELS, s.ow) if low_scratch else pixels_at_once(s, PIXELS, column))
    walk = Walk(s, pixels, groups=s.groups)
    return Candidate(
        name="portable.conv",
        headers=(f"conv{_tflm(layer)}_s8",),
        ctype="pl_conv_s8_t",
        table=lambda reverse: fields(layer, pixels, reverse),
        driver=f"pl_conv{_tflm(layer)}_s8",
        pack=lambda: _constants(layer),
        scratch=round_up(columns(s, pixels) * column),
        distance=walk.distance(),
        reverse=walk.reverse(),
        instructions=(LOW_SCRATCH_RATE if low_scratch else CONV_RATE).conv(s),
    )


def _row(layer: Int8Layer) -> Candidate:
    """A single row of inputs is read where it lies: an output stored early would destroy it."""
    alone = layer.shape.oc <= BLOCK
    return Candidate(
        name="portable.row",
        headers=(f"conv{_tflm(layer)}_s8",),
        ctype="pl_conv_s8_t",
        table=lambda reverse: fields(layer, 1, reverse),
        driver=f"pl_row{_tflm(layer)}_s8",
        pack=lambda: _constants(layer),
        distance=layer.shape.ic if alone else None,
        instructions=ROW_RATE.conv(layer.shape),
    )


def _depthwise(layer: Int8Layer, low_scratch: bool, tried: int | None = None) -> Candidate:
    s = layer.shape
    pixels = tried or depthwise_pixels(s, low_scratch)
    width = (pixels - 1) * s.sw + (s.kw - 1) * s.dw + 1
    walk = Walk(s, pixels)
    return Candidate(
        name="portable.depthwise",
        headers=(f"depthwise{_tflm(layer)}_s8",),
        ctype="pl_conv_s8_t",
        table=lambda reverse: fields(layer, pixels, reverse),
        driver=f"pl_depthwise{_tflm(layer)}_s8",
        pack=lambda: (
            np.ascontiguousarray(layer.w[..., 0].transpose(1, 2, 0)).astype(np.int8),  # (KH, KW, C)
            *per_channel(layer),
        ),
        scratch=round_up(s.kh * width * s.ic),
        distance=walk.distance(),
        reverse=walk.reverse(),
        instructions=DEPTHWISE_RATE.conv(s),
    )


def _constants(layer: Int8Layer) -> tuple[Array, ...]:
    s = layer.shape
    per_group = s.oc // s.groups
    filled = -per_group % BLOCK
    w = layer.w.transpose(0, 2, 1, 3).reshape(s.groups, per_group, -1)  # K = (KW, KH, I / groups)
    w = np.pad(w, ((0, 0), (0, filled), (0, 0)))
    blocks = w.reshape(s.groups, -1, BLOCK, w.shape[2]).transpose(0, 1, 3, 2)
    return (
        np.ascontiguousarray(blocks).astype(np.int8).ravel(),
        *(np.pad(v.reshape(s.groups, -1), ((0, 0), (0, filled))).ravel() for v in per_channel(layer)),
    )


def per_channel(layer: Int8Layer) -> tuple[Array, ...]:
    """Bias, multipliers, and the shifts where TFLM's contract has them."""
    return tuple(v.astype(np.int32) for v in (layer.bias, layer.m, layer.shifts) if v is not None)


def _tflm(layer: Int8Layer) -> str:
    """What the names of kernels with TFLM's rounding have."""
    return "" if layer.shifts is None else "_tflm"


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
