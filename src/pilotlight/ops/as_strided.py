"""Windows of any strides into a tensor, and writing into them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pilotlight.codegen.loops import contiguous
from pilotlight.graph import Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import add_op, axis, moves
from pilotlight.ops.index.float import put
from pilotlight.ops.quantizing import SHARED, quantized
from pilotlight.ops.strided import window
from pilotlight.ops.views import Window, slice_axis

add_op("as_strided", Window(
    lambda n: n.attrs["shape"],
    lambda n: (n.attrs["strides"], n.attrs["offset"]),
    lambda n, x: window(x, n.attrs["shape"], n.attrs["strides"], n.attrs["offset"]),
))


def _check(b: Builder) -> None:
    """Strides count elements of PyTorch's memory: that must be the tensor itself, in order."""
    if not b.dense():
        raise b.refuse("as_strided of a part of a tensor or of one that is not contiguous is not supported",
                       "call clone(memory_format=torch.contiguous_format) first")


@moves("as_strided.default", "as_strided_copy.default", quantized=SHARED)
def as_strided(
    b: Builder, self: Value, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Value:
    _check(b)
    return b.node("as_strided", [self], shape=tuple(size), strides=tuple(stride), offset=storage_offset or 0)


def _put_at(b: Builder, x: Value, places: np.ndarray, v: Value) -> Value:
    """x with the elements at these places of its memory replaced."""
    flat, ids = b.reshape(x, (x.elements,)), b.constant(places.reshape(-1).astype(np.int64), hint="places")
    return b.reshape(put(b, flat, 0, ids, b.reshape(v, (v.elements,)), "set"), x.shape)


@moves("unfold.default", quantized=SHARED)
def unfold(b: Builder, self: Value, dimension: int, size: int, step: int) -> Value:
    """Windows of `size` along one dimension, side by side in a new last one."""
    x = b.reshape(self, self.shape or (1,))
    at = axis(dimension, len(x.shape))
    strides = list(contiguous(x.shape))
    return b.node("as_strided", [x], shape=b.results[0][1], offset=0,
                  strides=(*strides[:at], strides[at] * step, *strides[at + 1 :], strides[at]))


quantized(SHARED, "im2col.default")  # which PyTorch decomposes into it


@moves("as_strided_scatter.default")
def as_strided_scatter(
    b: Builder, self: Value, src: Value, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Value:
    _check(b)
    places = np.full(1, storage_offset or 0, np.int64)
    for count, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(count) * step
    return _put_at(b, self, places, src)


@moves("diagonal_scatter.default")
def diagonal_scatter(b: Builder, self: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    places = np.arange(self.elements).reshape(self.shape).diagonal(offset, dim1, dim2)
    return _put_at(b, self, places, src)


@moves("narrow_copy.default")
def narrow(b: Builder, self: Value, dim: int, start: int, length: int) -> Value:
    at = axis(dim, len(self.shape))
    first = start % self.shape[at] if start < 0 else start
    return slice_axis(b, self, at, first, first + length)
