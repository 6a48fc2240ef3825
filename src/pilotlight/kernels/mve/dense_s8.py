"""Kernels for Cortex-M with Helium: dot products over patches, depthwise with channels in lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np

from pilotlight.codegen.step import Fields
from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.estimate import Rate
from pilotlight.kernels.layers.int8 import Int8Layer
from pilotlight.kernels.layers.int8_table import requantize
from pilotlight.kernels.layers.sweep import called, pixel_counts, unlike
from pilotlight.kernels.layers.twice import nudged, starts, starts_fit, twice
from pilotlight.kernels.mve.names import TAPS, Dot, HeliumDepthwise, Rounding
from pilotlight.kernels.mve.walk import HeliumWalk
from pilotlight.kernels.pack_f32 import Conv2dShape
from pilotlight.kernels.portable.dense_s8 import is_row, portable, round_up
from pilotlight.kernels.registry import offers

LANES = 16  # bytes of a vector
BLOCK = 4  # filters at a time
PATCHES = 1024  # bytes of scratch for the inputs of pixels that are computed together, or two of them
CONV, DEPTHWISE = ("rows_s8", "fill_s8"), ("window_s8", "fill_s8")  # what drivers call besides blocks
FARTHEST = 4080  # bytes of a window that goes through blocks with loads ahead
POINTER = 8  # bytes, on any core
CONV_RATE, ROW_RATE, DEPTHWISE_RATE = Rate(0.13, 4), Rate(0.155, 4), Rate(1.1)


@offers(Int8Layer, needs={"mve"})
def helium(layer: Int8Layer, target: Target) -> Iterator[Candidate]:
    """Portable C where two products may exceed 16 bits, or no fast form rounds twice."""
    s = layer.shape.flattened()
    flat = layer if layer.shifts is None else twice(layer)
    if flat is None or (s.depthwise and layer.w.min(initial=0) <= -128) or not (s.depthwise or starts_fit(flat)):
        yield from portable(layer, target)
    else:
        flat = replace(flat, shape=s)
        usual = _depthwise(flat) if s.depthwise else _row(flat) if is_row(s) else _conv(flat)
        yield usual
        if target.measured:
            yield from unlike([usual], _depthwise_sweep(flat) if s.depthwise else _sweep(flat))


def _rounding(layer: Int8Layer) -> Rounding:
    if layer.shifts is None:
        return Rounding(layer.shift)
    return Rounding(twice=True, nudge=nudged(layer))


def _table(layer: Int8Layer) -> Fields:
    """A pl_requantize_t; the blocks add the zero point last."""
    return requantize(layer if layer.shifts is None else replace(layer, zy=(layer.zy - 1) // 2))


def _sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Scratch for more and fewer pixels, which share columns or have patches of their own; loads ahead of products, for
    one row with eight filters."""
    s = layer.shape
    if is_row(s) and s.ic % LANES == 0 and s.oc % 8 == 0 and s.ic <= FARTHEST:
        yield called(_row(layer, ahead=True), "ahead")
    for pixels in pixel_counts(round_up(s.ow, 2)):
        for shared in (False, True) if s.dw == 1 and s.sw < s.kw else (False,):
            for ahead in (True, False) if _goes_ahead(s) else (False,):
                if pixels % 2 == 0:
                    found = _conv(layer, pixels, shared, ahead)
                    yield called(found, *["columns"] * shared, *["ahead"] * ahead, f"p{pixels}")


def _depthwise_sweep(layer: Int8Layer) -> Iterator[Candidate]:
    """Even and odd channels one after another, where there are 16 of them."""
    s = layer.shape
    if s.kh * s.kw <= TAPS and s.ic >= LANES:
        yield called(_depthwise(layer, passes=True), "passes")


def _goes_ahead(s: Conv2dShape) -> bool:
    """Whether there are pairs of pixels with several chunks of inputs, as many as an instruction can go back over."""
    depth = s.kh * s.kw * (s.ic // s.groups)
    return s.ow > 1 and LANES < depth <= FARTHEST


def _conv(
    layer: Int8Layer, tried: int | None = None, shared: bool | None = None, ahead: bool = False
) -> Candidate:
    """`tried` pixels at a time that share columns if they are `shared`, and with loads `ahead` of products, instead of
    what is usual."""
    s = layer.shape
    depth = s.kh * s.kw * (s.ic // s.groups)
    padded = round_up(depth, LANES)
    block = Dot.ahead(2, depth, _rounding(layer)) if ahead else Dot.of(depth, _rounding(layer))
    columns = block.pixels == 2 and (_shares_columns(s) if shared is None else shared)
    x_pixel = s.sw * s.kh * (s.ic // s.groups) if columns else padded
    pixels = tried or min(round_up(s.ow, 2), _pixels_at_once(s, padded, x_pixel))
    micro = set() if block.pixels == 2 and s.ow == 1 else {block.name}
    micro |= {Dot(1, rounding=_rounding(layer)).name} if block.pixels == 2 and s.ow % 2 else set()
    walk = HeliumWalk(s, pixels, s.ic // s.groups, s.oc // s.groups)
    inputs, outputs = s.ic // s.groups, s.oc // s.groups
    numbers = asdict(s) | {
        "icg": inputs, "ocg": outputs, "columns": int(columns), "merged": int(s.dw == 1 and s.groups == 1),
        **_inside(s), "depth": padded, "x_pixel": x_pixel, "blocks": -(-outputs // BLOCK), "pixels": pixels,
        "last": (s.ow - 1) // pixels * pixels,
    }
    return Candidate(
        name="mve.conv",
        headers=("conv2d_mve_s8",),
        ctype="pl_conv2d_mve_t",
        table=lambda reverse: numbers | {
            "reverse": int(reverse), "kind": block.kind, "zx": layer.zx, "q": _table(layer),
        },
        driver="pl_conv2d_mve_s8",
        pack=lambda: pack_dot(layer, columns),
        scratch=round_up((pixels - 1) * x_pixel + padded),
        distance=walk.distance(reverse=False),
        reverse=walk.distance(reverse=True),
        micro=frozenset({*micro, *CONV}),
        instructions=CONV_RATE.conv(s),
    )


def _row(layer: Int8Layer, ahead: bool = False) -> Candidate:
    """One pixel is read where it lies; with loads `ahead` of products eight filters at a time."""
    s = layer.shape
    block = Dot.ahead(1, s.ic, _rounding(layer)) if ahead else Dot(1, rounding=_rounding(layer))
    alone = s.oc <= block.filters  # everything is read before anything is stored
    return Candidate(
        name="mve.row",
        headers=("linear_mve_s8",),
        ctype="pl_linear_mve_t",
        table=lambda reverse: {"i": s.ic, "o": s.oc, "kind": block.kind, "q": _table(layer)},
        driver="pl_linear_eight_mve_s8" if ahead else "pl_linear_mve_s8",
        pack=lambda: pack_dot(layer, block=block.filters),
        distance=s.ic if alone else None,
        micro=frozenset({block.name}),
        instructions=ROW_RATE.conv(s),
    )


def _depthwise(layer: Int8Layer, passes: bool = False) -> Candidate:
    s = layer.shape
    block = HeliumDepthwise.of(s.kh * s.kw, s.ic, _rounding(layer), layer.lo, layer.hi)
    block = replace(block, passes=passes)
    run = replace(block, whole=True, rest=0, repeat=True)
    runs = s.sw == 1 and LANES % s.ic == 0 and s.ic < LANES and block.taps > 0
    w = pack_depthwise(layer)
    stream = np.concatenate([w, _pixels_of_a_block(layer)]) if runs else w
    walk = HeliumWalk(s, 1, LANES, LANES)
    numbers = {
        "n": s.n, "ih": s.ih, "iw": s.iw, "c": s.ic, "oh": s.oh, "ow": s.ow, "kh": s.kh, "kw": s.kw, "sh": s.sh,
        "sw": s.sw, "top": s.top, "left": s.left, "dh": s.dh, "dw": s.dw, **_inside(s),
    }
    return Candidate(
        name="mve.depthwise",
        headers=("depthwise_mve_s8",),
        ctype="pl_depthwise_mve_t",
        table=lambda reverse: numbers | {
            "reverse": int(reverse), "kind": block.kind, "run": run.kind * runs, "run_w": len(w) * runs,
            "run_pixels": LANES // s.ic, "zx": layer.zx, "q": _table(layer),
        },
        driver="pl_depthwise_mve_s8",
        pack=lambda: (stream,),
        scratch=POINTER * (s.kh * s.kw + 1) + round_up(s.ic),
        distance=walk.distance(reverse=False),
        reverse=walk.distance(reverse=True),
        micro=frozenset({block.name, *([run.name] if runs else []), *DEPTHWISE}),
        instructions=DEPTHWISE_RATE.conv(s),
    )


def _inside(s: Conv2dShape) -> dict[str, int]:
    """The pixels of a row whose columns are all inside the input: from `first` up to `end`."""
    first = min(s.ow, -(-s.left // s.sw))
    last = (s.iw - 1 - (s.kw - 1) * s.dw + s.left) // s.sw
    return {"first": first, "end": max(first, min(s.ow, last + 1))}


def _shares_columns(s: Conv2dShape) -> bool:
    """Whether fewer bytes and runs are copied when pixels share columns than when each has a patch of its own."""
    run = s.ic // s.groups
    apart = s.kw * _copy(run) if s.groups > 1 else _copy(s.kw * run)
    return s.dw == 1 and s.sw < s.kw and s.sw * _copy(run) < apart


def _copy(run: int) -> int:
    """Instructions for a run of bytes in `rows_s8`."""
    return 6 if run <= LANES else 5 + 3 * -(-run // LANES)


def _pixels_at_once(s: Conv2dShape, padded: int, x_pixel: int) -> int:
    """An even number that the scratch has room for."""
    room = max(PATCHES if s.kh * s.kw > 1 else PATCHES // 2, 2 * padded)
    return max(2, ((room - padded) // x_pixel + 1) & ~1)


def pack_dot(layer: Int8Layer, columns: bool = False, block: int = BLOCK) -> tuple[Array, ...]:
    """Weights (groups, blocks, chunks, 4, 16) and, per block of 4 filters, bias and multipliers (2, 4); rounded twice,
    the shift to the left is the lowest byte of the bias. `block`: another number of filters than 4.

    A filter's weights are (KH, KW, I / groups), with `columns` (KW, KH, I / groups).
    """
    s = layer.shape
    per_group = s.oc // s.groups
    w = (layer.w.transpose(0, 2, 1, 3) if columns else layer.w).reshape(s.groups, per_group, -1)
    filters, inputs = -per_group % block, -w.shape[2] % LANES
    padded = np.pad(w, ((0, 0), (0, filters), (0, inputs)))
    w = padded.reshape(s.groups, -1, block, padded.shape[2] // LANES, LANES).transpose(0, 1, 3, 2, 4)
    bias = layer.bias if layer.shifts is None else starts(replace(layer, shifts=255 - layer.shifts))
    both = np.pad(np.stack([bias, layer.m]).reshape(2, s.groups, per_group), ((0, 0), (0, 0), (0, filters)))
    pairs = both.reshape(2, s.groups, -1, block).transpose(1, 2, 0, 3)
    return (
        np.ascontiguousarray(w).astype(np.int8).ravel(),
        np.ascontiguousarray(pairs).astype(np.int32).ravel(),
    )


def _pixels_of_a_block(layer: Int8Layer) -> Array:
    """The stream of 16 bytes that are whole pixels."""
    times = LANES // layer.shape.ic
    w, bias, m = (np.concatenate([v] * times) for v in (layer.w, layer.bias, layer.m))
    shifts = None if layer.shifts is None else np.concatenate([layer.shifts] * times)
    return pack_depthwise(replace(layer, shape=replace(layer.shape, ic=LANES), w=w, bias=bias, m=m, shifts=shifts))


def pack_depthwise(layer: Int8Layer) -> Array:
    """The stream of `pl_dw_mve_t`: for each block of channels its bias, weights tap by tap, multipliers, as int32;
    rounded twice, shifts to the left after each vector of multipliers."""
    s = layer.shape
    w = layer.w.reshape(s.ic, -1).T  # (taps, channels)
    many = len(w) > TAPS
    w = np.pad(w, ((0, len(w) % 2 if many else 0), (0, 0)))
    parts: list[Array] = []
    for first in range(0, s.ic, LANES):
        count = min(LANES, s.ic - first)
        width = LANES if many or count > LANES // 2 else LANES // 2
        lanes = np.arange(width)
        order = lanes.reshape(-1, 2).T if width == 8 else lanes.reshape(-1, 2, 2).transpose(2, 1, 0)
        bias, weights, m = (
            np.pad(v[..., first : first + count], [(0, 0)] * (v.ndim - 1) + [(0, width - count)])
            for v in (layer.bias, w, layer.m)
        )
        parts += [
            bias[order.ravel()].astype("<i4"),
            np.ascontiguousarray(weights).astype(np.int8 if width == LANES else "<i2").ravel().view("<i4"),
            m[order.ravel()].astype("<i4"),
        ]
        if layer.shifts is not None:
            right = np.pad(layer.shifts[first : first + count] + 1, (0, width - count))[order.ravel()]
            parts[-1] = np.stack([parts[-1].reshape(-1, 4), -right.reshape(-1, 4)], axis=1).astype("<i4").ravel()
    return np.concatenate(parts).astype(np.int32)
