"""The dense float32 layers: shapes, packed weights, overlap distances, and the blocks each one needs.

The C drivers (`conv2d_f32.h`, `linear_f32.h`) walk output pixels outside and filters inside,
 one or two pixels by a block of 8, 4, 2 or 1 filters at a time. Everything here follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

BLOCKS = (8, 4, 2, 1)
FLOAT = 4  # bytes
NEVER = 1 << 40  # stands for the position of a read that does not happen


@dataclass(frozen=True)
class Conv2d:
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
    pt: int = 0
    pl: int = 0
    dh: int = 1
    dw: int = 1
    groups: int = 1
    driver = "pl_conv2d_f32"
    struct = "pl_conv2d_t"
    header = "conv2d_f32.h"

    @property
    def depthwise(self) -> bool:
        """One filter a channel. A single channel is better off as a plain convolution."""
        return self.groups == self.ic == self.oc and self.groups > 1

    @property
    def macs(self) -> int:
        return self.n * self.oh * self.ow * self.oc * self.kh * self.kw * (self.ic // self.groups)

    def flattened(self) -> Conv2d:
        """A 1x1 convolution that touches every pixel once, as one long row; any other shape as it is."""
        touches = (self.kh, self.kw, self.sh, self.sw, self.pt, self.pl) == (1, 1, 1, 1, 0, 0)
        if not touches or (self.ih, self.iw) != (self.oh, self.ow):
            return self
        pixels = self.n * self.oh * self.ow
        return Conv2d(1, 1, pixels, self.ic, 1, pixels, self.oc, 1, 1, groups=self.groups)


@dataclass(frozen=True)
class Linear:
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

    def as_conv2d(self) -> Conv2d:
        return Conv2d(1, 1, self.n, self.i, 1, self.n, self.o, 1, 1)


Shape = Conv2d | Linear


def initializer(shape: Shape, lo: float = -math.inf, hi: float = math.inf) -> str:
    """The C initializer of the layer's `pl_conv2d_t` or `pl_linear_t`, with outputs limited to lo..hi."""
    if lo == -math.inf and hi == math.inf:
        tail = "PL_ACT_NONE, 0.0f, 0.0f"
    elif lo == 0.0 and hi == math.inf:
        tail = "PL_ACT_RELU, 0.0f, 0.0f"
    else:
        tail = f"PL_ACT_CLAMP, {_literal(lo)}, {_literal(hi)}"
    if isinstance(shape, Linear):
        return f"{{{shape.n}, {shape.i}, {shape.o}, {tail}}}"
    return f"{{{', '.join(map(str, fields(shape)))}, {tail}}}"


def fields(shape: Conv2d) -> tuple[int, ...]:
    """The integers of `pl_conv2d_t` up to the activation."""
    flat = shape.flattened()
    groups = 1 if flat.depthwise else flat.groups
    return (*astuple(flat)[:-1], groups, flat.ic // flat.groups, flat.oc // groups, int(flat.depthwise))


def _literal(value: float) -> str:
    """A limit as a float literal; an open side is infinity, which C99 has no literal for."""
    if math.isinf(value):
        return "(1.0f / 0.0f)" if value > 0 else "(-1.0f / 0.0f)"
    text = repr(float(np.float32(value)))
    return f"{text}f"


def pack(shape: Shape, w: npt.ArrayLike) -> Array:
    """The weights, (O, KH, KW, I / groups) or (O, I), as the layer's driver reads them."""
    if isinstance(shape, Linear):
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
    """One float a filter. NaN becomes the positive one, the only NaN that survives the assembly's ReLU."""
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


def _inside(s: Conv2d) -> tuple[int, int]:
    """The pixels of a row whose kernel columns are all inside the input, as `pl_inside` finds them."""
    first = min(s.ow, -(-s.pl // s.sw))
    last = (s.iw - 1 - (s.kw - 1) * s.dw + s.pl) // s.sw
    return first, max(first, min(s.ow, last + 1))


def _pixel_groups(s: Conv2d) -> list[tuple[int, int]]:
    """(first pixel, pixels) of one output row, in walking order."""
    first, end = _inside(s)
    groups = [(col, 1) for col in range(first)]
    groups += [(col, min(2, end - col)) for col in range(first, end, 2)]
    return groups + [(col, 1) for col in range(end, s.ow)]


def micro_kernels(shape: Shape) -> set[str]:
    """The blocks that the layer's driver calls, such as `mac_f32_2x8`."""
    s = shape.as_conv2d() if isinstance(shape, Linear) else shape.flattened()
    kind, filters = ("dw_f32", s.ic) if s.depthwise else ("mac_f32", s.oc // s.groups)
    sizes = {size for _, size in filter_blocks(filters)}
    return {f"{kind}_{pixels}x{size}" for _, pixels in _pixel_groups(s) for size in sizes}


def overlap_distance(shape: Shape) -> int:
    """The largest d, in bytes, such that the output may start at most d bytes after the input starts.

    A block's outputs are stored after all its inputs were read. So for each block: the end of what is written
    so far must not pass the lowest input that a later block reads. Where no such pair exists the answer is
    the size of the input: farther apart the two are disjoint.
    """
    s = shape.as_conv2d() if isinstance(shape, Linear) else shape.flattened()
    lowest, ends = _walk(s)
    later = np.minimum.accumulate(lowest[::-1])[::-1][1:]
    size = s.n * s.ih * s.iw * s.ic
    gap = (later - np.maximum.accumulate(ends)[:-1]).min(initial=size)
    return FLOAT * int(min(gap, size))


def _walk(s: Conv2d) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For every block in walking order: the lowest float it reads and the end of the floats it writes."""
    pixel_groups = _pixel_groups(s)
    first = np.array([col for col, _ in pixel_groups])
    last = np.array([col + pixels - 1 for col, pixels in pixel_groups])
    columns = _first_inside(first * s.sw - s.pl, s.kw, s.dw, s.iw)  # (pixel groups)
    tops = _first_inside(np.arange(s.oh) * s.sh - s.pt, s.kh, s.dh, s.ih)  # (oh)
    images = np.arange(s.n)[:, None, None]
    read = ((images * s.ih + tops[None, :, None]) * s.iw + columns[None, None, :]) * s.ic
    read[:, tops < 0, :] = NEVER
    read[:, :, columns < 0] = NEVER
    written = (images * s.oh + np.arange(s.oh)[None, :, None]) * s.ow + last[None, None, :]
    channel, filters = _channels(s)
    return (read[..., None] + channel).ravel(), (written[..., None] * s.oc + filters).ravel()


def _first_inside(at: npt.NDArray[np.int64], taps: int, dilation: int, size: int) -> npt.NDArray[np.int64]:
    """Where the first tap inside 0..size stands, for each start; -1 where none is inside."""
    skipped = np.maximum(0, -(at // dilation))
    position = at + skipped * dilation
    return np.where((skipped < taps) & (position < size), position, -1)


def _channels(s: Conv2d) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each block of filters at one pixel: first channel read, end of the filters written."""
    if s.depthwise:
        blocks = list(filter_blocks(s.ic))
        return np.array([c for c, _ in blocks]), np.array([c + size for c, size in blocks])
    per_group = s.oc // s.groups
    pairs = [
        (g * (s.ic // s.groups), g * per_group + first + size)
        for g in range(s.groups)
        for first, size in filter_blocks(per_group)
    ]
    return np.array([c for c, _ in pairs]), np.array([end for _, end in pairs])
