"""Kernels for Cortex-M0 and M0+: assembly blocks under C drivers, portable C for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from pilotlight.codegen.target import Target
from pilotlight.kernels.assembly.dispatch import variant
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.layers.int8_table import columns, fields, pixels_at_once, requantize
from pilotlight.kernels.layers.sweep import called, pixel_counts, unlike
from pilotlight.kernels.layers.walk import Walk
from pilotlight.kernels.portable.dense_s8 import BLOCK, depthwise_pixels, is_row, portable, round_up, variants
from pilotlight.kernels.registry import offers
from pilotlight.kernels.thumb1.blocks import CHECKED, FLAGGED, TURN

PIXELS = 4  # of the widest block
LINE_PIXELS = (4, 8, 12)  # at a time, where rows do not matter
ROWS = (1, 2, 3, 5, 8)  # of depthwise outputs at a time
MOST_SUM = 255  # of absolute weights: times 128 they stay within 16 bits
CONV_RATE, ROW_RATE, DEPTHWISE_RATE = Rate(2.6, 40), Rate(4, 40), Rate(8)


@offers(Int8Layer, needs={"thumb1"})
def thumb1(layer: Int8Layer, target: Target) -> Iterator[Candidate]:
    """Portable C where no block fits."""
    s = layer.shape.flattened()
    three = (s.kh, s.kw, s.dh, s.dw) == (3, 3, 1, 1) and s.sw <= 2
    flat = replace(layer, shape=s)
    if layer.shifts is None and is_row(s):
        yield _row(flat)
        return
    if layer.shifts is not None or (not three if s.depthwise else not packable(layer)):
        yield from portable(layer, target)
        return
    if s.depthwise:
        usual = list(variants(_depthwise(flat), _depthwise(flat, 1)))
    else:
        *_, low = portable(layer, replace(target, measured=False))
        usual = [_conv(flat), low]
    yield from usual
    if target.measured:
        yield from unlike(usual, _depthwise_sweep(flat) if s.depthwise else _conv_sweep(flat))


def _conv_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Patches of all sizes, more taps in a turn of the loop, weights of 32 bits."""
    for pixels in pixel_counts(layer.shape.ow):
        for turn, wide in ((8, True), (8, False), (TURN, False)):
            parts = ["wide"] * wide + [f"u{turn}"] * (turn != TURN)
            yield called(_conv(layer, pixels, turn, wide), *parts, f"p{pixels}")
    s = layer.shape
    if s.groups == 1 and s.oh > 1 and s.ow % PIXELS:
        for pixels, wide in product(LINE_PIXELS, (True, False)):
            yield called(_across_rows(layer, pixels, _conv(layer, PIXELS, 8, wide)), *["wide"] * wide, f"p{pixels}")


def _depthwise_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Patches of all sizes, one or more rows of outputs."""
    for pixels in pixel_counts(layer.shape.ow):
        for rows in ROWS:
            if rows <= layer.shape.oh:
                yield called(_depthwise(layer, pixels, rows), *[f"r{rows}"] * (rows > 1), f"p{pixels}")


def _conv(layer: Int8Layer, tried: int | None = None, turn: int = TURN, wide: bool = False) -> Candidate:
    """`tried`: how many pixels share a patch, instead of what is usual; `turn`: how many taps are in one; `wide`:
    weights of 32 bits."""
    s = layer.shape
    column = s.kh * s.ic // s.groups
    pixels = tried or pixels_at_once(s, PIXELS, column)
    taps = round_up(s.kw * column, turn)
    walk = Walk(s, pixels, groups=s.groups)
    sizes = {min(PIXELS, n - p) for n in {pixels, s.ow % pixels or pixels} for p in range(0, n, PIXELS)}
    form = (f"_u{turn}" if turn != TURN else "") + ("_w" if wide else "")
    names = {f"thumb1_conv_s8_{n}{form}{_ending(layer)}" for n in sizes}
    kind = variant(min(names))
    words = 3 + (taps if wide else taps // TURN) + -(-taps // FLAGGED)
    return Candidate(
        name="thumb1.conv",
        headers=("conv_thumb1_s8",),
        ctype="pl_conv_thumb1_t",
        table=lambda reverse: {"s": fields(layer, pixels, reverse), "kind": kind, "taps": taps, "words": words},
        driver="pl_conv_thumb1_s8",
        pack=lambda: (conv_streams(layer, taps, wide),),
        scratch=round_up(8 * taps + columns(s, pixels) * column),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset(names),
        instructions=CONV_RATE.conv(s),
    )


def _across_rows(layer: Int8Layer, pixels: int, conv: Candidate) -> Candidate:
    """Another kernel with groups of pixels that do not end with a row: fewer of them are left over."""
    s = layer.shape
    (taps,) = (value for name, value in conv.table(False).items() if name == "taps")
    assert isinstance(taps, int)
    sizes = {min(PIXELS, n - p) for n in {pixels, s.oh * s.ow % pixels or pixels} for p in range(0, n, PIXELS)}
    walk = Walk(s, 1).across_rows(pixels, s.n)
    return replace(
        conv,
        name="thumb1.line",
        table=lambda reverse: {
            **conv.table(reverse), "s": {**fields(layer, pixels, reverse), "in_row": -(-s.oh * s.ow // pixels)},
        },
        driver="pl_line_thumb1_s8",
        scratch=round_up(8 * taps + pixels * s.kh * s.kw * s.ic),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset(re.sub(r"_s8_\d", f"_s8_{n}", name) for name in conv.micro for n in sizes),
    )


def _row(layer: Int8Layer) -> Candidate:
    """A single row of inputs is read where it lies: an output stored early would destroy it."""
    s = layer.shape
    name = f"thumb1_row_s8{_ending(layer)}"
    return Candidate(
        name="thumb1.row",
        headers=("row_thumb1_s8",),
        ctype="pl_row_thumb1_t",
        table=lambda reverse: {"kind": variant(name), "ic": s.ic, "oc": s.oc, "q": requantize(layer)},
        driver="pl_row_thumb1_s8",
        pack=lambda: (row_streams(layer),),
        distance=s.ic if s.oc <= BLOCK else None,
        micro=frozenset({name}),
        instructions=ROW_RATE.conv(s),
    )


def _depthwise(layer: Int8Layer, tried: int | None = None, rows: int = 1) -> Candidate:
    s = layer.shape
    pixels = tried or depthwise_pixels(s)
    walk = Walk(s, pixels, rows)
    name = f"thumb1_depthwise_s8_w{s.sw}{'_r' if rows > 1 else ''}{_ending(layer)}"
    return Candidate(
        name="thumb1.depthwise",
        headers=("depthwise_thumb1_s8",),
        ctype="pl_depthwise_thumb1_t",
        table=lambda reverse: {
            "s": fields(layer, pixels, reverse), "kind": variant(name), "rows": rows, "in_rows": -(-s.oh // rows),
        },
        driver="pl_depthwise_thumb1_s8",
        pack=lambda: (depthwise_words(layer),),
        scratch=round_up(((rows - 1) * s.sh + 3) * ((pixels - 1) * s.sw + 3) * s.ic),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({name}),
        instructions=DEPTHWISE_RATE.conv(s),
    )


def _ending(layer: Int8Layer) -> str:
    """Of the names of blocks: how sums become outputs."""
    whole = (layer.lo, layer.hi) == (-128, 127)
    return (f"_k{layer.shift}" if layer.shift else "") + ("_s" if whole else "")


def packable(layer: Int8Layer) -> bool:
    """Whether the products of any two taps stay within 16 bits."""
    return int(layer.w.min(initial=0)) > -128


def depthwise_words(layer: Int8Layer) -> Array:
    """For each channel: nine taps in three words, bias, multiplier."""
    w = np.pad(layer.w.reshape(layer.shape.oc, 9).astype(np.int8), ((0, 0), (0, 3))).view("<i4")
    return np.concatenate([w, layer.bias[:, None].astype("<i4"), layer.m[:, None].astype("<i4")], axis=1).ravel()


def row_streams(layer: Int8Layer) -> Array:
    """For each block of four filters: starts, for each input four weights, multipliers."""
    filled = -layer.shape.oc % BLOCK
    w = np.pad(layer.w.reshape(layer.shape.oc, -1).astype(np.int8), ((0, filled), (0, 0)))
    words = np.ascontiguousarray(w.reshape(-1, BLOCK, w.shape[1]).transpose(0, 2, 1)).view("<i4")[..., 0]
    bias, m = (np.pad(v.astype("<i4"), (0, filled)).reshape(-1, BLOCK) for v in (layer.bias, layer.m))
    return np.concatenate([bias, words, m], axis=1).ravel()


def conv_streams(layer: Int8Layer, taps: int, wide: bool = False) -> Array:
    """For each filter what conv_thumb1_s8.h says."""
    s = layer.shape
    w = layer.w.transpose(0, 2, 1, 3).reshape(s.oc, -1).astype(np.int8)
    w = np.pad(w, ((0, 0), (0, taps - w.shape[1])))
    ends = _ends(np.abs(w.astype(np.int64)))  # (filters, taps / 2)
    bias = layer.bias.astype(np.int64)[:, None]
    parts = [bias, 65536 * bias + bias - 32768 * ends.sum(axis=1)[:, None]]
    for first in range(0, taps, FLAGGED):
        some = ends[:, first // CHECKED : (first + FLAGGED) // CHECKED]
        parts.append((some << (31 - np.arange(some.shape[1]))).sum(axis=1)[:, None])
        taken = np.ascontiguousarray(w[:, first : first + FLAGGED])
        parts.append((taken if wide else taken.view("<i4")).astype(np.int64))
    parts.append(layer.m.astype(np.int64)[:, None])
    return (np.concatenate(parts, axis=1) & 0xFFFFFFFF).astype("<u4").view("<i4").ravel()


def _ends(sizes: Array) -> Array:
    """Whether sums end after a place: as late as a filter's absolute weights allow, and after the last place that has a
    flag in its word. (filters, taps) to (filters, taps / 2)."""
    steps = sizes.reshape(len(sizes), -1, CHECKED).sum(axis=2)
    ends = np.zeros(steps.shape, np.int64)
    ends[:, FLAGGED // CHECKED - 1 :: FLAGGED // CHECKED] = 1
    ends[:, -1] = 1
    held = steps[:, 0]
    for i in range(1, steps.shape[1]):
        ends[:, i - 1] |= held + steps[:, i] > MOST_SUM
        held = np.where(ends[:, i - 1], 0, held) + steps[:, i]
    return ends
