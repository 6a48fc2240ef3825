"""Kernels for 32-bit RISC-V with multiplication: assembly blocks under C drivers, portable C for the rest."""

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
from pilotlight.kernels.layers.twice import nudged, starts, starts_fit, twice
from pilotlight.kernels.layers.walk import Walk
from pilotlight.kernels.portable.dense_s8 import BLOCK, depthwise_pixels, is_row, portable, round_up
from pilotlight.kernels.registry import offers
from pilotlight.kernels.rv32.blocks import TAPS, variant

PIXELS = 4  # of the widest block
UNROLLS = (TAPS, 8, 16)  # taps in a turn
CONV_RATE, DEPTHWISE_RATE = Rate(2.6, 16), Rate(6)


@offers(Int8Layer, needs={"rv32", "mul"})
def rv32(layer: Int8Layer, target: Target) -> Iterator[Candidate]:
    """Portable C where no block fits."""
    s = layer.shape.flattened()
    three = (s.kh, s.kw, s.dh, s.dw) == (3, 3, 1, 1) and s.sw <= 2
    flat = layer if layer.shifts is None else twice(layer)
    if flat is None or (s.depthwise and not three) or not starts_fit(flat):
        yield from portable(layer, target)
        return
    flat = replace(flat, shape=s)
    make = _depthwise if s.depthwise else _conv
    usual = list(portable(layer, target)) if is_row(s) else [make(flat)]
    yield from usual
    if target.measured:
        yield from unlike(usual, _sweep(flat))


def _sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Patches of all sizes, and more taps in a turn of the loop."""
    for pixels in pixel_counts(layer.shape.ow):
        if layer.shape.depthwise:
            yield called(_depthwise(layer, pixels), f"p{pixels}")
            continue
        for unroll in UNROLLS:
            yield called(_conv(layer, pixels, unroll), *([f"u{unroll}"] if unroll != TAPS else []), f"p{pixels}")


def _ending(layer: Int8Layer) -> str:
    """Of the names of blocks: how sums become outputs."""
    shift = f"_k{layer.shift}" if layer.shift else ""
    return shift + ("" if layer.shifts is None else "_t_n" if nudged(layer) else "_t")


def _conv(layer: Int8Layer, tried: int | None = None, unroll: int = TAPS) -> Candidate:
    """`tried`: how many pixels share a patch, instead of what is usual; `unroll`: how many taps are in a turn."""
    s = layer.shape
    column = s.kh * s.ic // s.groups
    pixels = tried or pixels_at_once(s, PIXELS, column)
    taps = round_up(s.kw * column, unroll)
    walk = Walk(s, pixels, groups=s.groups)
    sizes = {min(PIXELS, n - p) for n in {pixels, s.ow % pixels or pixels} for p in range(0, n, PIXELS)}
    turn = f"_u{unroll}" if unroll != TAPS else ""
    names = {f"rv_conv_s8_{n}{turn}{_ending(layer)}" for n in sizes}
    kind = variant(min(names))
    return Candidate(
        name="rv32.conv",
        headers=("conv_rv_s8",),
        ctype="pl_conv_rv_t",
        table=lambda reverse: {"s": fields(layer, pixels, reverse), "kind": kind, "taps": taps},
        driver="pl_conv_rv_s8",
        pack=lambda: (conv_streams(layer, taps),),
        scratch=round_up(columns(s, pixels) * column + unroll - 1),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset(names),
        instructions=CONV_RATE.conv(s),
    )


def _depthwise(layer: Int8Layer, tried: int | None = None) -> Candidate:
    s = layer.shape
    pixels = tried or depthwise_pixels(s)
    walk = Walk(s, pixels)
    name = f"rv_depthwise_s8_w{s.sw}{_ending(layer)}"
    return Candidate(
        name="rv32.depthwise",
        headers=("depthwise_rv_s8",),
        ctype="pl_depthwise_rv_t",
        table=lambda reverse: {"s": fields(layer, pixels, reverse), "kind": variant(name)},
        driver="pl_depthwise_rv_s8",
        pack=lambda: (depthwise_words(layer),),
        scratch=round_up(3 * ((pixels - 1) * s.sw + 3) * s.ic),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({name}),
        instructions=DEPTHWISE_RATE.conv(s),
    )


def depthwise_words(layer: Int8Layer) -> Array:
    """For each channel: nine taps in three words, bias, multiplier."""
    w = np.pad(layer.w.reshape(layer.shape.oc, 9).astype(np.int8), ((0, 0), (0, 3))).view("<i4")
    return np.concatenate([w, starts(layer)[:, None], layer.m[:, None].astype("<i4")], axis=1).ravel()


def conv_streams(layer: Int8Layer, taps: int) -> Array:
    """For each group of channels and block of four filters: starts, taps by four weights, multipliers."""
    s = layer.shape
    per_group = s.oc // s.groups
    filled = -per_group % BLOCK
    w = layer.w.transpose(0, 2, 1, 3).reshape(s.groups, per_group, -1)
    w = np.pad(w, ((0, 0), (0, filled), (0, taps - w.shape[2]))).reshape(-1, BLOCK, taps)
    words = np.ascontiguousarray(w.transpose(0, 2, 1).astype(np.int8)).view("<i4").reshape(len(w), taps)
    bias, m = (
        np.pad(v.reshape(s.groups, per_group), ((0, 0), (0, filled))).reshape(-1, BLOCK).astype("<i4")
        for v in (starts(layer), layer.m)
    )
    return np.concatenate([bias, words, m], axis=1).ravel()
