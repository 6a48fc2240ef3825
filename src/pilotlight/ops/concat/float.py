"""Tensors side by side, whatever their type."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import copy_distances
from pilotlight.graph import Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.areas import Area, AreaPart, same_part
from pilotlight.ops.base import Op, Result, axis, moves, register
from pilotlight.ops.quantizing import SHARED
from pilotlight.ops.views import LARGE


@register
class Concat(Op):
    """Tensors side by side along `axis`."""

    name = "concat"
    moves = True

    def infer(self, node: Node) -> Result:
        first, at = node.inputs[0], node.attrs["axis"]
        total = sum(v.shape[at] for v in node.inputs)
        return [(first.dtype, (*first.shape[:at], total, *first.shape[at + 1 :]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat(args, node.attrs["axis"])

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return {"axis": perm[node.attrs["axis"]]}

    def part(self, node: Node, area: Area) -> AreaPart | None:
        """Side by side in their channels, the parts lie in the same place."""
        return same_part(node, area) if node.attrs["axis"] == 3 else None

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Along the outermost axis the parts are written one after another. Otherwise each is spread over the whole
        output, so that only the part moved first may lie there."""
        if self._interleaved(node):
            spread = self._spread(node)
            return {} if spread is None else {(spread[0], 0): spread[1]}
        distances, start = {}, 0
        for k, value in enumerate(node.inputs):
            distances[k, 0] = -start
            start += value.bytes
        return distances

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        spread = self._spread(node) if self._interleaved(node) else None
        return {} if spread is None else {(spread[0], 0): spread[2]}

    def emit(self, node: Node, c: Step) -> None:
        strides, starts = loops.contiguous(node.output.shape), self._starts(node)
        for k in self._order(node):
            value, reverse = node.inputs[k], c.reverse and k == self._order(node)[0]
            dense = loops.contiguous(value.shape)
            loops.copy(c, value.shape, value, dense, 0, node.output, strides, starts[k], reverse)

    @staticmethod
    def _interleaved(node: Node) -> bool:
        return any(size != 1 for size in node.output.shape[: node.attrs["axis"]])

    @staticmethod
    def _starts(node: Node) -> list[int]:
        """The element of the output where each part begins."""
        at = node.attrs["axis"]
        step = loops.contiguous(node.output.shape)[at]
        return [step * rows for rows in accumulate((v.shape[at] for v in node.inputs), initial=0)]

    def _order(self, node: Node) -> list[int]:
        """In which order the parts are moved: where they interleave, the largest first, as it gains most."""
        order = range(len(node.inputs))
        if not self._interleaved(node):
            return list(order)
        return sorted(order, key=lambda k: (node.inputs[k].is_constant, -node.inputs[k].bytes))

    def _spread(self, node: Node) -> tuple[int, int, int] | None:
        """The part that is moved first, and its distances forward and backward."""
        k = self._order(node)[0]
        part, strides = node.inputs[k], loops.contiguous(node.output.shape)
        if not 0 < part.elements <= LARGE:
            return None
        writes = loops.element_indices(part.shape, strides, self._starts(node)[k])
        return k, *copy_distances(np.arange(part.elements), writes, part.dtype.size)


@moves("cat.default", "concat.default", quantized=SHARED)
def cat(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    dtype, shape = b.results[0]
    parts = [b.cast(v, dtype) for v in tensors if v.shape != (0,) and v.elements]
    dim = axis(dim, len(shape))
    return parts[0] if len(parts) == 1 else b.node("concat", parts, axis=dim)


@moves("stack.default", quantized=SHARED)
def stack(b: Builder, tensors: Sequence[Value], dim: int = 0) -> Value:
    dtype, shape = b.results[0]
    dim = axis(dim, len(shape))
    parts = [b.reshape(b.cast(v, dtype), (*v.shape[:dim], 1, *v.shape[dim:])) for v in tensors]
    return parts[0] if len(parts) == 1 else b.node("concat", parts, axis=dim)
