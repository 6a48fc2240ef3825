"""Sorting and the k largest along one dimension; stable, NaN above every number."""

from __future__ import annotations

import torch

from pilotlight.capture.builder import Builder
from pilotlight.emit.step import Step
from pilotlight.graph import FLOAT32, INT64, Node, Value
from pilotlight.ops.base import Op, Result, axis, lowers, register
from pilotlight.ops.softmax import lanes


@register
class Sort(Op):
    """attrs: axis, descending. Outputs the values and where they stood."""

    name = "sort"

    def infer(self, node: Node) -> Result:
        shape = node.inputs[0].shape
        return [(FLOAT32, shape), (INT64, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        a = node.attrs
        return tuple(torch.sort(args[0], dim=a["axis"], descending=a["descending"], stable=True))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """A lane is copied to its place before it is sorted there."""
        return {(0, 0): 0} if lanes(node.inputs[0].shape, node.attrs["axis"])[2] == 1 else {}

    def emit(self, node: Node, c: Step) -> None:
        x, a = node.inputs[0], node.attrs
        c.use("sort_f32")
        results = (c.write(v) for v in node.outputs)
        c.call("pl_sort_f32", c.read(x), *results, *lanes(x.shape, a["axis"]), int(a["descending"]))


@register
class TopK(Op):
    """attrs: axis, k, largest. Outputs the values in order and where they stood; of equals the first."""

    name = "topk"

    def infer(self, node: Node) -> Result:
        shape = list(node.inputs[0].shape)
        shape[node.attrs["axis"]] = node.attrs["k"]
        return [(FLOAT32, tuple(shape)), (INT64, tuple(shape))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        a = node.attrs
        values, ids = torch.sort(args[0], dim=a["axis"], descending=a["largest"], stable=True)
        return values.narrow(a["axis"], 0, a["k"]).contiguous(), ids.narrow(a["axis"], 0, a["k"]).contiguous()

    def emit(self, node: Node, c: Step) -> None:
        x, a = node.inputs[0], node.attrs
        c.use("topk_f32")
        results = (c.write(v) for v in node.outputs)
        c.call("pl_topk_f32", c.read(x), *results, *lanes(x.shape, a["axis"]), a["k"], int(a["largest"]))


# ---- ATen --------------------------------------------------------------------------------------------------


def _float(b: Builder, x: Value) -> Value:
    if x.dtype != FLOAT32 or not x.shape:
        raise b.refuse(f"sorting {x.dtype}{list(x.shape)} is not supported; expected a float32 tensor")
    return x


@lowers("sort.default", "sort.stable")
def sort(
    b: Builder, self: Value, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> tuple[Value, ...]:
    x = _float(b, self)
    return tuple(b.nodes("sort", [x], axis=axis(dim, len(x.shape)), descending=descending))


@lowers("topk.default")
def topk(
    b: Builder, self: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Value, ...]:
    x = _float(b, self)
    return tuple(b.nodes("topk", [x], axis=axis(dim, len(x.shape)), k=k, largest=largest))


def _ranked(b: Builder, x: Value, dim: int, rank: int) -> tuple[Value, Value]:
    """The element of one rank along a dimension, and where it stood."""
    x = _float(b, x)
    at = axis(dim, len(x.shape))
    both = b.nodes("sort", [x], axis=at, descending=False)
    ranges = tuple((rank, rank + 1, 1) if d == at else (0, n, 1) for d, n in enumerate(x.shape))
    value, where = (b.node("slice", [v], ranges=ranges) for v in both)
    return b.reshape(value, b.results[0][1]), b.reshape(where, b.results[1][1])


@lowers("median.dim")
def median(b: Builder, self: Value, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    """The lower one of two in the middle."""
    return _ranked(b, self, dim, (self.shape[axis(dim, len(self.shape))] - 1) // 2)


@lowers("kthvalue.default")
def kthvalue(b: Builder, self: Value, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    return _ranked(b, self, dim, k - 1)
