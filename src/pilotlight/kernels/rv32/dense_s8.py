"""Kernels for 32-bit RISC-V with multiplication: assembly blocks under C drivers, portable C for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pilotlight.codegen.target import Target
from pilotlight.kernels.assembly.dispatch import variant
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.layers.int8_table import column_step, columns, fields, pixels_at_once
from pilotlight.kernels.layers.sweep import called, pixel_counts, unlike
from pilotlight.kernels.layers.twice import nudged, starts, starts_fit, twice
from pilotlight.kernels.layers.walk import Walk
from pilotlight.kernels.portable.dense_s8 import BLOCK, depthwise_pixels, is_row, portable, round_up
from pilotlight.kernels.registry import offers
from pilotlight.kernels.rv32.blocks import CHECKED, TAPS

PIXELS, PAIRS_PIXELS = 4, 3  # of the widest blocks
LONG = 128  # inputs of a row that are worth the code of a longer turn
UNROLLS = (TAPS, 8, 16)  # taps in a turn
PAIRS_UNROLLS = (8, TAPS)
MOST_SUM = 255  # of absolute weights: times 128 they stay within 16 bits
CONV_RATE, PAIRS_RATE, ROW_RATE, DEPTHWISE_RATE = Rate(2.6, 16), Rate(2.2, 18), Rate(3.3, 20), Rate(6)


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
    if s.depthwise:
        usual = [_depthwise(flat)]
    elif is_row(s):
        turn = 8 if s.ic % 8 == 0 and s.ic >= LONG and not target.small else TAPS
        usual = [_row(_conv(flat, 1, turn))] if s.ic % turn == 0 else list(portable(layer, target))
    else:
        usual = [_conv(flat)]
    yield from usual
    if target.measured:
        yield from unlike(usual, _depthwise_sweep(flat) if s.depthwise else _conv_sweep(flat))


def _depthwise_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Patches of all sizes."""
    for pixels in pixel_counts(layer.shape.ow):
        yield called(_depthwise(layer, pixels), f"p{pixels}")


def _conv_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Patches of all sizes, weights of two filters in one word or by themselves, more taps in a turn of the loop; a
    single row also where it lies."""
    s = layer.shape
    for pixels in pixel_counts(s.ow):
        for pairs, unrolls in ((True, PAIRS_UNROLLS), (False, UNROLLS)):
            for unroll in unrolls if not pairs or packable(layer) else ():
                found = _conv(layer, pixels, unroll, pairs)
                parts = ["pairs"] * pairs + [f"u{unroll}"] * (unroll != TAPS)
                if is_row(s) and s.ic % unroll == 0:
                    yield called(_row(found), *parts)
                else:
                    yield called(found, *parts, f"p{pixels}")


def _ending(layer: Int8Layer) -> str:
    """Of the names of blocks: how sums become outputs."""
    shift = f"_k{layer.shift}" if layer.shift else ""
    return shift + ("" if layer.shifts is None else "_t_n" if nudged(layer) else "_t")


def _conv(layer: Int8Layer, tried: int | None = None, unroll: int = TAPS, pairs: bool = False) -> Candidate:
    """`tried`: how many pixels share a patch, instead of what is usual; `unroll`: how many taps are in a turn; `pairs`:
    the weights of two filters are in one word."""
    s = layer.shape
    column = s.kh * s.ic // s.groups
    pixels = tried or pixels_at_once(s, PIXELS, column)
    taps = round_up(s.kw * column, unroll)
    walk = Walk(s, pixels, groups=s.groups)
    at_once = PAIRS_PIXELS if pairs else PIXELS
    sizes = {min(at_once, n - p) for n in {pixels, s.ow % pixels or pixels} for p in range(0, n, at_once)}
    turn = f"_q{unroll}" if pairs else f"_u{unroll}" if unroll != TAPS else ""
    names = {f"rv_conv_s8_{n}{turn}{_ending(layer)}" for n in sizes}
    kind = variant(min(names))
    words = 8 + taps
    if pairs:
        words = 8 + taps // unroll * (1 + 2 * unroll) + 4 * (layer.shifts is not None)
    return Candidate(
        name="rv32.conv",
        headers=("conv_rv_s8",),
        ctype="pl_conv_rv_t",
        table=lambda reverse: {
            "s": fields(layer, pixels, reverse), "kind": kind, "taps": taps, "words": words, "at_once": at_once,
            "step": column_step(s) * column,
        },
        driver="pl_conv_rv_s8",
        pack=lambda: (pairs_streams(layer, taps, unroll) if pairs else conv_streams(layer, taps),),
        scratch=round_up(columns(s, pixels) * column + unroll - 1),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset(names),
        instructions=(PAIRS_RATE if pairs else CONV_RATE).conv(s),
    )


def _row(conv: Candidate) -> Candidate:
    """A single row of inputs is read where it lies, whole turns of it: an output stored early would destroy it."""
    shape = conv.table(False)["s"]
    assert isinstance(shape, dict)
    alone = shape["oc"] <= BLOCK
    return replace(
        conv, name="rv32.row", driver="pl_row_rv_s8", scratch=0, distance=shape["ic"] if alone else None, reverse=None,
        instructions=ROW_RATE.total(shape["ic"] * shape["oc"], shape["oc"]),
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


def packable(layer: Int8Layer) -> bool:
    """Whether the products of any two taps stay within 16 bits."""
    return int(layer.w.min(initial=0)) > -128


def conv_streams(layer: Int8Layer, taps: int) -> Array:
    """For each group of channels and block of four filters: starts, taps by four weights, multipliers."""
    w, bias, m = _blocks(layer, taps, starts(layer))
    words = np.ascontiguousarray(w.transpose(0, 2, 1).astype(np.int8)).view("<i4").reshape(len(w), taps)
    return np.concatenate([bias.astype("<i4"), words, m.astype("<i4")], axis=1).ravel()


def pairs_streams(layer: Int8Layer, taps: int, unroll: int) -> Array:
    """For each group of channels and block of four filters what pl_rv_pairs_twin_s8 (conv_rv_s8.h) says."""
    w, bias, m = _blocks(layer, taps, layer.bias)
    ends = _ends(np.abs(w))  # (blocks, taps / 2)
    upper, lower = w[:, 0::2], w[:, 1::2]  # (blocks, 2, taps)
    words = (65536 * upper + lower).transpose(0, 2, 1).reshape(len(w), -1, 2 * unroll)
    weight = 1 << (31 - np.arange(unroll // CHECKED, dtype=np.int64))
    flags = (ends.reshape(len(w), -1, unroll // CHECKED) * weight).sum(axis=2)
    whole = 65536 * bias[:, 0::2] + bias[:, 1::2] - 32768 * ends.sum(axis=1)[:, None]
    parts = [np.stack([bias[:, 0::2], whole], axis=2).reshape(len(w), 4)]
    parts += [np.concatenate([flags[:, :, None], words], axis=2).reshape(len(w), -1), m]
    if layer.shifts is not None:
        parts.insert(0, _blocks(layer, taps, layer.shifts)[1])
    return (np.concatenate(parts, axis=1) & 0xFFFFFFFF).astype("<u4").view("<i4").ravel()


def _ends(sizes: Array) -> Array:
    """Whether sums end after a place: as late as all four filters allow, and after the last. (blocks, 4, taps) of
    absolute weights to (blocks, taps / 2)."""
    steps = sizes.reshape(*sizes.shape[:2], -1, CHECKED).sum(axis=3)
    ends = np.zeros((len(sizes), steps.shape[2]), np.int64)
    held = np.zeros(steps.shape[:2], np.int64)
    for i in range(steps.shape[2]):
        over = (held + steps[:, :, i]).max(axis=1) > MOST_SUM
        if i:
            ends[:, i - 1] = over
        held = np.where(over[:, None], 0, held) + steps[:, :, i]
    ends[:, -1] = 1
    return ends


def _blocks(layer: Int8Layer, taps: int, start: Array) -> tuple[Array, Array, Array]:
    """Weights (blocks, 4, taps), and what each filter starts from and its multiplier, (blocks, 4)."""
    s = layer.shape
    per_group = s.oc // s.groups
    filled = -per_group % BLOCK
    w = layer.w.transpose(0, 2, 1, 3).reshape(s.groups, per_group, -1).astype(np.int64)
    w = np.pad(w, ((0, 0), (0, filled), (0, taps - w.shape[2]))).reshape(-1, BLOCK, taps)
    bias, m = (
        np.pad(v.astype(np.int64).reshape(s.groups, per_group), ((0, 0), (0, filled))).reshape(-1, BLOCK)
        for v in (start, layer.m)
    )
    return w, bias, m
