"""Running sums, products and extremes along one dimension: one table row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import INT64, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, add_op, axis, lowers, same
from pilotlight.ops.quantizing import OWN, quantized
from pilotlight.ops.softmax.float import lane_distance, lanes


@dataclass(frozen=True)
class ScanRow:
    """One scan: kernels pl_NAME_f32 and, where `integers`, pl_NAME_i64."""

    name: str
    integers: bool = True
    places: bool = False  # also gives where the results were
    kernel: str = ""  # where it is not the name
    arguments: tuple[int, ...] = ()  # of the kernel, after the shape


ROWS = [
    ScanRow("cumsum"), ScanRow("cumprod"), ScanRow("logcumsumexp", integers=False),
    ScanRow("cummax", places=True, kernel="cumbest", arguments=(1,)),
    ScanRow("cummin", places=True, kernel="cumbest", arguments=(0,)),
]


class Scan(Op):
    """attrs: axis. Lane by lane, in place."""

    def __init__(self, row: ScanRow):
        self.row = row

    def infer(self, node: Node) -> Result:
        return same(node) + ([(INT64, node.inputs[0].shape)] if self.row.places else [])

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
        result = getattr(torch, self.row.name)(args[0], node.attrs["axis"])
        return tuple(result) if self.row.places else result

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        return None if self.row.places else {"axis": perm[node.attrs["axis"]]}

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): lane_distance(node.inputs[0], node.attrs["axis"])}

    def emit(self, node: Node, c: Step) -> None:
        x = node.inputs[0]
        kernel = f"{self.row.kernel or self.row.name}_{'f32' if x.dtype.kind == 'f' else 'i64'}"
        c.use(kernel)
        shape = lanes(x.shape, node.attrs["axis"])
        c.call(f"pl_{kernel}", c.read(x), *(c.write(v) for v in node.outputs), *shape, *self.row.arguments)


def _lower(row: ScanRow) -> None:
    @lowers(f"{row.name}.default")
    def scan(b: Builder, self: Value, dim: int, dtype: object = None) -> Value | tuple[Value, ...]:
        """Integers are scanned as int64."""
        result, shape = b.results[0]
        if result.kind != "f" and not row.integers:
            raise b.refuse(f"{row.name} of {self.dtype} is not supported; expected float32")
        x = b.cast(self, result if result.kind == "f" else INT64)
        rows = b.reshape(x, shape or (1,))
        values = b.nodes(row.name, [rows], axis=axis(dim, len(rows.shape)))
        first, *rest = (b.reshape(v, shape) for v in values)
        return (b.cast(first, result), *rest) if row.places else b.cast(first, result)


for _row in ROWS:
    add_op(_row.name, Scan(_row))
    _lower(_row)

quantized(OWN, "cumsum.default")
