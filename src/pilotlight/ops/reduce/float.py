"""Reductions: one table row each. A reduction keeps its dimensions as size 1; a reshape drops them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import forward_distance
from pilotlight.graph import BOOL, FLOAT32, INT8, INT64, DType, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, add_op, axis, lowers
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import LARGEST, OWN, READ, SHARED, Treatment
from pilotlight.ops.softmax.float import lanes


@dataclass(frozen=True)
class ReduceRow:
    """One reduction over a run of neighbouring dimensions."""

    name: str
    torch: Callable[..., torch.Tensor]  # (x, dim=, keepdim=True)
    kernels: dict[str, str]  # by the input's dtype: header and function pl_NAME
    result: DType | None = None  # None: the input's
    empty: float | None = None  # of no elements at all; None: PyTorch raises an error
    on_bool: str = ""  # the row that means the same for bool


def _prod(x: torch.Tensor, dim: Sequence[int], keepdim: bool) -> torch.Tensor:
    for d in dim:
        x = torch.prod(x, d, keepdim)
    return x


def _over(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A function of one dimension applied to a run of them."""

    def apply(x: torch.Tensor, dim: Sequence[int], keepdim: bool) -> torch.Tensor:
        first, last = min(dim), max(dim)
        y = function(x.flatten(first, last), first, True)
        return y.reshape(*x.shape[:first], *(1,) * len(dim), *x.shape[last + 1 :])

    return apply


def _ordered(name: str) -> dict[str, str]:
    return {"float32": f"{name}_f32", "int64": f"{name}_i64", "int8": f"{name}_i8"}


ROWS = [
    ReduceRow("sum", torch.sum, {"float32": "reduce_sum_f32", "int64": "reduce_sum_i64"}, empty=0),
    ReduceRow("mean", torch.mean, {"float32": "reduce_mean_f32"}, empty=math.nan),
    ReduceRow("amax", torch.amax, _ordered("reduce_amax"), on_bool="any"),
    ReduceRow("amin", torch.amin, _ordered("reduce_amin"), on_bool="all"),
    ReduceRow("prod", _prod, {"float32": "reduce_prod_f32", "int64": "reduce_prod_i64"}, empty=1),
    ReduceRow("any", torch.any, {"bool": "reduce_any_u8"}, empty=0),
    ReduceRow("all", torch.all, {"bool": "reduce_all_u8"}, empty=1),
    ReduceRow("argmax", _over(torch.argmax), _ordered("argmax"), INT64),
    ReduceRow("argmin", _over(torch.argmin), _ordered("argmin"), INT64),
]


class Reduce(Op):
    """attrs: axes, neighbouring and sorted."""

    def __init__(self, row: ReduceRow):
        self.row = row

    def infer(self, node: Node) -> Result:
        x, axes = node.inputs[0], node.attrs["axes"]
        shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
        return [(self.row.result or x.dtype, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return self.row.torch(args[0], dim=node.attrs["axes"], keepdim=True)

    def selects(self, node: Node, dtype: DType) -> bool:
        """Extremes and their places have kernels for int8."""
        return dtype == INT8 and dtype.name in self.row.kernels

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        axes = tuple(sorted(perm[a] for a in node.attrs["axes"]))
        if self.row.result is not None and len(axes) > 1:
            return None  # positions are counted in PyTorch's order
        return {"axes": axes} if axes == tuple(range(axes[0], axes[-1] + 1)) else None

    def shape(self, node: Node) -> tuple[int, int, int]:
        x, axes = node.inputs[0], node.attrs["axes"]
        merged = (*x.shape[: axes[0]], int(np.prod([x.shape[a] for a in axes])), *x.shape[axes[-1] + 1 :])
        return lanes(merged, axes[0])

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Each result is written after its own lane was read and before the next one is."""
        x, out = node.inputs[0], node.output
        if x.dtype != out.dtype or out.elements < 2:
            return {(0, 0): 0} if x.dtype == out.dtype and out.elements else {}
        outer, count, inner = self.shape(node)
        first = (np.arange(outer)[:, None] * count * inner + np.arange(inner)).reshape(-1) * x.dtype.size
        written = np.arange(1, out.elements + 1) * out.dtype.size
        return {(0, 0): min(forward_distance(first[1:], written[:-1]), 0)}

    def emit(self, node: Node, c: Step) -> None:
        x = node.inputs[0]
        kernel = self.row.kernels[x.dtype.name]
        c.use(kernel)
        c.call(f"pl_{kernel}", c.read(x), c.write(node.output), *self.shape(node))


for _row in ROWS:
    add_op(_row.name, Reduce(_row))
_BY_NAME = {row.name: row for row in ROWS}


def reduce(b: Builder, op: str, x: Value, dims: Sequence[int] | None) -> Value:
    """Reduce over any dimensions; the result keeps them as size 1. Integers without a kernel are reduced as int64."""
    rank, row = len(x.shape), _BY_NAME[op]
    if rank == 0:
        return reduce(b, op, b.reshape(x, (1,)), (0,))
    axes = sorted({axis(d, rank) for d in dims}) if dims else list(range(rank))
    if x.dtype == BOOL and row.on_bool:
        return reduce(b, row.on_bool, x, dims)
    if x.dtype.name not in row.kernels:
        if x.dtype.kind == "f" or "int64" not in row.kernels:
            raise b.refuse(f"{op} of {x.dtype} is not supported; expected {' or '.join(row.kernels)}")
        return b.cast(reduce(b, op, b.cast(x, INT64), dims), row.result or x.dtype)
    if any(x.shape[a] == 0 for a in axes):
        if row.empty is None:
            raise b.refuse(f"{op} over a dimension of size 0 is not supported")
        shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
        return b.expand(b.scalar(row.empty, row.result or x.dtype), shape)
    if axes == list(range(axes[0], axes[-1] + 1)):
        return b.node(op, [x], axes=tuple(axes))
    rest = [d for d in range(rank) if d not in axes]
    moved = b.permute(x, (*rest, *axes))
    y = b.node(op, [moved], axes=tuple(range(len(rest), rank)))
    return b.reshape(y, tuple(1 if i in axes else size for i, size in enumerate(x.shape)))


def _lower(*aten: str, op: str, to_bool: bool = False, quantized: Treatment | None = None) -> None:
    def lower(
        b: Builder, self: Value, dim: int | Sequence[int] | None = None, keepdim: bool = False,
        dtype: object = None,
    ) -> Value:
        dims = [dim] if isinstance(dim, int) else dim
        result, shape = b.results[0]
        wanted = BOOL if to_bool else self.dtype if result == INT64 and op.startswith("arg") else result
        x = b.cast(self, wanted)
        return b.cast(b.reshape(reduce(b, op, x, dims), shape), result)

    lowers(*aten, quantized=quantized)(lower)


_lower("sum.default", "sum.dim_IntList", op="sum", quantized=OWN)
_lower("mean.default", "mean.dim", op="mean", quantized=OWN)
_lower("amax.default", "max.default", op="amax", quantized=LARGEST)
_lower("amin.default", "min.default", op="amin", quantized=SHARED)
_lower("prod.default", "prod.dim_int", op="prod")
_lower("any.default", "any.dim", "any.dims", op="any", to_bool=True)
_lower("all.default", "all.dim", "all.dims", op="all", to_bool=True)
_lower("argmax.default", op="argmax", quantized=READ)
_lower("argmin.default", op="argmin", quantized=READ)


def _lower_pair(aten: str, value: str, index: str, quantized: Treatment) -> None:
    def lower(b: Builder, self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
        values, indices = reduce(b, value, self, [dim]), reduce(b, index, self, [dim])
        return b.reshape(values, b.results[0][1]), b.reshape(indices, b.results[1][1])

    lowers(aten, quantized=quantized)(lower)


_lower_pair("max.dim", "amax", "argmax", LARGEST)
_lower_pair("min.dim", "amin", "argmin", SHARED)


def _variance(b: Builder, x: Value, dims: Sequence[int] | None, correction: float) -> Value:
    """The mean squared distance from the mean, with PyTorch's correction of the divisor."""
    axes = [axis(d, len(x.shape)) for d in dims] if dims else list(range(len(x.shape)))
    count = int(np.prod([x.shape[a] for a in axes]))
    mean = reduce(b, "mean", x, axes)
    squares = reduce(b, "mean", apply(b, "square", apply(b, "sub", x, mean)), axes)
    if correction == 0:
        return squares
    return apply(b, "mul", squares, count / (count - correction) if count > correction else math.inf)


@lowers("var.correction")
def var(
    b: Builder, self: Value, dim: Sequence[int] | None = None, correction: float | None = None,
    keepdim: bool = False,
) -> Value:
    if self.dtype != FLOAT32:
        raise b.refuse(f"variance of {self.dtype} is not supported; expected float32")
    return b.reshape(_variance(b, self, dim, 1 if correction is None else correction), b.results[0][1])


@lowers("var_mean.correction")
def var_mean(
    b: Builder, self: Value, dim: Sequence[int] | None = None, correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Value, Value]:
    return var(b, self, dim, correction), b.reshape(reduce(b, "mean", self, dim), b.results[1][1])


@lowers("linalg_vector_norm.default")
def vector_norm(
    b: Builder, self: Value, ord: float = 2, dim: Sequence[int] | None = None, keepdim: bool = False,
    dtype: object = None,
) -> Value:
    return b.reshape(norm(b, b.cast(self, FLOAT32), ord, dim), b.results[0][1])


def norm(b: Builder, x: Value, order: float, dims: Sequence[int] | None) -> Value:
    """The root of the sum of powers, with its limits: the number of elements that are not 0, the largest, the least."""
    if not x.shape:
        return norm(b, b.reshape(x, (1,)), order, None)
    if order == 2:
        return apply(b, "sqrt", reduce(b, "sum", apply(b, "square", x), dims))
    if order == 0:
        return reduce(b, "sum", b.cast(apply(b, "ne", x, 0), FLOAT32), dims)
    sizes = apply(b, "abs", x)
    if math.isinf(order):
        axes = [axis(d, len(x.shape)) for d in dims] if dims else range(len(x.shape))
        if order > 0 and any(x.shape[a] == 0 for a in axes):
            return reduce(b, "sum", sizes, dims)  # no elements: 0
        return reduce(b, "amax" if order > 0 else "amin", sizes, dims)
    if order == 1:
        return reduce(b, "sum", sizes, dims)
    return apply(b, "pow", reduce(b, "sum", apply(b, "pow", sizes, float(order)), dims), 1 / order)
