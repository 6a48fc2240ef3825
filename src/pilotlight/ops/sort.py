"""Sorting, the k largest, an element by its rank, the most frequent one: along one dimension, one table row each.

Sorting is stable, and NaN is above every number. Every operator gives values and where they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import INT64, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, add_op, axis, lowers
from pilotlight.ops.softmax.float import lanes

Pair = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class SortRow:
    """One operator; kernels pl_NAME_f32 and pl_NAME_i64."""

    name: str
    torch: Callable[[torch.Tensor, dict[str, Any]], Pair]
    arguments: tuple[str, ...]  # attributes that the kernel takes after the shape
    size: Callable[[int, dict[str, Any]], int]  # of the axis in the results


def _cut(values: torch.Tensor, ids: torch.Tensor, at: int, start: int, count: int) -> Pair:
    return tuple(v.narrow(at, start, count).contiguous() for v in (values, ids))


def _topk(x: torch.Tensor, a: dict[str, Any]) -> Pair:
    return _cut(*torch.sort(x, dim=a["axis"], descending=a["largest"], stable=True), a["axis"], 0, a["k"])


def _rank(x: torch.Tensor, a: dict[str, Any]) -> Pair:
    if a["rank"] < 0:
        return tuple((torch.median if a["rank"] == -1 else torch.nanmedian)(x, a["axis"], keepdim=True))
    return _cut(*torch.sort(x, dim=a["axis"], stable=True), a["axis"], a["rank"], 1)


ROWS = [
    SortRow("sort", lambda x, a: tuple(torch.sort(x, dim=a["axis"], descending=a["descending"], stable=True)),
        ("descending",), lambda size, a: size),
    SortRow("topk", _topk, ("k", "largest"), lambda size, a: a["k"]),
    SortRow("rank", _rank, ("rank",), lambda size, a: 1),
    SortRow("mode", lambda x, a: tuple(torch.mode(x, a["axis"], keepdim=True)), (), lambda size, a: 1),
]


class Order(Op):
    """attrs: axis and those of the row. Outputs the values and where they were."""

    def __init__(self, row: SortRow):
        self.row = row

    def infer(self, node: Node) -> Result:
        x, at = node.inputs[0], node.attrs["axis"]
        shape = (*x.shape[:at], self.row.size(x.shape[at], node.attrs), *x.shape[at + 1 :])
        return [(x.dtype, shape), (INT64, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> Pair:
        return self.row.torch(args[0], node.attrs)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """A lane is copied to its place before it is sorted there."""
        dense = lanes(node.inputs[0].shape, node.attrs["axis"])[2] == 1
        return {(0, 0): 0} if self.row.name == "sort" and dense else {}

    def emit(self, node: Node, c: Step) -> None:
        x, a = node.inputs[0], node.attrs
        kernel = f"{self.row.name}_{'f32' if x.dtype.kind == 'f' else 'i64'}"
        c.use(kernel)
        results, extra = (c.write(v) for v in node.outputs), (int(a[name]) for name in self.row.arguments)
        c.call(f"pl_{kernel}", c.read(x), *results, *lanes(x.shape, a["axis"]), *extra)


for _row in ROWS:
    add_op(_row.name, Order(_row))


# ---- ATen --------------------------------------------------------------------------------------------------


def _order(b: Builder, op: str, x: Value, dim: int, **attrs: Any) -> tuple[Value, ...]:
    """Integers are compared as int64; a zero-dim tensor is one element along its only dimension."""
    compared = b.reshape(b.cast(x, x.dtype if x.dtype.kind == "f" else INT64), x.shape or (1,))
    values, ids = b.nodes(op, [compared], axis=axis(dim, len(compared.shape)), **attrs)
    results = [b.cast(values, x.dtype), ids]
    return tuple(b.reshape(v, shape) for v, (_, shape) in zip(results, b.results, strict=False))


@lowers("sort.default", "sort.stable")
def sort(
    b: Builder, self: Value, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[Value, ...]:
    return _order(b, "sort", self, dim, descending=descending)


@lowers("topk.default")
def topk(
    b: Builder, self: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Value, ...]:
    return _order(b, "topk", self, dim, k=k, largest=largest)


@lowers("kthvalue.default")
def kthvalue(b: Builder, self: Value, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    return _order(b, "rank", self, dim, rank=k - 1)


@lowers("mode.default")
def mode(b: Builder, self: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    return _order(b, "mode", self, dim)


MEDIANS = {"median": -1, "nanmedian": -2}  # the lower one of two in the middle


def _lower_median(name: str, rank: int) -> None:
    @lowers(f"{name}.dim")
    def along(b: Builder, self: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
        return _order(b, "rank", self, dim, rank=rank)

    @lowers(f"{name}.default")
    def all(b: Builder, self: Value) -> Value:
        return _order(b, "rank", b.reshape(self, (self.elements,)), 0, rank=rank)[0]


for _name, _rank_of in MEDIANS.items():
    _lower_median(_name, _rank_of)
