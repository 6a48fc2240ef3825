"""Rows by number: embedding and indexing. (Elements by number are in scatter.py.)

The kernels see (outer, size, inner); an index out of range is moved to the nearest element, because a run has
no way to raise PyTorch's error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import BOOL, FLOAT32, INT8, INT32, INT64, DType, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, axis, lowers, moves, register, same
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.nonzero import compress, nonzero_of
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import SHARED, OwnScale, Treatment
from pilotlight.ops.spec import NodeSpec


def _around(shape: Sequence[int], at: int) -> tuple[int, int, int]:
    return math.prod(shape[:at]), shape[at], math.prod(shape[at + 1 :])


def wrapped(ids: torch.Tensor, size: int) -> torch.Tensor:
    return torch.where(ids < 0, ids + size, ids).clamp(0, size - 1).long()


@register
class Take(Op):
    """x and ids (count); attrs: axis. Rows of x along `axis`, any element type."""

    name = "take"

    def infer(self, node: Node) -> Result:
        x, ids = node.inputs
        at = node.attrs["axis"]
        return [(x.dtype, (*x.shape[:at], ids.elements, *x.shape[at + 1 :]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        at = node.attrs["axis"]
        return args[0].index_select(at, wrapped(args[1].reshape(-1), args[0].shape[at]))

    def selects(self, node: Node, dtype: DType) -> bool:
        return True

    def emit(self, node: Node, c: Step) -> None:
        x, ids = node.inputs
        outer, size, inner = _around(x.shape, node.attrs["axis"])
        kernel = "take_i32" if ids.dtype == INT32 else "take_i64"
        c.use(kernel)
        c.call(f"pl_{kernel}", c.read(x), c.read(ids), c.write(node.output), outer, size, ids.elements,
               inner * x.dtype.size)


@register
class Put(Op):
    """x, ids (count), v (x with `count` along attrs["axis"]); attrs["add"] adds (float32), else overwrites.

    In place over x: the copy before it then does nothing.
    """

    name = "put"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x, ids, v = args
        at = node.attrs["axis"]
        ids = wrapped(ids.reshape(-1), x.shape[at])
        return x.index_add(at, ids, v) if node.attrs["add"] else x.index_copy(at, ids, v)

    def selects(self, node: Node, dtype: DType) -> bool:
        return not node.attrs["add"]

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        x, ids, v = node.inputs
        outer, size, inner = _around(x.shape, node.attrs["axis"])
        c.use("mem")
        c.call("pl_copy", c.write(node.output), c.read(x), x.bytes)
        row = inner * x.dtype.size
        kernel, width = ("put_add_f32", [inner]) if node.attrs["add"] else ("put_i64", [row, row])
        c.use(kernel)
        shape = (outer, size, ids.elements, *width)
        c.call(f"pl_{kernel}", c.read(v), c.read(ids), c.write(node.output), *shape)


# ---- ATen --------------------------------------------------------------------------------------------------


def take(b: Builder, x: Value, at: int, ids: Value) -> Value:
    """Rows of x along one axis; the shape of `ids` takes its place."""
    if ids.dtype not in (INT64, INT32):
        ids = b.cast(ids, INT64)
    y = b.node("take", [x, b.reshape(ids, (ids.elements,))], axis=at)
    return b.reshape(y, (*x.shape[:at], *ids.shape, *x.shape[at + 1 :]))


@moves("embedding.default", quantized=Treatment(OwnScale(), activations=0))
def embedding(
    b: Builder, weight: Value, indices: Value, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    return take(b, weight, 0, indices)


@moves("index_select.default", quantized=SHARED)
def index_select(b: Builder, self: Value, dim: int, index: Value) -> Value:
    if not self.shape:
        return self
    return b.reshape(take(b, self, axis(dim, len(self.shape)), index), b.results[0][1])


def _joined(b: Builder, x: Value, indices: Sequence[Value | None]) -> tuple[Value, int, Value]:
    """Several indices of neighbouring dimensions as one index of these dimensions merged.

    Returns the tensor with the indexed dimensions merged, their place and the index. Indexed dimensions that
    are not neighbours move to the front, which is where PyTorch puts the result.
    """
    dims = [d for d, index in enumerate(indices) if index is not None]
    chosen = [index for index in indices if index is not None]
    if dims != list(range(dims[0], dims[-1] + 1)):
        x = b.permute(x, [*dims, *(d for d in range(len(x.shape)) if d not in dims)])
        dims = list(range(len(dims)))
    sizes = [x.shape[d] for d in dims]
    joined: Value | None = None
    for index, size in zip(chosen, sizes, strict=True):
        index = b.cast(index, INT64)
        if len(chosen) > 1:
            index = apply(b, "where", apply(b, "lt", index, 0), apply(b, "add", index, size), index)
        joined = index if joined is None else apply(b, "add", apply(b, "mul", joined, size), index)
    assert joined is not None
    merged = b.reshape(x, (*x.shape[: dims[0]], math.prod(sizes), *x.shape[dims[-1] + 1 :]))
    return merged, dims[0], joined


def _is_mask(index: Value | None) -> bool:
    return index is not None and (index.dtype.kind == "b" or index.dtype.name == "uint8")


def _without_masks(b: Builder, indices: Sequence[Value | None]) -> list[Value | None]:
    """Masks as the indices of their true elements, one for each dimension that they cover."""
    result: list[Value | None] = []
    for index in indices:
        if index is None or not _is_mask(index):
            result.append(index)
            continue
        rows = nonzero_of(b, index)
        for d in range(rows.shape[1]):
            column = b.node("slice", [rows], ranges=((0, rows.shape[0], 1), (d, d + 1, 1)))
            result.append(b.reshape(column, (rows.shape[0],)))
    return result


@moves("index.Tensor", quantized=SHARED)
def index_tensor(b: Builder, self: Value, indices: Sequence[Value | None]) -> Value:
    chosen = [index for index in indices if index is not None]
    if len(chosen) == 1 and _is_mask(chosen[0]) and indices[0] is not None and chosen[0].shape:
        return compress(b, self, b.cast(chosen[0], BOOL))
    x, at, ids = _joined(b, self, _without_masks(b, indices))
    return b.reshape(take(b, x, at, ids), b.results[0][1])


@moves("index_put.default")
def index_put(
    b: Builder, self: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    dims = [d for d, index in enumerate(indices) if index is not None]
    masks = [b.cast(index, BOOL) for index in indices if index is not None and _is_mask(index)]
    if masks:
        return _put_mask(b, self, masks[0], dims, values, accumulate)
    x, at, ids = _joined(b, self, indices)
    before, after = x.shape[:at], x.shape[at + 1 :]
    v = b.expand(b.cast(values, x.dtype), (*before, *ids.shape, *after))
    v = b.reshape(v, (*before, ids.elements, *after))
    y = put(b, x, at, ids, v, "sum" if accumulate else "set")
    if dims == list(range(dims[0], dims[-1] + 1)):
        return b.reshape(y, self.shape)
    order = [*dims, *(d for d in range(len(self.shape)) if d not in dims)]  # as _joined has moved them
    return b.permute(b.reshape(y, [self.shape[d] for d in order]), [order.index(d) for d in range(len(order))])


def _put_mask(
    b: Builder, x: Value, mask: Value, dims: Sequence[int], values: Value, accumulate: bool
) -> Value:
    """x with values where the mask is true: the same for each true element, or one row after another."""
    at, covered = dims[0], len(mask.shape)
    if len(dims) != 1:
        raise b.refuse("index_put with a mask next to other indices is not supported", "use torch.where")
    inner = x.shape[at + covered :]
    values = b.cast(values, x.dtype)
    if len(values.shape) <= len(inner) or values.shape[-len(inner) - 1] == 1:
        spread = b.reshape(mask, mask.shape + (1,) * len(inner))
        lead = values.shape[: max(len(values.shape) - len(inner) - 1, 0)]
        rows = b.reshape(values, (*lead, *(1,) * covered, *values.shape[-len(inner) :])) if inner and lead else values
        new = apply(b, "add", x, rows) if accumulate else rows
        return apply(b, "where", spread, new, x)
    if at or accumulate:
        raise b.refuse("index_put with a mask and a row for each true element is supported in front only",
                       "use torch.where")
    rows = b.expand(values, (values.shape[0], *inner))
    flat = b.reshape(x, (mask.elements, *inner))
    return b.reshape(b.node("place", [flat, b.reshape(mask, (mask.elements,)), rows]), x.shape)


def put(b: Builder, x: Value, at: int, ids: Value, v: Value, mode: str) -> Value:
    """x with rows `ids` along one axis replaced by those of v, or joined with them: mode as in Scatter."""
    ids = b.reshape(b.cast(ids, INT64), (ids.elements,))
    if mode == "set" or (mode == "sum" and x.dtype == FLOAT32):
        return b.node("put", [x, ids, v], axis=at, add=mode == "sum")
    return b.node("scatter", [x, b.reshape(ids, (-1, *(1,) * (len(x.shape) - at - 1))), v], axis=at, mode=mode,
                  shape=v.shape)


@moves("index_copy.default", quantized=SHARED)
def index_copy(b: Builder, self: Value, dim: int, index: Value, source: Value) -> Value:
    return _by_row(b, self, dim, index, source, "set")


@lowers("index_add.default")
def index_add(b: Builder, self: Value, dim: int, index: Value, source: Value, alpha: float = 1) -> Value:
    source = source if alpha == 1 else b.cast(apply(b, "mul", source, alpha), self.dtype)
    return _by_row(b, self, dim, index, source, "sum")


def _by_row(b: Builder, x: Value, dim: int, index: Value, source: Value, mode: str) -> Value:
    at = axis(dim, len(x.shape))
    flat = b.reshape(x, x.shape or (1,))
    rows = b.reshape(source, (*x.shape[:at], index.elements, *x.shape[at + 1 :]))
    return b.reshape(put(b, flat, at, index, rows, mode), x.shape)


@moves("take.default")
def take_flat(b: Builder, self: Value, index: Value) -> Value:
    return take(b, b.reshape(self, (self.elements,)), 0, index)


@moves("put.default")
def put_flat(b: Builder, self: Value, index: Value, source: Value, accumulate: bool = False) -> Value:
    flat, v = b.reshape(self, (self.elements,)), b.reshape(source, (source.elements,))
    return b.reshape(put(b, flat, 0, index, v, "sum" if accumulate else "set"), self.shape)


@moves("slice_scatter.default", quantized=SHARED)
def slice_scatter(
    b: Builder, self: Value, src: Value, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Value:
    """x[start:end:step] = src, in place where x is no longer needed."""
    at = axis(dim, len(self.shape))
    rows = range(*slice(start, end, step).indices(self.shape[at]))
    if len(rows) == self.shape[at]:
        return b.expand(b.cast(src, self.dtype), self.shape)
    return _put_rows(b, self, src, at, rows)


@moves("select_scatter.default", quantized=SHARED)
def select_scatter(b: Builder, self: Value, src: Value, dim: int, index: int) -> Value:
    at = axis(dim, len(self.shape))
    row = index % self.shape[at]
    return _put_rows(b, self, b.reshape(src, (*src.shape[:at], 1, *src.shape[at:])), at, range(row, row + 1))


def _put_rows(b: Builder, x: Value, v: Value, at: int, rows: range) -> Value:
    ids = b.constant(np.array(rows, np.int64), hint="rows")
    v = b.expand(b.cast(v, x.dtype), (*x.shape[:at], len(rows), *x.shape[at + 1 :]))
    return b.node("put", [x, ids, v], axis=at, add=False) if rows else x


@moves("diagonal.default", quantized=SHARED)
def diagonal(b: Builder, self: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    rank = len(self.shape)
    first, second = axis(dim1, rank), axis(dim2, rank)
    rest = [d for d in range(rank) if d not in (first, second)]
    rows, columns = self.shape[first], self.shape[second]
    moved = b.permute(self, [*rest, first, second])
    flat = b.reshape(moved, (*(self.shape[d] for d in rest), rows * columns))
    grid = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    return take(b, flat, len(rest), b.constant(np.diagonal(grid, offset).copy(), hint="diagonal"))


@form("take", "gather", width=8)
def rows(q: Integer) -> list[Node] | None:
    """Rows of a constant: the constant in the scale of the result."""
    x, ids = q.inputs
    if x.data is None or x.dtype.kind != "f" or q.dtype != INT8:
        return None
    codes = np.rint(x.data.astype(np.float64) / q.quant.scale) + q.quant.zero_point
    table = q.graph.constant(np.clip(codes, *q.limits).astype(np.int8), x.name)
    return [q.build(NodeSpec(q.node.op, q.node.attrs), table, ids)]
