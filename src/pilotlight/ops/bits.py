"""The bits of elements as elements of another type of the same size."""

from __future__ import annotations

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import BOOL, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, moves, register


@register
class Bits(Op):
    """Attribute dtype: what the bits are read as."""

    name = "bits"
    called = "bits as another type"

    def infer(self, node: Node) -> Result:
        return [(node.attrs["dtype"], node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return args[0].contiguous().view(node.attrs["dtype"].torch)

    def emit(self, node: Node, c: Step) -> None:
        c.use("mem")
        size = node.output.elements * node.output.dtype.size
        c.call("pl_copy", c.write(node.output), c.read(node.inputs[0]), size)


@moves("view.dtype")
def view_as(b: Builder, self: Value, dtype: object) -> Value:
    wanted = b.results[0][0]
    if wanted == self.dtype:
        return self
    if wanted.size != self.dtype.size or wanted == BOOL:
        raise b.refuse(f"the bits of {self.dtype} as {wanted} are not supported; expected types of one size, not bool")
    return b.node("bits", [self], dtype=wanted)
