"""Where numbers belong in sorted rows: searchsorted and bucketize."""

from __future__ import annotations

import math

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, INT64, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, lowers, register
from pilotlight.ops.scatter import gather


@register
class Search(Op):
    """inputs rows (..., size) and numbers (..., count), or one row (size) for numbers of any shape; attrs: right."""

    name = "search"

    def infer(self, node: Node) -> Result:
        return [(INT64, node.inputs[1].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return torch.searchsorted(args[0], args[1], right=node.attrs["right"])

    def emit(self, node: Node, c: Step) -> None:
        rows, v = node.inputs
        kernel = f"search_{'f32' if rows.dtype.kind == 'f' else 'i64'}"
        c.use(kernel)
        size, outer = rows.shape[-1], math.prod(rows.shape[:-1])
        shape = (outer, size, size if len(rows.shape) > 1 else 0, v.elements // outer, int(node.attrs["right"]))
        c.call(f"pl_{kernel}", c.read(rows), c.read(v), c.write(node.output), *shape)


# ---- ATen --------------------------------------------------------------------------------------------------


@lowers("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    b: Builder, sorted_sequence: Value, self: Value | float, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Value | None = None,
) -> Value:
    dtype, shape = b.results[0]
    kind = FLOAT32 if sorted_sequence.dtype.kind == "f" else INT64
    rows = sorted_sequence if sorter is None else gather(b, sorted_sequence, -1, sorter)
    numbers = self if isinstance(self, Value) else b.scalar(self, sorted_sequence.dtype)
    after = right or side == "right"
    if not rows.elements:
        return b.expand(b.scalar(0, dtype), shape)
    return b.cast(b.reshape(b.node("search", [b.cast(rows, kind), b.cast(numbers, kind)], right=after), shape), dtype)


@lowers("bucketize.Tensor", "bucketize.Scalar")
def bucketize(
    b: Builder, self: Value | float, boundaries: Value, out_int32: bool = False, right: bool = False
) -> Value:
    return searchsorted(b, boundaries, self, out_int32, right)
