"""The dense float32 layers: shapes, packed weights, overlap distances, and the blocks each one needs.

The C drivers (`conv2d_f32.h`, `linear_f32.h`) walk output pixels in the outer loop and filters in the inner, one or two
pixels by a block of 8, 4, 2 or 1 filters at a time. Everything here follows from that order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from pilotlight.codegen.step import Fields

Array = npt.NDArray[np.float32]
Positions = npt.NDArray[np.int64]

BLOCKS = (8, 4, 2, 1)
FLOAT = 4  # bytes
NEVER = 1 << 40  # the position of a read that does not happen


@dataclass(frozen=True)
class Conv2dShape:
    """A 2-d convolution, channels last; bottom and right padding follow from `oh` and `ow`."""

    n: int
    ih: int
    iw: int
    ic: int
    oh: int
    ow: int
    oc: int
    kh: int
    kw: int
    sh: int = 1
    sw: int = 1
    top: int = 0
    left: int = 0
    dh: int = 1
    dw: int = 1
    groups: int = 1
    driver = "pl_conv2d_f32"
    struct = "pl_conv2d_t"
    header = "conv2d_f32.h"

    @property
    def depthwise(self) -> bool:
        """One filter per channel. A single channel is better off as a plain convolution."""
        return self.groups == self.ic == self.oc and self.groups > 1

    @property
    def macs(self) -> int:
        return self.n * self.oh * self.ow * self.oc * self.kh * self.kw * (self.ic // self.groups)

    def flattened(self) -> Conv2dShape:
        """A 1x1 convolution that touches every pixel once, as one long row; any other shape as it is."""
        touches = (self.kh, self.kw, self.sh, self.sw, self.top, self.left) == (1, 1, 1, 1, 0, 0)
        if not touches or (self.ih, self.iw) != (self.oh, self.ow):
            return self
        pixels = self.n * self.oh * self.ow
        return Conv2dShape(1, 1, pixels, self.ic, 1, pixels, self.oc, 1, 1, groups=self.groups)


@dataclass(frozen=True)
class LinearShape:
    """`n` rows of `i` inputs to `o` outputs."""

    n: int
    i: int
    o: int
    driver = "pl_linear_f32"
    struct = "pl_linear_t"
    header = "linear_f32.h"

    @property
    def macs(self) -> int:
        return self.n * self.i * self.o

    def as_conv2d(self) -> Conv2dShape:
        return Conv2dShape(1, 1, self.n, self.i, 1, self.n, self.o, 1, 1)


Shape = Conv2dShape | LinearShape


def table(shape: Shape, lo: float = -math.inf, hi: float = math.inf, reverse: bool = False) -> Fields:
    """The layer's struct: outputs limited to lo..hi, walked forward or in reverse."""
    return {**fields(shape, reverse), **limits(lo, hi)}


def limits(lo: float, hi: float) -> dict[str, str]:
    """The last members of such a struct: PL_ACT_* and its limits."""
    act = activation(lo, hi)
    low, high = (_literal(lo), _literal(hi)) if act in ("LIMIT", "CLAMP") else ("0.0f", "0.0f")
    return {"act": f"PL_ACT_{act}", "lo": low, "hi": high}


def activation(lo: float, hi: float) -> str:
    """The cheapest PL_ACT_* that limits outputs to lo..hi."""
    if hi == math.inf and lo in (-math.inf, 0.0):
        return "NONE" if lo else "RELU"
    return "LIMIT" if lo == 0.0 and hi >= 0.0 else "CLAMP"


def fields(shape: Shape, reverse: bool = False) -> dict[str, int]:
    """The integers of `pl_conv2d_t` or `pl_linear_t` up to the activation."""
    if isinstance(shape, LinearShape):
        return asdict(shape) | {"reverse": int(reverse)}
    flat = shape.flattened()
    groups = 1 if flat.depthwise else flat.groups
    return asdict(flat) | {
        "groups": groups, "icg": flat.ic // flat.groups, "ocg": flat.oc // groups, "depthwise": int(flat.depthwise),
        "reverse": int(reverse),
    }


def _literal(value: float) -> str:
    """A limit as a float literal; an open side is infinity, which C99 has no literal for."""
    if math.isinf(value):
        return "(1.0f / 0.0f)" if value > 0 else "(-1.0f / 0.0f)"
    text = repr(float(np.float32(value)))
    return f"{text}f"


def pack(shape: Shape, w: npt.ArrayLike) -> Array:
    """The weights, (O, KH, KW, I / groups) or (O, I), as the layer's driver reads them."""
    if isinstance(shape, LinearShape):
        return pack_linear(w)
    return pack_depthwise(w) if shape.depthwise else pack_conv2d(w, shape.groups)


def pack_conv2d(w: npt.ArrayLike, groups: int = 1) -> Array:
    """(O, KH, KW, I / groups) → for each group, blocks of filters (KH, KW, I / groups, F), flat."""
    filters = np.asarray(w, np.float32)
    per_group = filters.shape[0] // groups
    parts = [
        filters[g * per_group + first : g * per_group + first + size].reshape(size, -1).T.ravel()
        for g in range(groups)
        for first, size in filter_blocks(per_group)
    ]
    return np.concatenate(parts)


def pack_depthwise(w: npt.ArrayLike) -> Array:
    """(C, KH, KW, 1) → blocks of channels (KH, KW, F), flat."""
    return pack_conv2d(w)


def pack_linear(w: npt.ArrayLike) -> Array:
    """(O, I) → blocks of outputs (I, F), flat."""
    return pack_conv2d(w)


def pack_bias(bias: npt.ArrayLike) -> Array:
    """One float per filter. NaN becomes the positive one, the only NaN that survives the assembly's ReLU."""
    values = np.array(bias, np.float32)
    values[np.isnan(values)] = np.nan
    return values


def filter_blocks(filters: int) -> Iterator[tuple[int, int]]:
    """(first filter, block size) in the order of the drivers."""
    done = 0
    for size in BLOCKS:
        while filters - done >= size:
            yield done, size
            done += size


def _inside(s: Conv2dShape) -> tuple[int, int]:
    """The pixels of a row whose kernel columns are all inside the input, as `pl_inside` finds them."""
    first = min(s.ow, -(-s.left // s.sw))
    last = (s.iw - 1 - (s.kw - 1) * s.dw + s.left) // s.sw
    return first, max(first, min(s.ow, last + 1))


def _pixel_groups(s: Conv2dShape, reverse: bool = False) -> Positions:
    """(first, last) pixel of each group of one output row, in walking order."""
    first, end = _inside(s)
    before, after = [(col, col) for col in range(first)], [(col, col) for col in range(end, s.ow)]
    if reverse:
        inside = [(max(first, col - 1), col) for col in range(end - 1, first - 1, -2)]
        return np.array(after[::-1] + inside + before[::-1])
    return np.array(before + [(col, min(end - 1, col + 1)) for col in range(first, end, 2)] + after)


def micro_kernels(shape: Shape) -> set[str]:
    """The blocks that the layer's driver calls, such as `mac_f32_2x8`."""
    s = shape.as_conv2d() if isinstance(shape, LinearShape) else shape.flattened()
    kind, filters = ("dw_f32", s.ic) if s.depthwise else ("mac_f32", s.oc // s.groups)
    sizes = {size for _, size in filter_blocks(filters)}
    pixels = {int(last - first) + 1 for first, last in _pixel_groups(s)}
    return {f"{kind}_{count}x{size}" for count in pixels for size in sizes}


@cache
def overlap_distance(shape: Shape) -> int:
    """The largest d, in bytes, such that the output may start at most d bytes after the input starts.

    A block's outputs are stored after all its inputs were read. So for each block: the end of what is written
    so far must not pass the lowest input that a later block reads. Where no such pair exists the answer is
    the size of the input: farther apart the two are disjoint.
    """
    walk = _PackWalk(shape, reverse=False)
    later = np.minimum.accumulate(walk.read_from[::-1])[::-1][1:]
    gap = (later - np.maximum.accumulate(walk.written_to)[:-1]).min(initial=walk.input_size)
    return FLOAT * int(min(gap, walk.input_size))


@cache
def reverse_distance(shape: Shape) -> int:
    """The smallest d, in bytes, such that walked in reverse the output may start d bytes after the input.

    The mirror image: the start of what is written so far must not pass the end of what later blocks read.
    At the size of the input the two are disjoint.
    """
    walk = _PackWalk(shape, reverse=True)
    later = np.maximum.accumulate(walk.read_to[::-1])[::-1][1:]
    gap = (later - np.minimum.accumulate(walk.written_from)[:-1]).max(initial=-walk.output_size)
    return FLOAT * int(max(gap, -walk.output_size))


class _PackWalk:
    """For every block in walking order, the range of floats it reads and the range it writes."""

    def __init__(self, shape: Shape, reverse: bool):
        s = shape.as_conv2d() if isinstance(shape, LinearShape) else shape.flattened()
        self.input_size, self.output_size = s.n * s.ih * s.iw * s.ic, s.n * s.oh * s.ow * s.oc
        channels = _channels(s)  # (blocks at a pixel, 4)
        groups = _pixel_groups(s, reverse)  # (pixel groups, 2): first and last pixel
        images, rows = np.arange(s.n)[:, None, None], np.arange(s.oh)
        if reverse:
            images, rows = images[::-1], rows[::-1]
        top, bottom = _inside_input(rows * s.sh - s.top, s.kh, s.dh, s.ih)
        left, _ = _inside_input(groups[:, 0] * s.sw - s.left, s.kw, s.dw, s.iw)
        _, right = _inside_input(groups[:, 1] * s.sw - s.left, s.kw, s.dw, s.iw)
        nothing = (top > bottom)[None, :, None] | (left > right)[None, None, :] | (images < 0)

        def positions(row: Positions, column: Positions, none: int) -> Positions:
            """The first float of each input pixel, (images, rows, pixel groups, 1)."""
            pixel = ((images * s.ih + row[None, :, None]) * s.iw + column[None, None, :]) * s.ic
            return np.where(nothing, none, pixel)[..., None]

        self.read_from = (positions(top, left, NEVER) + channels[:, 0]).ravel()
        self.read_to = (positions(bottom, right, -NEVER) + channels[:, 1]).ravel()
        outputs = (images * s.oh + rows[None, :, None]) * s.ow
        self.written_from = ((outputs + groups[:, 0])[..., None] * s.oc + channels[:, 2]).ravel()
        self.written_to = ((outputs + groups[:, 1])[..., None] * s.oc + channels[:, 3]).ravel()


def _inside_input(at: Positions, taps: int, dilation: int, size: int) -> tuple[Positions, Positions]:
    """Where the first and the last tap inside 0..size are, for each start; first > last where none is."""
    first = at + np.maximum(0, -(at // dilation)) * dilation
    beyond = at + (taps - 1) * dilation - (size - 1)
    last = at + (taps - 1 - np.maximum(0, -(-beyond // dilation))) * dilation
    return first, last


def _channels(s: Conv2dShape) -> Positions:
    """For each block of filters at a pixel: the channels it reads, from and to, and the filters it writes."""
    if s.depthwise:
        return np.array([(c, c + size, c, c + size) for c, size in filter_blocks(s.ic)])
    inputs, outputs = s.ic // s.groups, s.oc // s.groups
    return np.array(
        [
            (g * inputs, (g + 1) * inputs, g * outputs + first, g * outputs + first + size)
            for g in range(s.groups)
            for first, size in filter_blocks(outputs)
        ]
    )
