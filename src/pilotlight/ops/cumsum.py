"""Running sums along one dimension."""

from __future__ import annotations

from typing import Any

import torch

from pilotlight.capture.builder import Builder
from pilotlight.emit.step import Step
from pilotlight.graph import INT64, Node, Value
from pilotlight.ops.base import Op, Result, axis, lowers, register, same
from pilotlight.ops.softmax import lane_distance, lanes


@register
class CumSum(Op):
    """attrs: axis. Lane by lane, in place."""

    name = "cumsum"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return args[0].cumsum(node.attrs["axis"])

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        return {"axis": perm[node.attrs["axis"]]}

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): lane_distance(node.inputs[0], node.attrs["axis"])}

    def emit(self, node: Node, c: Step) -> None:
        kernel = "cumsum_f32" if node.output.dtype.kind == "f" else "cumsum_i64"
        c.use(kernel)
        shape = lanes(node.output.shape, node.attrs["axis"])
        c.call(f"pl_{kernel}", c.read(node.inputs[0]), c.write(node.output), *shape)


@lowers("cumsum.default")
def cumsum(b: Builder, self: Value, dim: int, dtype: object = None) -> Value:
    """Integers are summed in int64."""
    result, shape = b.results[0]
    x = b.cast(self, result if result.kind == "f" else INT64)
    if not shape:
        return b.cast(x, result)
    return b.cast(b.node("cumsum", [x], axis=axis(dim, len(shape))), result)
