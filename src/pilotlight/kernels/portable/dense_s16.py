"""Convolution, depthwise convolution and linear layers of int16 with int8 weights: q_conv_s16.h, q_depthwise_s16.h.

One form for every core; with the DSP extension the inner loop multiplies pairs. Patches are those of int8, counted in
bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np

from pilotlight.codegen.step import Fields
from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers import Int16Layer
from pilotlight.kernels.layers.int8_table import column_step, columns, pixels_at_once
from pilotlight.kernels.layers.walk import Walk
from pilotlight.kernels.portable.dense_s8 import depthwise_pixels, is_row, round_up
from pilotlight.kernels.registry import offers

BLOCK = 2  # filters
PIXELS = 6  # in a patch: a multiple of what is computed at once, two
CHUNK = 512  # products of the largest weight and the largest activation whose sum 32 bits hold
ORDER = (0, 2, 1, 3)  # of the weights of four taps
DSP_RATES = {"conv": Rate(1.27, 47), "row": Rate(2.45, 55), "depthwise": Rate(9, 8)}
RATES = {"conv": Rate(2.4, 52), "row": Rate(4.65, 55), "depthwise": Rate(9, 8)}


@offers(Int16Layer)
def int16(layer: Int16Layer, target: Target) -> list[Candidate]:
    """The one kernel of a layer."""
    s = layer.shape.flattened()
    layer = replace(layer, shape=s)
    if s.depthwise and s.kh * s.kw <= CHUNK:
        pixels = depthwise_pixels(s)
        width = (pixels - 1) * s.sw + (s.kw - 1) * s.dw + 1
        weights = np.ascontiguousarray(layer.w[..., 0].transpose(1, 2, 0)).astype(np.int8)  # (KH, KW, C)
        constants: tuple[Array, ...] = (weights, layer.bias.astype(np.int32), layer.m.value.astype(np.int32))
        scratch = s.kh * width * s.ic * 2
        return [_kernel(layer, target, "depthwise", pixels, lambda: constants, scratch, Walk(s, pixels))]
    if is_row(s):
        return [_kernel(layer, target, "row", 1, lambda: pack(layer), 0, None)]
    column = s.kh * s.ic // s.groups * 2
    pixels = pixels_at_once(s, PIXELS, column)
    walk = Walk(s, pixels, groups=s.groups)
    return [_kernel(layer, target, "conv", pixels, lambda: pack(layer), columns(s, pixels) * column, walk)]


def _kernel(
    layer: Int16Layer, target: Target, kind: str, pixels: int, constants: Callable[[], tuple[Array, ...]], scratch: int,
    walk: Walk | None,
) -> Candidate:
    sizes = (2, 1 if layer.narrow else 2)
    return Candidate(
        name=f"portable.{kind}_s16",
        headers=(f"q_{'depthwise' if kind == 'depthwise' else 'conv'}_s16",),
        ctype="pl_conv_s16_t",
        table=lambda reverse: _table(layer, pixels, reverse),
        driver=f"pl_{kind}_s16",
        pack=constants,
        scratch=round_up(scratch),
        distance=None if walk is None else walk.scaled(*sizes).distance(),
        reverse=None if walk is None else walk.scaled(*sizes).reverse(),
        instructions=(DSP_RATES if "dsp" in target.isa else RATES)[kind].conv(layer.shape),
    )


def _table(layer: Int16Layer, pixels: int, reverse: bool) -> Fields:
    """A pl_conv_s16_t: channels of the input count as two bytes."""
    s, m = layer.shape, layer.m
    conv = asdict(s) | {
        "ic": 2 * s.ic, "icg": 2 * s.ic // s.groups, "ocg": s.oc // s.groups, "pixels": pixels,
        "in_row": -(-s.ow // pixels), "step": column_step(s), "reverse": int(reverse), "zx": 0,
        "q": {"zy": layer.zy, "shift": m.shift, "lo": layer.lo, "hi": layer.hi},
    }
    chunk = CHUNK if m.down else round_up(s.kh * s.kw * s.ic // s.groups, 4)  # at once where 32 bits hold it all
    return {"c": conv, "chunk": chunk, "down": m.down, "narrow": int(layer.narrow)}


def pack(layer: Int16Layer) -> tuple[Array, ...]:
    """Weights (group, block, K / 4, 2, 4) with K = (KW, KH, I / groups), every four taps in ORDER."""
    s = layer.shape
    per_group = s.oc // s.groups
    filled = -per_group % BLOCK
    w = layer.w.transpose(0, 2, 1, 3).reshape(s.groups, per_group, -1)
    w = np.pad(w, ((0, 0), (0, filled), (0, -w.shape[2] % 4)))
    blocks = w.reshape(s.groups, -1, BLOCK, w.shape[2] // 4, 4)[..., ORDER].transpose(0, 1, 3, 2, 4)
    values = np.broadcast_to(layer.m.value, (s.oc,))
    bias, m = (np.pad(v.reshape(s.groups, per_group), ((0, 0), (0, filled))) for v in (layer.bias, values))
    return np.ascontiguousarray(blocks).astype(np.int8).ravel(), bias.astype(np.int32).ravel(), m.ravel()
