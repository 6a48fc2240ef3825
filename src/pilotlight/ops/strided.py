"""Operators that read and write through strides: slices and permutes around them need no copy.

The pass `absorb_windows` puts what it absorbed into two attributes. `reads` maps the number of an input to how
the operator walks it; the input itself is then the tensor that the windows look into. `writes` is the shape of the
output tensor and how the operator walks that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pilotlight.codegen.loops import contiguous
from pilotlight.codegen.step import Step
from pilotlight.graph import Node, Shape
from pilotlight.ops.base import Op, Result


def window(tensor: torch.Tensor, shape: Shape, strides: Sequence[int], offset: int) -> torch.Tensor:
    """A tensor's elements by strides from its own first one, which need not be the first of PyTorch's memory."""
    dense = tensor.contiguous()
    return dense.as_strided(shape, strides, dense.storage_offset() + offset)


@dataclass(frozen=True)
class StridedWalk:
    """Element `offset + sum(index * stride)` of a tensor for every index of `shape`."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        return window(tensor, self.shape, self.strides, self.offset)


def dense(shape: Shape) -> StridedWalk:
    return StridedWalk(shape, contiguous(shape))


class Strided(Op):
    """The first `strided` inputs and the output may be walked with any strides that `accepts` allows."""

    strided = 0

    def accepts(self, node: Node) -> bool:
        """Whether the kernel can walk its tensors as the attributes say."""
        raise NotImplementedError

    def walk(self, node: Node, k: int) -> StridedWalk:
        """How input k is read."""
        found: StridedWalk | None = node.attrs.get("reads", {}).get(k)
        return found or dense(node.inputs[k].shape)

    def shape(self, node: Node) -> Shape:
        """What the operator computes, before it is written anywhere."""
        raise NotImplementedError

    def out(self, node: Node) -> StridedWalk:
        """How the output is written."""
        return node.attrs["writes"][1] if "writes" in node.attrs else dense(self.shape(node))

    def compute(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        """The result from inputs of the walked shapes."""
        raise NotImplementedError

    def infer(self, node: Node) -> Result:
        shape = node.attrs["writes"][0] if "writes" in node.attrs else self.shape(node)
        return [(node.inputs[0].dtype, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        seen = [self.walk(node, k).of(x) if k < self.strided else x for k, x in enumerate(args)]
        y = self.compute(node, seen)
        if "writes" not in node.attrs:
            return y
        out = torch.empty(node.attrs["writes"][0], dtype=y.dtype)
        self.out(node).of(out).copy_(y)
        return out

    def pointers(self, node: Node, c: Step) -> list[str]:
        """The strided inputs as C, offsets included."""
        texts = []
        for k in range(self.strided):
            offset = self.walk(node, k).offset
            texts.append(c.read(node.inputs[k]) + (f" + {offset}" if offset else ""))
        return texts
