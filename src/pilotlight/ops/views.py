"""Operators that only move data: strided windows of one tensor, concatenation, padding.

A window is a table row: how its output walks the input. Where the walk is dense the planner makes the output
a view and no code is written; otherwise one copy loop is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import elementwise_distance
from pilotlight.graph import Node, Shape, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import convert
from pilotlight.ops.areas import Area, AreaPart, window_part
from pilotlight.ops.base import Op, Result, add_op, axis, moves, register, same
from pilotlight.ops.quantizing import SHARED, quantized

Item = TypeVar("Item")
LARGE = 1 << 22  # elements above which a distance is not worth computing


class Window(Op):
    """An operator whose output reads its input at `offset + sum(index * stride)`."""

    moves = True

    def __init__(
        self,
        shape: Callable[[Node], Shape],
        walk: Callable[[Node], tuple[Sequence[int], int]],
        reference: Callable[[Node, torch.Tensor], torch.Tensor],
        permuted: Callable[[Node, tuple[int, ...]], dict[str, Any]] | None = None,
    ):
        self._shape, self._walk, self._reference, self._permuted = shape, walk, reference, permuted

    def infer(self, node: Node) -> Result:
        return [(node.inputs[0].dtype, self._shape(node))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return self._reference(node, args[0]).contiguous()

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        return self._permuted(node, perm) if self._permuted else None

    def walk(self, node: Node) -> tuple[Sequence[int], int]:
        """The strides and the offset in the input's elements."""
        return self._walk(node)

    def view_offset(self, node: Node) -> int | None:
        strides, offset = self._walk(node)
        out = node.output
        sizes, (x, _) = loops.collapse(out.shape, [tuple(strides), loops.contiguous(out.shape)])
        dense = not sizes or (len(sizes) == 1 and x[0] == 1)
        return offset * out.dtype.size if dense else None

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        if node.output.elements > LARGE:
            return {}
        reads = loops.element_indices(node.output.shape, *self._walk(node))
        size = node.output.dtype.size
        return {(0, 0): elementwise_distance(reads, size, size)}

    def emit(self, node: Node, c: Step) -> None:
        strides, offset = self._walk(node)
        loops.copy(c, node.output.shape, node.inputs[0], strides, offset, node.output)


def _dense(node: Node) -> tuple[int, ...]:
    return loops.contiguous(node.inputs[0].shape)


def _expand_strides(node: Node) -> tuple[Sequence[int], int]:
    return loops.broadcast(node.inputs[0], node.attrs["shape"]).strides, 0


def _slice_shape(node: Node) -> Shape:
    return tuple(max(0, -(-(b - a) // s)) for a, b, s in node.attrs["ranges"])


def _slice_walk(node: Node) -> tuple[Sequence[int], int]:
    dense = _dense(node)
    strides = [d * s for d, (_, _, s) in zip(dense, node.attrs["ranges"], strict=True)]
    return strides, sum(d * a for d, (a, _, _) in zip(dense, node.attrs["ranges"], strict=True))


def _slice_reference(node: Node, x: torch.Tensor) -> torch.Tensor:
    return x[tuple(slice(a, b, s) for a, b, s in node.attrs["ranges"])]


def _flip_walk(node: Node) -> tuple[Sequence[int], int]:
    dense, shape, dims = _dense(node), node.inputs[0].shape, node.attrs["dims"]
    strides = [-d if i in dims else d for i, d in enumerate(dense)]
    return strides, sum(dense[i] * (shape[i] - 1) for i in dims)


def unpermuted(items: Sequence[Item], perm: Sequence[int]) -> tuple[Item, ...]:
    """Per-dimension items of `x.permute(perm)` as those of x."""
    result = list(items)
    for i, p in enumerate(perm):
        result[p] = items[i]
    return tuple(result)


WINDOWS = {
    "reshape": Window(
        lambda n: n.attrs["shape"],
        lambda n: (loops.contiguous(n.attrs["shape"]), 0),
        lambda n, x: x.reshape(n.attrs["shape"]),
    ),
    "permute": Window(
        lambda n: tuple(n.inputs[0].shape[p] for p in n.attrs["perm"]),
        lambda n: ([_dense(n)[p] for p in n.attrs["perm"]], 0),
        lambda n, x: x.permute(n.attrs["perm"]),
    ),
    "expand": Window(
        lambda n: n.attrs["shape"],
        _expand_strides,
        lambda n, x: x.expand(n.attrs["shape"]),
        lambda n, perm: {"shape": unpermuted(n.attrs["shape"], perm)},
    ),
    "slice": Window(
        _slice_shape, _slice_walk, _slice_reference, lambda n, perm: {"ranges": unpermuted(n.attrs["ranges"], perm)}
    ),
    "flip": Window(
        lambda n: n.inputs[0].shape,
        _flip_walk,
        lambda n, x: x.flip(n.attrs["dims"]),
        lambda n, perm: {"dims": tuple(perm[d] for d in n.attrs["dims"])},
    ),
}
for _name, _window in WINDOWS.items():
    add_op(_name, _window)


class Copy(Window):
    """The same bytes in another place: for outputs that must not share memory."""

    def view_offset(self, node: Node) -> int | None:
        return None


add_op("copy", Copy(lambda n: n.inputs[0].shape, lambda n: (_dense(n), 0), lambda n, x: x.clone()))


@register
class Shuffle(Op):
    """The dimension `axis` as `sizes`, these in another `order`. Exists only while the layout is chosen."""

    name = "shuffle"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        at, sizes, order = (node.attrs[k] for k in ("axis", "sizes", "order"))
        pieces = args[0].unflatten(at, sizes).movedim([at + p for p in order], list(range(at, at + len(order))))
        return pieces.reshape(args[0].shape)

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return {**node.attrs, "axis": perm[node.attrs["axis"]]}


@register
class Pad(Op):
    """A constant around a tensor: `before` and `after` per dimension, `value`; negative amounts crop."""

    name = "pad"
    moves = True

    def infer(self, node: Node) -> Result:
        x = node.inputs[0]
        amounts = zip(x.shape, node.attrs["before"], node.attrs["after"], strict=True)
        return [(x.dtype, tuple(size + b + a for size, b, a in amounts))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        pairs = list(zip(node.attrs["before"], node.attrs["after"], strict=True))
        flat = [amount for pair in reversed(pairs) for amount in pair]
        return F.pad(args[0], flat, value=node.attrs["value"])

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        sides = {side: unpermuted(node.attrs[side], perm) for side in ("before", "after")}
        return {**sides, "value": node.attrs["value"]}

    def part(self, node: Node, area: Area) -> AreaPart | None:
        a = node.attrs
        found = window_part(node, area, (1, 1), (1, 1), a["before"][1:3], (1, 1))
        if found is None or a["before"][0] or a["after"][0]:
            return None
        read, ((_, top, bottom), (_, left, right)) = found
        before, after = (0, top, left, a["before"][3]), (0, bottom, right, a["after"][3])
        return AreaPart({**a, "before": before, "after": after}, [read])

    def emit(self, node: Node, c: Step) -> None:
        x, out = node.inputs[0], node.output
        before = node.attrs["before"]
        filler = loops.element(out.dtype, convert(np.asarray(node.attrs["value"]), out.dtype))
        c.use("mem")
        c.line("{")
        c.line(f"    {out.dtype.c} *y = {c.write(out)}; // ({', '.join(map(str, out.shape))})")
        loops.nest(c, [out.elements], [f"y[i] = {filler};", "PL_BARRIER(y);"])
        c.line("}")
        strides = loops.contiguous(out.shape)
        kept = tuple(
            size - max(-b, 0) - max(-a, 0) for size, b, a in zip(x.shape, before, node.attrs["after"], strict=True)
        )
        dense = loops.contiguous(x.shape)
        start_in = sum(d * max(-b, 0) for d, b in zip(dense, before, strict=True))
        start_out = sum(s * max(b, 0) for s, b in zip(strides, before, strict=True))
        loops.copy(c, kept, x, dense, start_in, out, strides, start_out)


# ---- ATen ------------------------------------------------------------------------------------------------------


@moves("view.default", "reshape.default", "_unsafe_view.default", "view_copy.default", "_reshape_copy.default",
       quantized=SHARED)
def view(b: Builder, self: Value, size: Sequence[int] = (), shape: Sequence[int] = ()) -> Value:
    return b.reshape(self, tuple(b.results[0][1]))


@moves("flatten.using_ints", "unflatten.int", "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default",
       quantized=SHARED)
def shape_only(b: Builder, self: Value, **_: object) -> Value:
    return b.reshape(self, b.results[0][1])


@moves("permute.default", "permute_copy.default", quantized=SHARED)
def permute(b: Builder, self: Value, dims: Sequence[int]) -> Value:
    return b.permute(self, tuple(axis(d, len(self.shape)) for d in dims))


@moves("transpose.int", quantized=SHARED)
def transpose(b: Builder, self: Value, dim0: int, dim1: int) -> Value:
    perm = list(range(len(self.shape)))
    if perm:
        i, j = axis(dim0, len(perm)), axis(dim1, len(perm))
        perm[i], perm[j] = perm[j], perm[i]
    return b.permute(self, perm)


@moves("t.default", quantized=SHARED)
def t(b: Builder, self: Value) -> Value:
    return b.permute(self, tuple(reversed(range(len(self.shape)))))


@moves("expand.default", quantized=SHARED)
def expand(b: Builder, self: Value, size: Sequence[int], implicit: bool = False) -> Value:
    return b.expand(self, b.results[0][1])


def slice_axis(b: Builder, x: Value, dim: int, start: int, stop: int, step: int = 1) -> Value:
    ranges = [(0, size, 1) for size in x.shape]
    ranges[dim] = (start, stop, step)
    return x if ranges[dim] == (0, x.shape[dim], 1) else b.node("slice", [x], ranges=tuple(ranges))


@moves("slice.Tensor", quantized=SHARED)
def slice_(
    b: Builder, self: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    dim = axis(dim, len(self.shape))
    first, last, _ = slice(start, end, step).indices(self.shape[dim])
    return slice_axis(b, self, dim, first, max(first, last), step)


@moves("select.int", quantized=SHARED)
def select(b: Builder, self: Value, dim: int, index: int) -> Value:
    dim = axis(dim, len(self.shape))
    index %= self.shape[dim]
    return b.reshape(slice_axis(b, self, dim, index, index + 1), b.results[0][1])


@moves("split_with_sizes.default", "split.Tensor", "split.sizes", "chunk.default", "tensor_split.sections",
        "tensor_split.indices", quantized=SHARED)
def split(b: Builder, self: Value, dim: int = 0, **_: object) -> list[Value]:
    dim, start, parts = axis(dim, len(self.shape)), 0, []
    for _dtype, shape in b.results:
        parts.append(slice_axis(b, self, dim, start, start + shape[dim]))
        start += shape[dim]
    return parts


@moves("unbind.int", "unbind_copy.int", quantized=SHARED)
def unbind(b: Builder, self: Value, dim: int = 0) -> list[Value]:
    dim = axis(dim, len(self.shape))
    return [
        b.reshape(slice_axis(b, self, dim, i, i + 1), shape) for i, (_, shape) in enumerate(b.results)
    ]


@moves("constant_pad_nd.default", quantized=SHARED)
def constant_pad(b: Builder, self: Value, pad: Sequence[int], value: float = 0) -> Value:
    rank = len(self.shape)
    before, after = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    if not any(before) and not any(after):
        return self
    number = float(value) if self.dtype.kind in "fh" else int(value)
    return b.node("pad", [self], before=tuple(before), after=tuple(after), value=number)


@moves("pad.default", quantized=SHARED)
def pad(b: Builder, self: Value, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Value:
    if mode == "constant":
        return constant_pad(b, self, pad, value or 0)
    rank, x = len(self.shape), self
    for i in range(len(pad) // 2):
        x = _pad_axis(b, x, rank - 1 - i, pad[2 * i], pad[2 * i + 1], mode)
    return x


@moves("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default", quantized=SHARED)
def reflection_pad(b: Builder, self: Value, padding: Sequence[int]) -> Value:
    return pad(b, self, padding, "reflect")


@moves("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default", quantized=SHARED)
def replication_pad(b: Builder, self: Value, padding: Sequence[int]) -> Value:
    return pad(b, self, padding, "replicate")


def _pad_axis(b: Builder, x: Value, dim: int, before: int, after: int, mode: str) -> Value:
    """Reflect, replicate or wrap along one axis: pieces of the input around it."""
    size = x.shape[dim]
    low, high = max(-before, 0), size - max(-after, 0)  # negative amounts crop
    cut = lambda start, stop: slice_axis(b, x, dim, start, stop)  # noqa: E731
    if mode == "reflect":
        left = [b.node("flip", [cut(1, 1 + before)], dims=(dim,))] if before > 0 else []
        right = [b.node("flip", [cut(size - 1 - after, size - 1)], dims=(dim,))] if after > 0 else []
    elif mode == "replicate":
        left, right = [cut(0, 1)] * max(before, 0), [cut(size - 1, size)] * max(after, 0)
    else:
        left = [cut(high - before, high)] if before > 0 else []
        right = [cut(low, low + after)] if after > 0 else []
    middle = cut(low, high)
    parts = [*left, middle, *right]
    return middle if len(parts) == 1 else b.node("concat", parts, axis=dim)


@moves("flip.default", quantized=SHARED)
def flip(b: Builder, self: Value, dims: Sequence[int]) -> Value:
    which = tuple(sorted({axis(d, len(self.shape)) for d in dims}))
    return b.node("flip", [self], dims=which) if which and self.shape else self


@moves("roll.default", quantized=SHARED)
def roll(b: Builder, self: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    shape, x = self.shape, self
    if not dims:
        x, dims = b.reshape(self, (self.elements,)), [0]
    for shift, dim in zip(shifts, dims, strict=True):
        dim = axis(dim, len(x.shape))
        size = x.shape[dim]
        cut = size - shift % size if size else 0
        if cut not in (0, size):
            x = b.node("concat", [slice_axis(b, x, dim, cut, size), slice_axis(b, x, dim, 0, cut)], axis=dim)
    return b.reshape(x, shape)


@moves("repeat.default", quantized=SHARED)
def repeat(b: Builder, self: Value, repeats: Sequence[int]) -> Value:
    lead = len(repeats) - len(self.shape)
    shape = (1,) * lead + self.shape
    inner = [size for n, s in zip(repeats, shape, strict=True) for size in (1, s)]
    outer = [size for n, s in zip(repeats, shape, strict=True) for size in (n, s)]
    return b.reshape(b.expand(b.reshape(self, inner), outer), b.results[0][1])




# Views and repetitions that PyTorch decomposes into those above.
quantized(
    SHARED, "channel_shuffle.default", "expand_as.default", "movedim.int", "movedim.intlist", "narrow.default",
    "pixel_shuffle.default", "pixel_unshuffle.default", "repeat_interleave.self_int", "swapaxes.default",
    "tile.default", "tril.default", "triu.default", "view_as.default",
)
