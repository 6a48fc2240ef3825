"""Operators that only move complex numbers: those of real tensors, with the dimension of the parts left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pilotlight.graph import Value
from pilotlight.graph.builder import Builder
from pilotlight.ops import base
from pilotlight.ops.base import axis, unused
from pilotlight.ops.complex.base import Complex, Operand, Tensor, complex_rule, pair_of

OF_ONE = ("flip.default", "index_select.default", "index_copy.default")
DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")  # arguments that number dimensions


def _real(aten: str) -> Callable[..., Any]:
    lowering = base.lowering(aten)
    assert lowering is not None, aten
    return lowering


def _wrapped(result: Any) -> Any:
    return [Complex(v) for v in result] if isinstance(result, list | tuple) else Complex(result)


def _number(dim: Any, rank: int) -> Any:
    if isinstance(dim, list | tuple):
        return [axis(d, rank) for d in dim]
    return dim if dim is None else axis(dim, rank)


def _as_real(aten: str) -> Callable[..., Any]:
    """The lowering of real tensors, on pairs: dimensions are counted from the front."""
    def lower(b: Builder, **arguments: Any) -> Any:
        rank = next(len(x.shape) for x in _tensors(arguments) if isinstance(x, Complex))
        if aten.startswith("stack"):
            rank += 1
        given = {}
        for name, item in arguments.items():
            if name in DIMS:
                item = _number(item, rank)
            elif isinstance(item, Complex) or (isinstance(item, Value) and name in ("src", "source", "values")):
                item = pair_of(b, item)
            elif isinstance(item, list | tuple) and any(isinstance(x, Complex) for x in item):
                item = [pair_of(b, x) for x in item]
            given[name] = item
        if rank or aten not in OF_ONE:
            return _wrapped(_real(aten)(b, **given))
        expected = b.results  # a single number has one dimension, of size 1, for operators that number dimensions
        b.results = [(dtype, (1, 2)) for dtype, _ in expected]
        of_one = {name: b.reshape(x, (1, 2)) if isinstance(x, Value) and x.shape == (2,) and name != "index" else x
                  for name, x in given.items()}
        y = _real(aten)(b, **of_one)
        b.results = expected
        return Complex(b.reshape(y, expected[0][1]))

    return lower


def _into(aten: str) -> None:
    """The same for what is written into a tensor, which has to be complex then."""
    write = _as_real(aten)

    @complex_rule(aten)
    def lower(b: Builder, self: Complex, **arguments: Any) -> Any:
        return write(b, self=self, **arguments)


def _tensors(arguments: dict[str, Any]) -> list[Any]:
    return [x for item in arguments.values() for x in (item if isinstance(item, list | tuple) else [item])]


for _name in (
    "view.default", "reshape.default", "_unsafe_view.default", "view_copy.default", "_reshape_copy.default",
    "flatten.using_ints", "unflatten.int", "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default",
    "transpose.int", "expand.default", "slice.Tensor", "select.int", "split_with_sizes.default", "split.Tensor",
    "split.sizes", "chunk.default", "tensor_split.sections", "tensor_split.indices", "unbind.int", "unbind_copy.int",
    "narrow_copy.default", "flip.default", "cat.default", "concat.default", "stack.default", "clone.default",
    "alias.default", "lift_fresh_copy.default", "detach.default", "contiguous.default", "dropout.default",
    "prims.copy_strided.default", "index_select.default", "index.Tensor",
):
    complex_rule(_name)(_as_real(_name))

for _name in ("slice_scatter.default", "select_scatter.default", "index_put.default"):
    _into(_name)


@complex_rule("index_copy.default")
def index_copy(b: Builder, self: Complex, dim: int, index: Value, source: Complex) -> Complex:
    """PyTorch takes one type only, but decomposes others into it."""
    y: Complex = _as_real("index_copy.default")(b, self=self, dim=dim, index=index, source=source)
    return y


@complex_rule("_assert_tensor_metadata.default")
def checked(b: Builder, **arguments: Any) -> Any:
    return next(iter(arguments.values()))


@complex_rule("permute.default", "permute_copy.default")
def permute(b: Builder, self: Complex, dims: Sequence[int]) -> Complex:
    rank = len(self.shape)
    return Complex(b.permute(self.pair, (*(axis(d, rank) for d in dims), rank)))


@complex_rule("t.default")
def t(b: Builder, self: Complex) -> Complex:
    return permute(b, self, tuple(reversed(range(len(self.shape)))))


@complex_rule("roll.default")
def roll(b: Builder, self: Complex, shifts: Sequence[int], dims: Sequence[int] = ()) -> Complex:
    x, dims = (self.pair, [axis(d, len(self.shape)) for d in dims]) if dims else (b.reshape(self.pair, (-1, 2)), [0])
    return Complex(b.reshape(_real("roll.default")(b, x, shifts, dims), self.pair.shape))


@complex_rule("repeat.default")
def repeat(b: Builder, self: Complex, repeats: Sequence[int]) -> Complex:
    return Complex(_real("repeat.default")(b, self.pair, [*repeats, 1]))


@complex_rule("unfold.default")
def unfold(b: Builder, self: Complex, dimension: int, size: int, step: int) -> Complex:
    """Windows next to the parts, then the parts last again."""
    expected = b.results
    dtype, windows = expected[0]
    if not self.shape:
        if size != 1:
            raise b.refuse(f"windows of {size} in a complex number without dimensions are not supported; expected 1")
        return Complex(b.reshape(self.pair, windows))
    b.results = [(dtype, (*windows[:-2], 2, windows[-2]))]
    y = _real("unfold.default")(b, self.pair, axis(dimension, len(self.shape)), size, step)
    b.results = expected
    rank = len(windows)
    return Complex(b.permute(y, (*range(rank - 2), rank - 1, rank - 2)))


@complex_rule("as_strided.default", "as_strided_copy.default")
def as_strided(
    b: Builder, self: Complex, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Complex:
    strides, offset = [*(2 * s for s in stride), 1], 2 * (storage_offset or 0)
    return Complex(_real("as_strided.default")(b, self.pair, [*size, 2], strides, offset))


@complex_rule("diagonal.default")
def diagonal(b: Builder, self: Complex, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Complex:
    """The diagonal is the last dimension, after the parts."""
    rank = len(self.shape)
    y = _real("diagonal.default")(b, self.pair, offset, axis(dim1, rank), axis(dim2, rank))
    return Complex(b.permute(y, (*range(rank - 2), rank - 1, rank - 2)))


def _parts_first(b: Builder, x: Tensor) -> Value:
    """The parts as a batch of two."""
    pair = pair_of(b, x)
    rank = len(pair.shape)
    return b.permute(pair, (rank - 1, *range(rank - 1)))


def _parts_last(b: Builder, x: Value) -> Complex:
    return Complex(b.permute(x, (*range(1, len(x.shape)), 0)))


@complex_rule("unfold_backward.default")
def unfold_backward(
    b: Builder, grad_in: Complex, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> Complex:
    at = axis(dim, len(input_sizes)) + 1 if input_sizes else 0
    x = _parts_first(b, grad_in)
    if not input_sizes:
        return Complex(b.reshape(grad_in.pair, (2,)))
    return _parts_last(b, _real("unfold_backward.default")(b, x, [2, *input_sizes], at, size, step))


@complex_rule("index_add.default")
def index_add(b: Builder, self: Complex, dim: int, index: Value, source: Tensor, alpha: Any = 1) -> Complex:
    if alpha != 1 or not self.shape:
        raise b.refuse("index_add of complex tensors is supported with alpha 1 and at least one dimension only")
    return Complex(_real("index_add.default")(b, self.pair, axis(dim, len(self.shape)), index, pair_of(b, source)))


@complex_rule("diagonal_scatter.default")
def diagonal_scatter(
    b: Builder, self: Complex, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Complex:
    first, second = (axis(d, len(self.shape)) + 1 for d in (dim1, dim2))
    y = _real("diagonal_scatter.default")(b, _parts_first(b, self), _parts_first(b, src), offset, first, second)
    return _parts_last(b, y)


@complex_rule("gather.default")
def gather(b: Builder, self: Complex, dim: int, index: Value, sparse_grad: bool = False) -> Complex:
    if not self.shape:
        return self
    ids = b.expand(b.reshape(index, (*index.shape, 1)), (*index.shape, 2))
    return Complex(_real("gather.default")(b, self.pair, axis(dim, len(self.shape)), ids))


@complex_rule("take.default")
def take(b: Builder, self: Complex, index: Value) -> Complex:
    ids = b.reshape(index, (index.elements,))
    rows = _real("index_select.default")
    expected = b.results
    b.results = [(expected[0][0], (index.elements, 2))]
    y = rows(b, b.reshape(self.pair, (-1, 2)), 0, ids)
    b.results = expected
    return Complex(b.reshape(y, expected[0][1]))


@complex_rule("constant_pad_nd.default")
def constant_pad(b: Builder, self: Complex, pad: Sequence[int], value: Any = 0) -> Complex:
    if value != 0:
        raise b.refuse(f"padding a complex tensor with {value} is not supported; expected 0",
                       "pad with 0 and add what is missing")
    return Complex(_real("constant_pad_nd.default")(b, self.pair, [0, 0, *pad], 0))


@complex_rule("pad.default")
def pad(b: Builder, self: Complex, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Complex:
    if mode == "constant":
        return constant_pad(b, self, pad, value or 0)
    return Complex(_real("pad.default")(b, self.pair, [0, 0, *pad], mode))


@complex_rule("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def reflection_pad(b: Builder, self: Complex, padding: Sequence[int]) -> Complex:
    return pad(b, self, padding, "reflect")


@complex_rule("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def replication_pad(b: Builder, self: Complex, padding: Sequence[int]) -> Complex:
    return pad(b, self, padding, "replicate")


# ---- constants ---------------------------------------------------------------------------------------------


def _constant(b: Builder, tensor: torch.Tensor, hint: str) -> Complex:
    return Complex(b.constant(torch.view_as_real(tensor), hint=hint))


def _filled(b: Builder, number: Operand) -> Complex:
    if isinstance(number, Complex | Value):
        return Complex(b.expand(pair_of(b, number), b.results[0][1]))
    shape = b.results[0][1][:-1]
    return _constant(b, torch.full(shape, complex(number), dtype=torch.complex64), "full")


@complex_rule("full.default", "full_like.default", "new_full.default")
def full(b: Builder, fill_value: Operand, **rest: object) -> Complex:
    unused(**rest)
    return _filled(b, fill_value)


@complex_rule("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "empty_like.default",
              "new_empty.default")
def zeros(b: Builder, **rest: object) -> Complex:
    unused(**rest)
    return _filled(b, 0)


@complex_rule("ones.default", "ones_like.default", "new_ones.default")
def ones(b: Builder, **rest: object) -> Complex:
    unused(**rest)
    return _filled(b, 1)


@complex_rule("scalar_tensor.default")
def scalar_tensor(b: Builder, s: Operand, **rest: object) -> Complex:
    unused(**rest)
    return _filled(b, s)


@complex_rule("eye.default", "eye.m")
def eye(b: Builder, n: int, m: int | None = None, **rest: object) -> Complex:
    unused(**rest)
    return _constant(b, torch.eye(n, n if m is None else m, dtype=torch.complex64), "eye")


@complex_rule("arange.default", "arange.start", "arange.start_step", "linspace.default", "logspace.default")
def sequence(b: Builder, **arguments: Any) -> Tensor:
    raise b.refuse("a sequence of complex numbers is not supported", "make it with torch.complex")
