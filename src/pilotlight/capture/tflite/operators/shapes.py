"""Operators that only move elements, whatever these are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pilotlight.capture.tflite.operators.integers import compute
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import DTYPES, Site
from pilotlight.graph import INT64, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.index.float import take
from pilotlight.ops.views import slice_axis


def concat(b: Builder, parts: Sequence[Value], axis: int) -> Value:
    kept = [part for part in parts if part.elements]
    return kept[0] if len(kept) == 1 else b.node("concat", kept or list(parts), axis=axis)


@operator("RESHAPE", options="ReshapeOptions")
def reshape(site: Site) -> Value:
    """The shape is an input, in older files an option, and always that of the result."""
    x, shape = site.x(), site.result.shape
    given = site.known(1) if site.has(1) else None
    wanted = site.options.numbers("NewShape") if given is None else tuple(int(n) for n in given.reshape(-1))
    if math.prod(shape) != x.elements:
        raise site.refuse(f"{site.tensor()} as {list(shape if wanted is None else wanted)}")
    return site.b.reshape(x, shape)


@operator("SQUEEZE", "EXPAND_DIMS")
def same_elements(site: Site) -> Value:
    if math.prod(site.result.shape) != site.x().elements:
        raise site.refuse(f"{site.tensor()} as {site.result}")
    return site.b.reshape(site.x(), site.result.shape)


@operator("SHAPE")
def shape(site: Site) -> Value:
    return site.b.constant(np.array(site.x().shape), DTYPES[site.result.type], "shape")


@operator("RANK")
def rank(site: Site) -> Value:
    return site.b.constant(np.array(len(site.x().shape)), DTYPES[site.result.type], "rank")


@operator("PACK", options="PackOptions")
def pack(site: Site) -> Value:
    """A new axis."""
    values = [site.x(k) for k in range(len(site.given))]
    axis = site.axis(site.options.Axis, len(values[0].shape) + 1)
    parts = [site.b.reshape(v, (*v.shape[:axis], 1, *v.shape[axis:])) for v in values]
    return parts[0] if len(parts) == 1 else site.b.node("concat", parts, axis=axis)


@operator("UNPACK", options="UnpackOptions")
def unpack(site: Site) -> list[Value]:
    x = site.x()
    axis = site.axis(site.options.Axis, len(x.shape))
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    if len(site.results) != x.shape[axis]:
        raise site.refuse(f"{len(site.results)} results of {x.shape[axis]} along axis {axis}")
    return [site.b.reshape(slice_axis(site.b, x, axis, k, k + 1), rest) for k in range(x.shape[axis])]


def _cut(site: Site, x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    if sum(sizes) != x.shape[axis] or any(n < 0 for n in sizes):
        raise site.refuse(f"parts of {list(sizes)} along axis {axis} of {list(x.shape)}")
    starts = np.cumsum([0, *sizes])
    return [slice_axis(site.b, x, axis, int(a), int(a + n)) for a, n in zip(starts, sizes, strict=False)]


@operator("SPLIT")
def split(site: Site) -> list[Value]:
    x = site.x(1)
    axis, count = site.axis(site.numbers(0, "the axis")[0], len(x.shape)), len(site.results)
    if not count or x.shape[axis] % count:
        raise site.refuse(f"{count} equal parts along axis {axis} of {list(x.shape)}")
    return _cut(site, x, axis, [x.shape[axis] // count] * count)


@operator("SPLIT_V")
def split_v(site: Site) -> list[Value]:
    x = site.x()
    axis = site.axis(site.numbers(2, "the axis")[0], len(x.shape))
    sizes = list(site.numbers(1, "the sizes"))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - (sum(sizes) + 1)
    return _cut(site, x, axis, sizes)


@operator("CONCATENATION", options="ConcatenationOptions")
def concatenation(site: Site) -> Value:
    """Integers are copied as they are: TFLM expects one scale."""
    values = [site.x(k) for k in range(len(site.given))]
    if site.options.FusedActivationFunction:
        raise site.refuse("a fused activation")
    if site.quantized:
        scales = {(site.quant(site.tensor(k)), site.tensor(k).type) for k in range(len(values))}
        if scales != {(site.quant(site.result), site.result.type)}:
            raise site.refuse("its tensors have several scales", "convert the model with a newer converter")
    return concat(site.b, values, site.axis(site.options.Axis, len(values[0].shape)))


@operator("SLICE")
def slice_(site: Site) -> Value:
    x = site.x()
    starts, sizes = site.numbers(1, "the begin"), site.numbers(2, "the size")
    if len(starts) != len(x.shape) or len(sizes) != len(x.shape):
        raise site.refuse(f"{list(starts)} and {list(sizes)} of {list(x.shape)}")
    ranges = []
    for have, start, size in zip(x.shape, starts, sizes, strict=True):
        stop = have if size == -1 else start + size
        if not 0 <= start <= stop <= have:
            raise site.refuse(f"{start} to {stop} of {have}")
        ranges.append((start, stop, 1))
    return x if all(r == (0, n, 1) for r, n in zip(ranges, x.shape, strict=True)) else \
        site.b.node("slice", [x], ranges=tuple(ranges))


@operator("STRIDED_SLICE", options="StridedSliceOptions")
def strided_slice(site: Site) -> Value:
    o, x = site.options, site.x()
    if o.EllipsisMask or o.NewAxisMask:
        raise site.refuse("an ellipsis or a new axis in the range")
    starts, stops, steps = (site.numbers(k, "the range") for k in (1, 2, 3))
    y = x
    for axis, (start, stop, step) in enumerate(zip(starts, stops, steps, strict=True)):
        size = x.shape[axis]
        if step == 0:
            raise site.refuse("a step of 0")
        if o.ShrinkAxisMask >> axis & 1:
            first = start % size if -size <= start < size else -1
            if first < 0:
                raise site.refuse(f"index {start} of {size}")
            y = slice_axis(site.b, y, axis, first, first + 1)
            continue
        wanted = slice(
            None if o.BeginMask >> axis & 1 else start,
            None if o.EndMask >> axis & 1 else start + stop if getattr(o, "Offset", False) else stop, step,
        ).indices(size)
        rows = range(*wanted)
        if step > 0:
            y = slice_axis(site.b, y, axis, rows.start, max(rows.start, rows.stop), step)
        elif rows:
            y = slice_axis(site.b, y, axis, rows[-1], rows[0] + 1, -step)
            y = site.b.node("flip", [y], dims=(axis,))
        else:
            y = slice_axis(site.b, y, axis, 0, 0)
    return site.b.reshape(y, site.result.shape)


@operator("TRANSPOSE")
def transpose(site: Site) -> Value:
    perm = site.numbers(1, "the order")
    if sorted(p % max(len(perm), 1) for p in perm) != list(range(len(site.x().shape))):
        raise site.refuse(f"the order {list(perm)} of {list(site.x().shape)}")
    return site.b.permute(site.x(), perm)


def _amounts(site: Site) -> tuple[tuple[int, ...], tuple[int, ...]]:
    pads = site.constant(1, "the padding")
    if pads.shape != (len(site.x().shape), 2) or pads.min(initial=0) < 0:
        raise site.refuse(f"the padding {pads.tolist()} of {site.tensor()}")
    return tuple(int(n) for n in pads[:, 0]), tuple(int(n) for n in pads[:, 1])


@operator("PAD", "PADV2")
def pad(site: Site) -> Value:
    x, (before, after) = site.x(), _amounts(site)
    number = 0.0 if x.dtype.kind == "f" else 0
    if site.has(2):
        number = site.constant(2, "the padding's value").reshape(-1)[0].item()
    elif site.quantized:
        number = site.quant(site.result).zero_point
    return site.b.node("pad", [x], before=before, after=after, value=number) if any(before) or any(after) else x


@operator("MIRROR_PAD", options="MirrorPadOptions")
def mirror_pad(site: Site) -> Value:
    """REFLECT leaves the border out, SYMMETRIC repeats it."""
    y, border = site.x(), 0 if site.options.Mode else 1
    for axis, (before, after) in enumerate(zip(*_amounts(site), strict=True)):
        size = y.shape[axis]
        if max(before, after) + border > size:
            raise site.refuse(f"{before} before and {after} after an axis of {size}")
        last = size - 1 - border
        order = [*range(before - 1 + border, border - 1, -1), *range(size), *range(last, last - after, -1)]
        y = y if not before and not after else take(site.b, y, axis, site.b.constant(np.array(order), INT64, "mirror"))
    return y


def _indices(site: Site, k: int) -> Value:
    if site.x(k).dtype.kind != "i":
        raise site.refuse(f"the indices are {site.tensor(k)}; expected int32 or int64")
    return site.x(k)


@operator("GATHER", options="GatherOptions")
def gather(site: Site) -> Value:
    x = site.x()
    if site.options.BatchDims:
        raise site.refuse("batch dimensions")
    return take(site.b, x, site.axis(site.options.Axis, len(x.shape)), _indices(site, 1))


@operator("EMBEDDING_LOOKUP")
def embedding_lookup(site: Site) -> Value:
    if site.tensor(1).type != site.result.type:
        raise site.refuse(f"{site.tensor(1)} as {site.result}")
    return take(site.b, site.x(1), 0, _indices(site, 0))


@operator("GATHER_ND")
def gather_nd(site: Site) -> Value:
    """The last axis of the indices counts through the first axes of x."""
    b, x, ids = site.b, site.x(), site.b.cast(_indices(site, 1), INT64)
    depth = ids.shape[-1]
    if depth > len(x.shape):
        raise site.refuse(f"{depth} indices into {list(x.shape)}")
    flat = b.reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    strides = np.cumprod([1, *reversed(x.shape[1:depth])])[::-1].copy() if depth else np.ones(0, np.int64)
    at: Value | None = None
    for k in range(depth):
        column = b.reshape(slice_axis(b, ids, len(ids.shape) - 1, k, k + 1), ids.shape[:-1])
        part = compute(b, "mul", column, int(strides[k]))
        at = part if at is None else compute(b, "add", at, part)
    if at is None:
        raise site.refuse("no indices")
    return take(b, flat, 0, at)


@operator("REVERSE_V2")
def reverse(site: Site) -> Value:
    dims = site.axes(1, len(site.x().shape))
    return site.b.node("flip", [site.x()], dims=dims) if dims else site.x()


def _blocks(site: Site, shape: Sequence[int], order: Sequence[int], y_shape: Sequence[int], x: Value) -> Value:
    return site.b.reshape(site.b.permute(site.b.reshape(x, shape), order), y_shape)


@operator("SPACE_TO_DEPTH", options="SpaceToDepthOptions")
def space_to_depth(site: Site) -> Value:
    (n, h, w, c), s = site.x().shape, site.options.BlockSize
    if s < 1 or h % s or w % s:
        raise site.refuse(f"blocks of {s} in {site.tensor()}")
    split_shape = (n, h // s, s, w // s, s, c)
    return _blocks(site, split_shape, (0, 1, 3, 2, 4, 5), (n, h // s, w // s, s * s * c), site.x())


@operator("DEPTH_TO_SPACE", options="DepthToSpaceOptions")
def depth_to_space(site: Site) -> Value:
    (n, h, w, c), s = site.x().shape, site.options.BlockSize
    if s < 1 or c % (s * s):
        raise site.refuse(f"blocks of {s} in {site.tensor()}")
    split_shape = (n, h, w, s, s, c // (s * s))
    return _blocks(site, split_shape, (0, 1, 3, 2, 4, 5), (n, h * s, w * s, c // (s * s)), site.x())


@operator("SPACE_TO_BATCH_ND")
def space_to_batch(site: Site) -> Value:
    x, blocks = site.x(), site.numbers(1, "the block shape")
    pads = site.constant(2, "the padding").reshape(-1, 2)
    rest, count = x.shape[1 + len(blocks) :], len(blocks)
    before, after = ((0, *(int(n) for n in pads[:, k]), *(0 for _ in rest)) for k in (0, 1))
    zero = site.quant(site.result).zero_point if site.quantized else 0  # LiteRT's; TFLM never sets what it pads with
    number = float(zero) if x.dtype.kind == "f" else zero
    y = site.b.node("pad", [x], before=before, after=after, value=number) if any(before) or any(after) else x
    sizes = y.shape[1 : 1 + count]
    if any(s < 1 or n % s for n, s in zip(sizes, blocks, strict=True)):
        raise site.refuse(f"blocks of {list(blocks)} in {list(sizes)}")
    inner = [part for n, s in zip(sizes, blocks, strict=True) for part in (n // s, s)]
    order = (*(2 + 2 * k for k in range(count)), 0, *(1 + 2 * k for k in range(count)),
             *(1 + 2 * count + k for k in range(len(rest))))
    shape = (x.shape[0] * math.prod(blocks), *(n // s for n, s in zip(sizes, blocks, strict=True)), *rest)
    return _blocks(site, (x.shape[0], *inner, *rest), order, shape, y)


@operator("BATCH_TO_SPACE_ND")
def batch_to_space(site: Site) -> Value:
    x, blocks = site.x(), site.numbers(1, "the block shape")
    crops, count = site.constant(2, "the crops").reshape(-1, 2), len(blocks)
    sizes, rest = x.shape[1 : 1 + count], x.shape[1 + count :]
    if any(s < 1 for s in blocks) or x.shape[0] % math.prod(blocks):
        raise site.refuse(f"blocks of {list(blocks)} in {site.tensor()}")
    batch = x.shape[0] // math.prod(blocks)
    order = (count, *(axis for k in range(count) for axis in (count + 1 + k, k)),
             *(1 + 2 * count + k for k in range(len(rest))))
    whole = (batch, *(n * s for n, s in zip(sizes, blocks, strict=True)), *rest)
    y = _blocks(site, (*blocks, batch, *sizes, *rest), order, whole, x)
    for axis, (before, after) in enumerate(crops.tolist(), 1):
        if before < 0 or after < 0 or before + after > y.shape[axis]:
            raise site.refuse(f"crops of {before} and {after} from {y.shape[axis]}")
        y = slice_axis(site.b, y, axis, before, y.shape[axis] - after)
    return y


@operator("FILL")
def fill(site: Site) -> Value:
    return site.b.expand(site.b.reshape(site.x(1), ()), site.numbers(0, "the shape"))


@operator("BROADCAST_TO")
def broadcast_to(site: Site) -> Value:
    return site.b.expand(site.x(), site.numbers(1, "the shape"))


@operator("BROADCAST_ARGS")
def broadcast_args(site: Site) -> Value:
    shapes = [site.numbers(k, "a shape") for k in (0, 1)]
    return site.b.constant(np.array(np.broadcast_shapes(*shapes)), DTYPES[site.result.type], "shape")


@operator("ZEROS_LIKE")
def zeros_like(site: Site) -> Value:
    return site.b.constant(np.zeros(site.x().shape, site.x().dtype.numpy), hint="zeros")


@operator("TILE")
def tile(site: Site) -> Value:
    x, counts = site.x(), site.numbers(1, "the counts")
    inner = [n for size in x.shape for n in (1, size)]
    outer = [n for count, size in zip(counts, x.shape, strict=True) for n in (count, size)]
    y = site.b.expand(site.b.reshape(x, inner), outer)
    return site.b.reshape(y, [c * s for c, s in zip(counts, x.shape, strict=True)])


def image_size(site: Site) -> tuple[int, ...]:
    """What an image (N, H, W, C) is resized to."""
    size = site.numbers(1, "the size")
    shape = site.x().shape
    if len(size) != 2 or len(shape) != 4 or min(shape) < 1 or (shape[0], *size, shape[3]) != site.result.shape:
        raise site.refuse(f"{site.tensor()} to {list(size)}")
    return size


@operator("RESIZE_NEAREST_NEIGHBOR", options="ResizeNearestNeighborOptions")
def resize_nearest(site: Site) -> Value:
    """Rows and columns by number, with the place in float32 as TFLM computes it."""
    o, y = site.options, site.x()
    for axis, out in enumerate(image_size(site), 1):
        size = y.shape[axis]
        corners = o.AlignCorners and out > 1
        scale = np.float32(size - 1) / np.float32(out - 1) if corners else np.float32(size) / np.float32(out)
        place = (np.arange(out, dtype=np.float32) + np.float32(0.5 if o.HalfPixelCenters else 0.0)) * scale
        whole = np.floor(place.astype(np.float64) + 0.5) if o.AlignCorners else np.floor(place)
        ids = np.clip(whole.astype(np.int64), 0, size - 1)
        if not np.array_equal(ids, np.arange(size)):
            y = take(site.b, y, axis, site.b.constant(ids, INT64, "nearest"))
    return y


@operator("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(site: Site) -> Value:
    """A window of x is replaced; where it begins is known here."""
    b, x, new = site.b, site.x(0), site.x(1)
    starts = [
        min(max(start, 0), have - size)
        for start, have, size in zip(site.numbers(2, "the place"), x.shape, new.shape, strict=True)
    ]
    for axis in reversed(range(len(x.shape))):
        low, high = starts[axis], starts[axis] + new.shape[axis]
        around = x
        for outer in range(axis):
            around = slice_axis(b, around, outer, starts[outer], starts[outer] + site.x(1).shape[outer])
        ends = [slice_axis(b, around, axis, 0, low), new, slice_axis(b, around, axis, high, x.shape[axis])]
        new = concat(b, ends, axis)
    return new
