"""Weights, start sums and multipliers in the order in which the DSP blocks read them (dsp_s8.h).

Layers that are rounded twice come as `layers/twice.py` has them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilotlight.kernels.layers.int8 import Array, Int8Layer
from pilotlight.kernels.layers.twice import starts


def packable(layer: Int8Layer) -> bool:
    """Whether of any two neighbouring filters 256 a + b stays within 16 bits for every tap, and 256 A + B within 32 for
    every input."""
    largest = layer.largest
    return bool(np.all(256 * largest + largest.max(initial=0) < 2**31)) and layer.w.min(initial=0) > -128


def conv_streams(layer: Int8Layer, column: int, fours: int, wide: bool) -> Array:
    """For each group of channels and pair of filters: start, taps, multipliers; around these the bits to the right
    where they are rounded twice.

    Taps go by columns, each kh * icg values padded to `column`, then to a multiple of four. The first `fours` channels
    are in the order 0, 2, 1, 3 of every four, which is how `widen_s8` leaves the inputs.
    """
    s = layer.shape
    channels = np.arange(s.ic // s.groups)
    channels[:fours] = channels[:fours].reshape(-1, 4)[:, [0, 2, 1, 3]].ravel()
    by_column = layer.w[..., channels].transpose(0, 2, 1, 3).reshape(s.oc, s.kw, -1).astype(np.int64)
    w: Array = np.pad(by_column, ((0, 0), (0, 0), (0, column - by_column.shape[2]))).reshape(s.oc, -1)
    w = np.pad(w, ((0, 0), (0, -w.shape[1] % 4)))
    per_group = s.oc // s.groups
    odd = per_group % 2
    pairs = np.pad(w.reshape(s.groups, per_group, -1), ((0, 0), (0, odd), (0, 0))).reshape(-1, 2, w.shape[1])
    bias, m = (
        np.pad(v.astype(np.int64).reshape(s.groups, per_group), ((0, 0), (0, odd))).reshape(-1, 2)
        for v in (layer.bias, layer.m)
    )
    if wide:
        taps = pairs.reshape(len(pairs), 2, -1, 2).transpose(0, 2, 1, 3)  # (pair, two taps, filter, tap)
        start = bias
    else:
        taps = 256 * pairs[:, 0] + pairs[:, 1]
        start = np.stack([256 * bias[:, 0] + bias[:, 1], bias[:, 1]], axis=1)
    words = np.ascontiguousarray(taps.reshape(len(pairs), -1).astype("<i2")).view("<i4")
    ends = [m]
    if layer.shifts is not None:
        right = np.pad(layer.shifts.reshape(s.groups, per_group), ((0, 0), (0, odd))).reshape(-1, 2)
        ends = [right[:, :1], m, right[:, 1:]]
    return np.concatenate([start.astype("<i4"), words, *(v.astype("<i4") for v in ends)], axis=1).ravel()


def quad_streams(layer: Int8Layer, column: int, fours: int) -> Array:
    """For each group of channels and four filters, the last ones padded: starts, for every two taps a word of each
    pair, multipliers; where they are rounded twice, each after the bits to the right of its filter."""
    groups = layer.shape.groups
    pairs = -(-layer.shape.oc // groups // 2)
    streams = conv_streams(layer, column, fours, False).reshape(groups, pairs, -1)
    both = np.pad(streams, ((0, 0), (0, pairs % 2), (0, 0))).reshape(-1, 2, streams.shape[2])
    start, taps, end = np.split(both, [2, -2 if layer.shifts is None else -4], axis=2)
    parts = (start, taps.transpose(0, 2, 1), end if layer.shifts is None else end[..., [0, 1, 3, 2]])
    return np.concatenate([part.reshape(len(both), -1) for part in parts], axis=1).ravel()


def point_streams(layer: Int8Layer, wide: bool) -> Array:
    """Fours of filters, then two that are left, the last of an odd number padded: starts, for every two inputs a word
    of each pair, or wide of each filter, multipliers; where they are rounded twice, each after the bits to the right of
    its filter."""
    channels = layer.shape.ic
    pairs = -(-layer.shape.oc // 2)
    streams = conv_streams(layer, channels, channels // 4 * 4, wide).reshape(pairs, -1)
    if layer.shifts is not None:
        streams = np.concatenate([streams[:, :-2], streams[:, :-3:-1]], axis=1)
    start, taps, end = np.split(streams, [2, -2 if layer.shifts is None else -4], axis=1)
    taps = taps.reshape(pairs, -1, 2 if wide else 1)  # (pair, two inputs, words)
    fours = [slice(first, first + 2) for first in range(0, pairs, 2)]
    return np.concatenate([part.ravel() for f in fours for part in (start[f], taps[f].transpose(1, 0, 2), end[f])])


def row_streams(layer: Int8Layer, filters: int = 8) -> Array:
    """Blocks of eight filters, or another even number, then of two: starts, then for every four inputs the words (0, 2)
    and (1, 3) of each pair, then multipliers."""
    inputs = layer.shape.ic
    odd = layer.shape.oc % 2
    w = np.pad(layer.w.reshape(-1, inputs).astype(np.int64), ((0, odd), (0, 0)))
    bias, m = (np.pad(v.astype(np.int64), (0, odd)) for v in (layer.bias, layer.m))
    parts = []
    first = 0
    while first < len(w):
        size = filters if len(layer.w) - first >= filters else 2
        pairs = w[first : first + size].reshape(-1, 2, inputs // 4, 4)[..., [0, 2, 1, 3]]
        taps = (256 * pairs[:, 0] + pairs[:, 1]).transpose(1, 0, 2)  # (four inputs, pair, 4)
        b = bias[first : first + size].reshape(-1, 2)
        start = np.stack([256 * b[:, 0] + b[:, 1], b[:, 1]], axis=1)
        words = np.ascontiguousarray(taps.astype("<i2")).view("<i4")
        parts += [start.ravel().astype("<i4"), words.ravel(), m[first : first + size].astype("<i4")]
        first += size
    return np.concatenate(parts)


def depthwise_words(layer: Int8Layer) -> Array:
    """(C, 8): for each kernel column the weights (0, 1) and (1, 2) of its rows; start; multiplier. Rounded twice, sums
    are doubled by their weights."""
    if layer.shifts is not None:
        layer = replace(layer, w=2 * layer.w.astype(np.int16), bias=2 * layer.bias)
    w = layer.w[..., 0].astype("<i2")  # (C, 3, 3)
    halves = np.stack([w[:, 0], w[:, 1], w[:, 1], w[:, 2]], axis=2)  # (C, column, 4)
    words = np.ascontiguousarray(halves).view("<i4").reshape(len(w), 6)
    return np.concatenate([words, starts(layer)[:, None], layer.m[:, None].astype("<i4")], axis=1).ravel()


def taps_streams(layer: Int8Layer) -> Array:
    """By four channels; where their number is not a multiple of four, the last block repeats some of the one before.
    For each block: starts, for each tap the weights (0, 2) and (1, 3), multipliers."""
    channels = layer.shape.ic
    firsts = [*range(0, channels - 3, 4), *([channels - 4] if channels % 4 else [])]
    which = np.array(firsts)[:, None] + np.arange(4)  # (blocks, 4)
    w = layer.w.reshape(channels, -1)[which]  # (blocks, 4, taps)
    halves = np.ascontiguousarray(w.transpose(0, 2, 1)[..., [0, 2, 1, 3]].astype("<i2"))
    words = halves.view("<i4").reshape(len(which), -1)
    return np.concatenate([starts(layer)[which], words, layer.m[which].astype("<i4")], axis=1).ravel()
