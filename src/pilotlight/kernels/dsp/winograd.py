"""3x3 layers of stride 1 in Winograd's form, exact in integers: fewer products for more flash (winograd_dsp_s8.h), or
for more scratch memory (unfold_dsp_s8.h)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pilotlight.codegen.step import Fields
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.dsp import cost
from pilotlight.kernels.dsp.blocks.names import DspBlock, Finish
from pilotlight.kernels.dsp.blocks.unfold import reaches
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.layers.int8_table import fields
from pilotlight.kernels.layers.twice import starts, starts_fit
from pilotlight.kernels.layers.walk import Walk
from pilotlight.kernels.pack_f32 import Conv2dShape
from pilotlight.kernels.portable.dense_s8 import round_up

ROWS, PIXELS = 2, 4  # outputs of two tiles
LONGEST = 8  # pairs of channels in one turn: what the offset of a load reaches back over
ORDER = [1, 2, 0, 3]  # of rows and columns
SPARE = 128  # bytes, PL_WINOGRAD_SPARE


def fits(layer: Int8Layer) -> bool:
    """3x3 without stride, dilation or groups, channels in fours, and four times the sum of products within 32 bits."""
    s = layer.shape
    plain = (s.kh, s.kw, s.sh, s.sw, s.dh, s.dw, s.groups) == (3, 3, 1, 1, 1, 1, 1)
    products = np.abs(layer.w.astype(np.int64)).reshape(len(layer.w), -1).sum(axis=1) * 128
    return plain and s.ic % 4 == 0 and s.oc >= 4 and bool(np.all(4 * products < 2**31)) and starts_fit(layer)


def winograd(layer: Int8Layer, finish: Finish, mixed: bool = False) -> Iterator[Candidate]:
    """Weights stored in that form, or brought into it on the board for more or fewer rows of tiles at a time; with
    loads between products if they are `mixed`."""
    if not fits(layer):
        return
    yield stored(layer, finish, mixed)
    if reaches(layer.shape.ic):
        down = -(-layer.shape.oh // ROWS)
        for tall in dict.fromkeys(-(-down // turns) for turns in range(1, down + 1)):
            yield unfolded(layer, finish, tall, mixed)


def stored(layer: Int8Layer, finish: Finish, mixed: bool = False) -> Candidate:
    """With weights stored in that form in flash."""
    s = layer.shape
    block = _block(s, finish, mixed)
    walk = Walk(s, PIXELS, ROWS)
    return Candidate(
        name="dsp.winograd",
        headers=("winograd_dsp_s8",),
        ctype="pl_winograd_dsp_t",
        table=lambda reverse: _table(layer, block, 32 * s.ic + 8, reverse),
        driver="pl_winograd_dsp_s8",
        pack=lambda: (streams(layer),),
        scratch=SPARE + 64 * s.ic + _outside(s),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({"tiles_s8", "spread_s8", block.name}),
        instructions=cost.winograd(s, block.step),
    )


def unfolded(layer: Int8Layer, finish: Finish, tall: int, mixed: bool = False) -> Candidate:
    """With weights brought into that form on the board, once for `tall` rows of tiles, which scratch memory holds."""
    s = layer.shape
    across, down = -(-s.ow // PIXELS), -(-s.oh // ROWS)
    block, unfold = _block(s, finish, mixed), DspBlock("unfold", 4, s.ic)
    walk = Walk(s, s.ow, tall * ROWS)

    return Candidate(
        name=f"dsp.unfold.{tall}",
        headers=("unfold_dsp_s8",),
        ctype="pl_unfold_dsp_t",
        table=lambda reverse: {
            "d": _table(layer, block, 9 * s.ic + 8, reverse), "kind": unfold.constant, "tall": tall,
            "turns": -(-down // tall),
        },
        driver="pl_unfold_dsp_s8",
        pack=lambda: (folded_streams(layer),),
        scratch=SPARE + tall * across * 64 * s.ic + 128 * s.ic + 32 + _outside(s),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({"tiles_s8", "spread_s8", block.name, unfold.name}),
        instructions=cost.unfolded(s, block.step, tall),
    )


def _table(layer: Int8Layer, block: DspBlock, quad_words: int, reverse: bool) -> Fields:
    """A pl_winograd_dsp_t."""
    return {"s": fields(layer, PIXELS, reverse), "kind": block.constant, "quad_words": quad_words}


def _block(s: Conv2dShape, finish: Finish, mixed: bool) -> DspBlock:
    steps = s.ic // 2
    unroll = next(n for n in range(LONGEST, 0, -1) if steps % n == 0)
    return DspBlock("winograd", 4, unroll, steps > unroll, finish, mixed=mixed)


def _outside(s: Conv2dShape) -> int:
    """Bytes for outputs that do not exist, where tiles do not fill the image."""
    return round_up(s.oc) if s.oh % ROWS or s.ow % PIXELS else 0


def _fours(layer: Int8Layer) -> tuple[Array, Array]:
    """Which filters are computed together: those that do not fill four go with those before them; and their biases and
    multipliers by two."""
    count = layer.shape.oc
    firsts = [*range(0, count - 3, 4), *([count - 4] if count % 4 else [])]
    which = np.array(firsts)[:, None] + np.arange(4)  # (fours, 4)
    ends = np.stack([starts(layer)[which].reshape(-1, 2, 2), layer.m[which].reshape(-1, 2, 2)], axis=2)
    return which, ends.reshape(len(which), 8).astype("<i4")


def folded_streams(layer: Int8Layer) -> Array:
    """For four filters: of each, by fours of channels, nine taps as words; biases and multipliers."""
    which, ends = _fours(layer)
    s = layer.shape
    taps = layer.w.reshape(s.oc, 9, s.ic // 4, 4).transpose(0, 2, 1, 3)[which]  # (fours, 4, ic / 4, 9, 4)
    words = np.ascontiguousarray(taps.astype(np.int8)).view("<i4").reshape(len(which), -1)
    return np.concatenate([words, ends], axis=1).ravel()


def streams(layer: Int8Layer) -> Array:
    """For four filters: by columns, rows and pairs of channels a word of each; biases and multipliers.

    Channels go in the order 0, 2, 1, 3 of every four.
    """
    which, ends = _fours(layer)
    s = layer.shape
    g = layer.w.astype(np.int64)
    rows = np.stack([2 * g[:, 0], g.sum(axis=1), g[:, 0] - g[:, 1] + g[:, 2], 2 * g[:, 2]], axis=1)  # (O, 4, 3, I)
    both = np.stack(
        [rows[:, :, 0], rows.sum(axis=2), rows[:, :, 0] - rows[:, :, 1] + rows[:, :, 2], rows[:, :, 2]], axis=1
    )  # (O, column, row, I)
    placed = both[:, ORDER][:, :, ORDER].reshape(s.oc, 16, s.ic // 4, 4)[..., [0, 2, 1, 3]]
    pairs = placed.reshape(s.oc, 16, s.ic // 2, 2)[which]  # (fours, 4, 16, pairs, 2)
    taps = np.ascontiguousarray(pairs.transpose(0, 2, 3, 1, 4).astype("<i2")).view("<i4").reshape(len(which), -1)
    return np.concatenate([taps, ends], axis=1).ravel()
