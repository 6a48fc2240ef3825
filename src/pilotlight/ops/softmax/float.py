"""Softmax and log-softmax along one axis."""

from __future__ import annotations

import math
from typing import Any

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import Node, Shape, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, add_op, axis, lowers, same
from pilotlight.ops.quantizing import OWN, FixedRange, Treatment


def lanes(shape: Shape, at: int) -> tuple[int, int, int]:
    """A shape as (outer, axis, inner)."""
    return math.prod(shape[:at]), shape[at] if shape else 1, math.prod(shape[at + 1 :])


def lane_distance(x: Value, at: int) -> int:
    """Of a kernel that works on one lane after another: 0 where lanes are contiguous; else a lane's last
    element has to stay below the next lane's first."""
    _, count, inner = lanes(x.shape, at)
    return 0 if inner == 1 else -(count - 1) * inner * x.dtype.size


class LaneByLane(Op):
    """attrs: axis. The result looks like the input, whose lanes along the axis are computed one after another."""

    def infer(self, node: Node) -> Result:
        return same(node)

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        return {**node.attrs, "axis": perm[node.attrs["axis"]]}

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): lane_distance(node.inputs[0], node.attrs["axis"])}


class Softmax(LaneByLane):
    """attrs: axis."""

    def __init__(self, kernel: str):
        self.kernel = kernel

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        function = torch.softmax if self.kernel == "softmax" else torch.log_softmax
        return function(args[0], node.attrs["axis"])

    def emit(self, node: Node, c: Step) -> None:
        x = node.inputs[0]
        c.use(f"{self.kernel}_f32")
        c.call(f"pl_{self.kernel}_f32", c.read(x), c.write(node.output), *lanes(x.shape, node.attrs["axis"]))


add_op("softmax", Softmax("softmax"))
add_op("log_softmax", Softmax("log_softmax"))


def _lower(b: Builder, op: str, x: Value, dim: int) -> Value:
    x = b.cast(x, b.results[0][0])
    return b.node(op, [x], axis=axis(dim, len(x.shape))) if x.elements else x


@lowers("softmax.int", "_softmax.default", quantized=Treatment(FixedRange(1 / 256, -128, hides=True)))
def softmax(b: Builder, self: Value, dim: int, **_: object) -> Value:
    return _lower(b, "softmax", self, dim)


@lowers("log_softmax.int", "_log_softmax.default", quantized=OWN)
def log_softmax(b: Builder, self: Value, dim: int, **_: object) -> Value:
    return _lower(b, "log_softmax", self, dim)
