"""Moving elements."""

from __future__ import annotations

import numpy as np
from tests.support.tflite_random.draw import UINT8_CASES, Draw, both, case, every


@every("RESHAPE")
@case(UINT8_CASES, "RESHAPE")
def _reshape(d: Draw) -> None:
    shape = d.shape(1, 4)
    size = int(np.prod(shape))
    first = d.pick(*(n for n in range(1, size + 1) if size % n == 0))
    wanted = [first, size // first]
    x = d.input(shape)
    y = d.kept(x, wanted)
    if d.chance(0.3):
        d.call([x], [y], options="ReshapeOptions", NewShape=wanted)
    else:
        d.call([x, d.ints(wanted if d.chance() else [first, -1])], [y])


@every("SQUEEZE", "EXPAND_DIMS")
def _dims(d: Draw) -> None:
    shape = d.shape(1, 3)
    axis = d.integer(0, len(shape))
    wide = (*shape[:axis], 1, *shape[axis:])
    if d.name == "SQUEEZE":
        x = d.input(wide)
        d.call([x], [d.kept(x, shape)], options="SqueezeOptions", SqueezeDims=[axis])
    else:
        x = d.input(shape)
        d.call([x, d.ints(axis)], [d.kept(x, wide)])


@every("TRANSPOSE")
def _transpose(d: Draw) -> None:
    shape = d.shape(1, 5, 5)
    perm = [int(p) for p in d.rng.permutation(len(shape))]
    x = d.input(shape)
    d.call([x, d.ints(perm)], [d.kept(x, [shape[p] for p in perm])])


@every("PACK")
def _pack(d: Draw) -> None:
    shape, count = d.shape(1, 3), d.integer(1, 3)
    axis = d.integer(0, len(shape))
    x = d.input(shape)
    more = [d.input(shape, **(d.like(x) if d.kind != "FLOAT32" else {})) for _ in range(count - 1)]
    y = d.kept(x, (*shape[:axis], count, *shape[axis:]))
    d.call([x, *more], [y], options="PackOptions", Axis=axis, ValuesCount=count)


@every("UNPACK")
def _unpack(d: Draw) -> None:
    shape = d.shape(2, 4, 4)
    axis = d.integer(0, len(shape) - 1)
    x = d.input(shape)
    rest = (*shape[:axis], *shape[axis + 1 :])
    d.call([x], [d.kept(x, rest) for _ in range(shape[axis])], options="UnpackOptions", Axis=axis,
           Num=shape[axis])


@every("SPLIT", "SPLIT_V")
def _split(d: Draw) -> None:
    shape = list(d.shape(1, 4, 4))
    axis, parts = d.integer(0, len(shape) - 1), d.integer(1, 4)
    sizes = [d.integer(1, 3)] * parts if d.name == "SPLIT" else [d.integer(1, 3) for _ in range(parts)]
    shape[axis] = sum(sizes)
    x = d.input(shape)
    outputs = [d.kept(x, [size if k == axis else n for k, n in enumerate(shape)]) for size in sizes]
    if d.name == "SPLIT":
        d.call([d.ints([axis]), x], outputs, options="SplitOptions", NumSplits=parts)
    else:
        d.call([x, d.ints(sizes), d.ints([axis])], outputs, options="SplitVOptions", NumSplits=parts)


@every("CONCATENATION")
@case(UINT8_CASES, "CONCATENATION")
def _concatenation(d: Draw) -> None:
    shape, count = list(d.shape(1, 4, 5)), d.integer(1, 4)
    axis = d.integer(0, len(shape) - 1)
    sizes = [d.integer(1, 5) for _ in range(count)]
    affine = d.affine()
    parts = [d.input([s if k == axis else n for k, n in enumerate(shape)], **affine) for s in sizes]
    y = d.kept(parts[0], [sum(sizes) if k == axis else n for k, n in enumerate(shape)])
    d.call(parts, [y], options="ConcatenationOptions", Axis=axis - len(shape) if d.chance(0.3) else axis)


@every("SLICE")
def _slice(d: Draw) -> None:
    shape = d.shape(1, 4)
    starts = [d.integer(0, n - 1) for n in shape]
    sizes = [d.integer(1, n - a) for n, a in zip(shape, starts, strict=True)]
    given = [-1 if a + s == n and d.chance() else s for n, a, s in zip(shape, starts, sizes, strict=True)]
    x = d.input(shape)
    d.call([x, d.ints(starts), d.ints(given)], [d.kept(x, sizes)])


@every("STRIDED_SLICE")
def _strided_slice(d: Draw) -> None:
    shape = d.shape(1, 4)
    rows, masks = [], {"BeginMask": 0, "EndMask": 0, "ShrinkAxisMask": 0}
    wanted: list[int] = []
    for axis, size in enumerate(shape):
        step = d.pick(1, 1, 2, 3, -1, -2)
        start, stop = d.integer(0, size - 1), d.integer(0, size)
        if d.chance(0.15):
            masks["ShrinkAxisMask"] |= 1 << axis
            rows.append((start, start + 1, 1))
            continue
        begin_open, end_open = d.chance(0.3), d.chance(0.3)
        found = range(size)[slice(None if begin_open else start, None if end_open else stop, step)]
        if not found:
            begin_open = end_open = True
            found = range(size)[::step]
        masks["BeginMask"] |= int(begin_open) << axis
        masks["EndMask"] |= int(end_open) << axis
        rows.append((start, stop, step))
        wanted.append(len(found))
    x = d.input(shape)
    y = d.kept(x, wanted or [])
    ranges = [d.ints(list(column)) for column in zip(*rows, strict=True)]
    d.call([x, *ranges], [y], options="StridedSliceOptions", **masks)


@both("MIRROR_PAD")
@every("PAD", "PADV2")
@case(UINT8_CASES, "PAD")
def _pad(d: Draw) -> None:
    shape = d.shape(1, 4, 5)
    most = 3 if d.name != "MIRROR_PAD" else 0
    pads = [(d.integer(0, most or max(n - 1, 0)), d.integer(0, most or max(n - 1, 0))) for n in shape]
    x = d.input(shape)
    y = d.kept(x, [n + a + b for n, (a, b) in zip(shape, pads, strict=True)])
    inputs = [x, d.ints(pads)]
    if d.name == "PADV2":
        value = d.numbers((1,))
        affine = (d.like(x)["scale"], d.like(x)["zero"]) if d.kind != "FLOAT32" else ()
        inputs.append(d.graph.constant(value, *affine))
    options = {"options": "MirrorPadOptions", "Mode": d.pick(0, 1)} if d.name == "MIRROR_PAD" else {}
    d.call(inputs, [y], **options)


@both("GATHER")
def _gather(d: Draw) -> None:
    shape = d.shape(1, 4, 5)
    axis = d.integer(0, len(shape) - 1)
    ids = d.rng.integers(0, shape[axis], d.shape(1, 2, 4)).astype(np.int32)
    x = d.input(shape)
    y = d.kept(x, (*shape[:axis], *ids.shape, *shape[axis + 1 :]))
    d.call([x, d.graph.constant(ids)], [y], options="GatherOptions", Axis=axis)


@both("GATHER_ND")
def _gather_nd(d: Draw) -> None:
    shape = d.shape(1, 4, 5)
    depth, rows = d.integer(1, len(shape)), d.integer(1, 4)
    ids = np.stack([d.rng.integers(0, n, rows) for n in shape[:depth]], axis=-1).astype(np.int32)
    x = d.input(shape)
    d.call([x, d.graph.constant(ids)], [d.kept(x, (rows, *shape[depth:]))])


@every("REVERSE_V2")
def _reverse(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(shape)
    d.call([x, d.ints([d.integer(0, len(shape) - 1)])], [d.kept(x, shape)])


@both("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def _depth(d: Draw) -> None:
    block, (n, h, w, c) = d.pick(2, 3), d.image(3, 4)
    small, large = (n, h, w, c * block * block), (n, h * block, w * block, c)
    there = d.name == "SPACE_TO_DEPTH"
    x = d.input(large if there else small)
    kind = "SpaceToDepthOptions" if there else "DepthToSpaceOptions"
    d.call([x], [d.kept(x, small if there else large)], options=kind, BlockSize=block)


@both("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def _batch(d: Draw) -> None:
    n, h, w, c = d.image(3, 4)
    blocks = d.integer(1, 3), d.integer(1, 3)
    padded = d.name == "BATCH_TO_SPACE_ND"  # TFLM never sets what it pads with
    extra = [(d.integer(0, 1), d.integer(0, 1)) if padded else (0, 0) for _ in blocks]
    inner = [s * b for s, b in zip((h, w), blocks, strict=True)]
    outer = [max(s - sum(e), 1) for s, e in zip(inner, extra, strict=True)]
    extra = [(0, s - o) if s - o < sum(e) else e for s, o, e in zip(inner, outer, extra, strict=True)]
    batched, plain = (n * blocks[0] * blocks[1], h, w, c), (n, *outer, c)
    there = d.name == "SPACE_TO_BATCH_ND"
    x = d.input(plain if there else batched)
    d.call([x, d.ints(blocks), d.ints(extra)], [d.kept(x, batched if there else plain)])


@every("BROADCAST_TO")
def _broadcast_to(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(tuple(1 if d.chance() else n for n in shape))
    d.call([x, d.ints(shape)], [d.kept(x, shape)])


@both("FILL")
def _fill(d: Draw) -> None:
    shape = d.shape(1, 4)
    x = d.input(())
    d.call([d.ints(shape), x], [d.kept(x, shape)])


@both("ZEROS_LIKE")
def _zeros_like(d: Draw) -> None:
    shape, kind = d.shape(1, 4), d.pick("FLOAT32", "INT32", "INT64")
    d.call([d.graph.input(shape, kind)], [d.result(shape, kind)])
