"""3x3 layers of stride 1 in Winograd's form, exact in integers (winograd_dsp_s8.h): fewer products, more flash."""

from __future__ import annotations

import numpy as np

from pilotlight.emit.dense_s8 import cost
from pilotlight.emit.dense_s8.layer import Array, Kernel, Layer
from pilotlight.emit.dense_s8.portable import round_up
from pilotlight.emit.dense_s8.table import fields, initializer
from pilotlight.emit.dense_s8.walk import Walk
from pilotlight.emit.micro.s8.names import Block, Finish

ROWS, PIXELS = 2, 4  # outputs of two tiles
LONGEST = 8  # pairs of channels in one turn: what the offset of a load reaches back over
ORDER = [1, 2, 0, 3]  # of rows and columns
SPARE = 128  # bytes, PL_WINOGRAD_SPARE


def fits(layer: Layer) -> bool:
    """3x3 without stride, dilation or groups, channels in fours, and four times the sum of products within 32 bits."""
    s = layer.shape
    plain = (s.kh, s.kw, s.sh, s.sw, s.dh, s.dw, s.groups) == (3, 3, 1, 1, 1, 1, 1)
    products = np.abs(layer.w.astype(np.int64)).reshape(len(layer.w), -1).sum(axis=1) * 128
    return plain and s.ic % 4 == 0 and s.oc >= 4 and bool(np.all(4 * products < 2**31))


def plan(layer: Layer, finish: Finish) -> Kernel:
    s = layer.shape
    steps = s.ic // 2
    unroll = next(n for n in range(LONGEST, 0, -1) if steps % n == 0)
    block = Block("winograd", 4, unroll, steps > unroll, finish)
    walk = Walk(s, PIXELS, ROWS)
    odd = s.oh % ROWS != 0 or s.ow % PIXELS != 0
    return Kernel(
        header="winograd_dsp_s8",
        ctype="pl_winograd_dsp_t",
        initializer=lambda reverse: initializer(fields(layer, PIXELS, reverse), block.constant, 64 * steps + 8),
        driver="pl_winograd_dsp_s8",
        constants=(streams(layer),),
        scratch=64 * s.ic + SPARE + (round_up(s.oc) if odd else 0),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({"tiles_s8", "spread_s8", block.name}),
        instructions=cost.winograd(s, unroll),
    )


def streams(layer: Layer) -> Array:
    """For four filters: by columns, rows and pairs of channels a word of each; biases and multipliers by two.

    Channels go in the order 0, 2, 1, 3 of every four. Filters that do not fill four go with those before them.
    """
    s = layer.shape
    firsts = [*range(0, s.oc - 3, 4), *([s.oc - 4] if s.oc % 4 else [])]
    which = np.array(firsts)[:, None] + np.arange(4)  # (fours, 4)
    g = layer.w.astype(np.int64)
    rows = np.stack([2 * g[:, 0], g.sum(axis=1), g[:, 0] - g[:, 1] + g[:, 2], 2 * g[:, 2]], axis=1)  # (O, 4, 3, I)
    both = np.stack(
        [rows[:, :, 0], rows.sum(axis=2), rows[:, :, 0] - rows[:, :, 1] + rows[:, :, 2], rows[:, :, 2]], axis=1
    )  # (O, column, row, I)
    placed = both[:, ORDER][:, :, ORDER].reshape(s.oc, 16, s.ic // 4, 4)[..., [0, 2, 1, 3]]
    pairs = placed.reshape(s.oc, 16, s.ic // 2, 2)[which]  # (fours, 4, 16, pairs, 2)
    taps = np.ascontiguousarray(pairs.transpose(0, 2, 3, 1, 4).astype("<i2")).view("<i4").reshape(len(which), -1)
    ends = np.stack([layer.bias[which].reshape(-1, 2, 2), layer.m[which].reshape(-1, 2, 2)], axis=2)
    return np.concatenate([taps, ends.reshape(len(which), 8).astype("<i4")], axis=1).ravel()
