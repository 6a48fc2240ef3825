"""Kernels for Cortex-M with the DSP extension: generated assembly blocks under C drivers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pilotlight.codegen.step import Fields
from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.dsp import cost, winograd
from pilotlight.kernels.dsp.blocks.names import DspBlock, Finish
from pilotlight.kernels.dsp.pack import (
    conv_streams,
    depthwise_words,
    packable,
    point_streams,
    quad_streams,
    row_streams,
    taps_streams,
)
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.layers.int8_table import column_step, columns, fields, requantize
from pilotlight.kernels.layers.sweep import called, pixel_counts, unlike
from pilotlight.kernels.layers.twice import nudged, starts_fit, twice
from pilotlight.kernels.layers.walk import Walk
from pilotlight.kernels.pack_f32 import Conv2dShape
from pilotlight.kernels.portable.dense_s8 import depthwise_pixels, is_row, portable, round_up, variants
from pilotlight.kernels.registry import offers

PIXELS = 3  # of the widest block
STRIDES = (8, 16, 32, 64, 128, 256, 510)  # values between windows that share nothing: few blocks for many layers
FEW_STRIDES = (32, 128, 510)
FARTHEST = 510  # values that a block can reach from one pixel to the next
MOST_STEPS = 48  # that are written out: 72 bytes each
ROW_STEPS = (32, 8)  # of four inputs that are written out in a turn of a loop, at most
DEPTHWISE_BYTES, LOW_SCRATCH_BYTES = 832, 256  # of a depthwise patch
SHARED_BYTES, APART_BYTES = 1024, 768  # how large a patch may grow for fewer turns of its loops
ROW_RATE, TAPS_RATE = Rate(1.02, 6), Rate(3.3, 20)
DEPTHWISE_RATES = {1: Rate(4.2), 2: Rate(2.3)}  # by rows at a time


@offers(Int8Layer, needs={"thumb2", "dsp"}, without={"mve"})
def dsp(layer: Int8Layer, target: Target) -> Iterator[Candidate]:
    """Portable C where no block fits. A small target gets fewer blocks."""
    flat = layer if layer.shifts is None else twice(layer)
    if flat is None or (flat.shape.depthwise and (flat.shape.ic < 4 or not starts_fit(flat))):
        yield from portable(layer, target)
        return
    flat = replace(flat, shape=layer.shape.flattened())
    usual = list(_usual(flat, target))
    yield from usual
    if target.measured:
        yield from unlike(usual, _sweep(flat))


def _usual(flat: Int8Layer, target: Target) -> Iterator[Candidate]:
    s, order = flat.shape, "mixed" if target.hides_loads else ""
    if s.depthwise:
        make = _depthwise if _three(s) else _taps
        yield from variants(make(flat, False), make(flat, True))
    elif _is_row(flat):
        yield _row(flat, order=order)
    else:
        strides = FEW_STRIDES if target.small else STRIDES
        direct = list(variants(*(_conv(flat, strides, low, order=order) for low in (False, True))))
        point = [_point(flat, order)] if _is_point(s) else direct
        yield from point if cost.POINT * (point[0].instructions or 0) < (direct[0].instructions or 0) else direct
        yield from winograd.winograd(flat, finish_of(flat))


def _is_row(layer: Int8Layer) -> bool:
    """Whether there are blocks for this layer that read its inputs where they are."""
    alike = layer.shifts is None or len(set(layer.shifts)) == 1
    return is_row(layer.shape) and layer.shape.ic % 4 == 0 and packable(layer) and alike


def _three(s: Conv2dShape) -> bool:
    """Whether there are blocks for this depthwise layer with all taps in registers."""
    return (s.kh, s.kw, s.dh, s.dw) == (3, 3, 1, 1) and s.sw <= 4


def _is_point(s: Conv2dShape) -> bool:
    """Whether there are blocks for this layer that take two pixels of a 1x1 layer."""
    plain = (s.n, s.kh, s.kw, s.groups, s.top, s.left) == (1, 1, 1, 1, 0, 0)
    return plain and (s.oh - 1) * s.sh < s.ih and (s.ow - 1) * s.sw < s.iw and s.oc >= 4


def _sweep(layer: Int8Layer) -> Iterator[Candidate]:
    if _is_row(layer):
        yield from _row_sweep(layer)
    yield from _depthwise_sweep(layer) if layer.shape.depthwise else _conv_sweep(layer)


def _row_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Six or eight filters at a time, loads one after another or between products, more or fewer of them in a turn."""
    steps = layer.shape.ic // 4
    for turn in dict.fromkeys(largest_divisor(steps, most) for most in ROW_STEPS):
        for filters in (8, 6):
            for order in ("chain", "mixed"):
                if layer.shape.oc >= filters:
                    yield called(_row(layer, filters, order, turn), order, f"f{filters}", f"u{turn}")


def _conv_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Patches of all sizes, two or four filters at a time, weights of two filters in one word or of 16 bits each, taps
    in a loop or written out, with their loads one after another or not; Winograd's form with loads between products."""
    yield from (called(found, "mixed") for found in winograd.winograd(layer, finish_of(layer), mixed=True))
    for order in ("chain", "mixed") if _is_point(layer.shape) and not _is_row(layer) else ():
        yield called(_point(layer, order), order)
    fours = _in_fours(layer) and not _is_row(layer)
    for pixels in pixel_counts(layer.shape.ow):
        for order in ("chain", "mixed") if fours and (pixels % 2 == 0 or pixels == layer.shape.ow) else ():
            yield called(_quad(layer, pixels, order), order, f"p{pixels}")
    for pixels in pixel_counts(layer.shape.ow):
        for wide in (True, False) if packable(layer) else (True,):
            for written in ("chain",) if wide and fours else ("chain", "straight", "loop")[not wide :]:
                found = _conv(layer, STRIDES, False, pixels, wide, written)
                yield called(found, *["wide"] * wide, *[written] * (written != "loop"), f"p{pixels}")


def _in_fours(layer: Int8Layer) -> bool:
    """Whether there are blocks for this layer that take four filters at a time."""
    return packable(layer) and layer.shape.oc // layer.shape.groups >= 4


def _depthwise_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """One or two rows at a time, patches of all sizes, their pixels in a loop or written out, one by one or by two."""
    s = layer.shape
    for pixels in pixel_counts(s.ow):
        for rows in (1, 2) if s.sh == 1 and s.oh > 1 else (1,):
            if not _three(s):
                continue
            yield called(_depthwise(layer, False, pixels, rows), f"r{rows}", f"p{pixels}")
            if s.ow % pixels == 0 and pixels <= MOST_STEPS:
                yield called(_depthwise(layer, False, pixels, rows, True), f"r{rows}", "straight", f"p{pixels}")
                if pixels > 1:
                    found = _depthwise(layer, False, pixels, rows, True, True)
                    yield called(found, f"r{rows}", "pairs", f"p{pixels}")
        yield called(_taps(layer, False, pixels), f"p{pixels}")


def _conv(
    layer: Int8Layer, strides: Sequence[int], low_scratch: bool, tried: int | None = None, wider: bool = False,
    written: str = "loop", order: str = "",
) -> Candidate:
    """`tried`: how many pixels share a patch, instead of what is usual; `wider`: weights of 16 bits in any case;
    `written`: taps in a loop, `straight`, or in a `chain` of loads, as far as they are few; `order` of loads in
    that loop."""
    s = layer.shape
    shared, column, values, stride, steps, fours = _window(s, strides)
    pixels = 1
    if stride <= FARTHEST:
        pixels = tried or (min(PIXELS, s.ow) if low_scratch else _pixels(s, stride, column, shared))
    wide = wider or not packable(layer)
    pair_words = (4 if layer.shifts is None else 6) + steps * (4 if wide else 2)
    few = written != "loop" and steps <= MOST_STEPS
    variant = DspBlock(
        "conv", 0, 2 * stride if pixels > 1 else 0, wide, finish_of(layer), steps * few, few and written == "chain",
        order == "mixed",
    )
    counts = {n for size in {pixels, s.ow % pixels or pixels} for n in block_sizes(size)}
    walk = Walk(s, pixels, groups=s.groups)
    size = columns(s, pixels) * column if shared else (pixels - 1) * stride + values
    return Candidate(
        name="dsp.conv",
        headers=("conv_dsp_s8",),
        ctype="pl_conv_dsp_t",
        table=lambda reverse: {
            "s": fields(layer, pixels, reverse), "kind": variant.constant, "fours": fours, "column": column,
            "stride": stride, "steps": steps, "pair_words": pair_words,
        },
        driver="pl_conv_dsp_s8",
        pack=lambda: (conv_streams(layer, column, fours, wide),),
        scratch=round_up(2 * (size + 3)),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({"widen_s8"} | {replace(variant, count=n).name for n in counts}),
        instructions=cost.conv(s, pixels, steps, wide, size),
    )


def _window(s: Conv2dShape, strides: Sequence[int]) -> tuple[bool, int, int, int, int, int]:
    """Whether windows share columns; values of a column, of a window, from one window to the next; steps of four taps;
    how many channels are widened by four."""
    channels = s.ic // s.groups
    shared = column_step(s) < s.kw
    column = s.kh * channels
    column += shared and column * column_step(s) % 2
    values = s.kw * column
    stride = column_step(s) * column if shared else next((n for n in strides if n >= values), values)
    fours = channels // 4 * 4 if channels % 4 == 0 or s.kh * s.kw == 1 else 0  # what is aligned can be widened
    return shared, column, values, stride, -(-values // 4), fours


def _quad(layer: Int8Layer, tried: int, order: str) -> Candidate:
    """Four filters at a time, at two pixels of `tried` that share a patch, with their loads in some `order`."""
    s = layer.shape
    pairs = _conv(layer, STRIDES, False, tried)
    _, column, _, stride, steps, fours = _window(s, STRIDES)
    pixels = tried if stride <= FARTHEST else 1
    turn, words = largest_divisor(steps, MOST_STEPS), (8 if layer.shifts is None else 12) + 4 * steps
    variant = DspBlock(
        "quad", 0, 2 * stride if pixels > 1 else 0, steps > turn, finish_of(layer), turn, order == "chain",
        order == "mixed",
    )
    counts = {n for size in {pixels, s.ow % pixels or pixels} for n in ({1, 2} if size % 2 else {2}) if n <= size}
    return replace(
        pairs,
        name="dsp.quad",
        headers=("quad_dsp_s8",),
        table=lambda reverse: {**pairs.table(reverse), "kind": variant.constant, "pair_words": words},
        driver="pl_quad_dsp_s8",
        pack=lambda: (quad_streams(layer, column, fours),),
        micro=frozenset({"widen_s8"} | {replace(variant, count=n).name for n in counts}),
    )


def _point(layer: Int8Layer, order: str) -> Candidate:
    """Two pixels at a time, by four filters, with their loads in some `order`."""
    s = layer.shape
    steps, wide = -(-s.ic // 4), not packable(layer)
    variant = DspBlock("point", 0, wide=wide, finish=finish_of(layer), mixed=order == "mixed")
    counts = {4} if s.oc % 4 in (0, 3) else {4, 2}
    walk = Walk(s, 2)
    return Candidate(
        name="dsp.point",
        headers=("point_dsp_s8",),
        ctype="pl_point_dsp_t",
        table=lambda reverse: {
            "kind": variant.constant, "rows": s.oh, "ow": s.ow, "oc": s.oc, "ic": s.ic, "x_row": s.sh * s.iw * s.ic,
            "x_pixel": s.sw * s.ic, "steps": steps, "words": (2 if layer.shifts is None else 3) + steps * (1 + wide),
            "reverse": int(reverse), "q": requantize(layer),
        },
        driver="pl_point_dsp_s8",
        pack=lambda: (point_streams(layer, wide),),
        scratch=16 * steps,
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({"weave_s8"} | {replace(variant, count=n).name for n in counts}),
        instructions=cost.point(s, steps, wide),
    )


def _pixels(s: Conv2dShape, stride: int, column: int, shared: bool) -> int:
    """How many pixels share a patch."""
    pixels = min(PIXELS, s.ow)
    while pixels < s.ow:
        more = pixels + PIXELS
        size = 2 * columns(s, more) * column if shared else 2 * more * stride
        if size > (SHARED_BYTES if shared else APART_BYTES):
            break
        pixels = more
    return min(pixels, s.ow)


def _row(layer: Int8Layer, filters: int = 8, order: str = "", turn: int = 0) -> Candidate:
    """`filters` at a time, their loads in some `order`, `turn` steps written out instead of what is usual."""
    s = layer.shape
    finish = finish_of(layer)
    if layer.shifts is not None:
        right = int(layer.shifts[0])
        finish = replace(finish, twice=False, down=right + 1)
        layer = replace(layer, zy=layer.zy << right)
    variant = DspBlock("row", finish=finish, steps=turn, chained=order == "chain", mixed=order == "mixed")
    many = s.oc // filters * filters
    counts = {filters} if s.oc == many else {2} if many == 0 else {filters, 2}
    plain: Fields = {"kind": variant.constant, "ic": s.ic, "oc": s.oc, "q": requantize(layer)}
    return Candidate(
        name="dsp.row",
        headers=("row_dsp_s8",),
        ctype="pl_row_by_dsp_t" if turn else "pl_row_dsp_t",
        table=lambda reverse: {"d": plain, "filters": filters, "many": many} if turn else plain,
        driver="pl_row_by_dsp_s8" if turn else "pl_row_dsp_s8",
        pack=lambda: (row_streams(layer, filters),),
        distance=s.ic if s.oc in (1, 2, filters) else None,  # one block reads everything before it writes
        micro=frozenset(replace(variant, count=n).name for n in counts),
        instructions=ROW_RATE.conv(s),
    )


def largest_divisor(number: int, most: int) -> int:
    return next(n for n in range(min(number, most), 0, -1) if number % n == 0)


def _depthwise(
    layer: Int8Layer, low_scratch: bool, tried: int | None = None, at_once: int | None = None, straight: bool = False,
    by_two: bool = False,
) -> Candidate:
    """`tried` pixels of `at_once` rows share a patch, instead of what is usual; `straight`: they are written out,
    `by_two`: so that two share their loads."""
    s = layer.shape
    rows = at_once or (2 if s.sh == 1 and s.oh > 1 and not low_scratch else 1)
    finish = finish_of(layer)
    counts = {rows, 1} if s.oh % 2 else {rows}
    pixels = tried or s.ow
    variant = DspBlock(
        "depthwise", 0, s.sw, finish=replace(finish, shift=0) if finish.twice else finish, steps=pixels * straight,
        chained=by_two,
    )
    most = LOW_SCRATCH_BYTES if low_scratch else DEPTHWISE_BYTES
    while tried is None and 32 * ((pixels - 1) * s.sw + 3) > most and pixels > 1:
        pixels = -(-pixels // 2)
    exact = s.ic % 4 == 0  # otherwise the last four channels are read together with those before
    walk = Walk(s, pixels, rows, groups=s.ic // 4 if exact else 1, mixed=not exact)
    return Candidate(
        name="dsp.depthwise",
        headers=("depthwise_dsp_s8",),
        ctype="pl_depthwise_dsp_t",
        table=lambda reverse: {"s": fields(layer, pixels, reverse), "kind": variant.constant, "rows": rows},
        driver="pl_depthwise_dsp_s8",
        pack=lambda: (depthwise_words(layer),),
        scratch=32 * ((pixels - 1) * s.sw + 3),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({"pairs_s8"} | {replace(variant, count=n).name for n in counts}),
        instructions=DEPTHWISE_RATES[rows].conv(s),
    )


def _taps(layer: Int8Layer, low_scratch: bool, tried: int | None = None) -> Candidate:
    s = layer.shape
    pixels = tried or depthwise_pixels(s, low_scratch)
    variant = DspBlock("taps", 4, finish=finish_of(layer))
    walk = Walk(s, pixels)
    return Candidate(
        name="dsp.taps",
        headers=("taps_dsp_s8",),
        ctype="pl_taps_dsp_t",
        table=lambda reverse: {"s": fields(layer, pixels, reverse), "kind": variant.constant},
        driver="pl_taps_dsp_s8",
        pack=lambda: (taps_streams(layer),),
        scratch=round_up(s.kh * ((pixels - 1) * s.sw + (s.kw - 1) * s.dw + 1) * s.ic),
        distance=walk.distance(),
        reverse=walk.reverse(),
        micro=frozenset({variant.name}),
        instructions=TAPS_RATE.conv(s),
    )


def finish_of(layer: Int8Layer) -> Finish:
    limited = (layer.lo, layer.hi) != (-128, 127)
    if layer.shifts is None:
        return Finish(layer.shift, limited)
    return Finish(layer.shift, limited, twice=True, nudge=nudged(layer))


def block_sizes(pixels: int) -> set[int]:
    """The blocks that a group of pixels is cut into: threes, and twos for the rest."""
    if pixels == 1:
        return {1}
    sizes = {3} if (pixels % 3 != 1 and pixels > 2) or pixels > 4 else set()
    return sizes if pixels % 3 == 0 else sizes | {2}
