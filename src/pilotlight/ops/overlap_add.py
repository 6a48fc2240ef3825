"""Frames added up where they overlap: what `torch.istft` ends with, the counterpart of `unfold`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, axis, lowers, register


@register
class OverlapAdd(Op):
    """x (..., frames, size) to (..., length); attrs: step, length."""

    name = "overlap_add"
    called = "overlap add"

    def infer(self, node: Node) -> Result:
        x = node.inputs[0]
        return [(x.dtype, (*x.shape[:-2], node.attrs["length"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x = args[0]
        y = x.new_zeros((*x.shape[:-2], node.attrs["length"]))
        for f in range(x.shape[-2]):
            start = f * node.attrs["step"]
            y[..., start : start + x.shape[-1]] += x[..., f, :]
        return y

    def emit(self, node: Node, c: Step) -> None:
        c.use("overlap_add_f32")
        *lead, frames, size = node.inputs[0].shape
        a = node.attrs
        c.call("pl_overlap_add_f32", c.read(node.inputs[0]), c.write(node.output), math.prod(lead), frames, size,
               a["step"], a["length"])


@lowers("unfold_backward.default")
def unfold_backward(
    b: Builder, grad_in: Value, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> Value:
    if grad_in.dtype != FLOAT32:
        raise b.refuse(f"adding up frames of {grad_in.dtype} is not supported; expected float32")
    rank = len(input_sizes)
    if rank == 0:
        return b.reshape(grad_in, ())
    at = axis(dim, rank)
    order = [*(d for d in range(rank) if d != at), at]
    sizes = [*input_sizes[:at], grad_in.shape[at], *input_sizes[at + 1 :], size]
    grad_in = b.expand(grad_in, sizes)  # PyTorch gives one row for all where they are equal
    y = b.node("overlap_add", [b.permute(grad_in, [*order, rank])], step=step, length=input_sizes[at])
    return b.permute(y, [order.index(d) for d in range(rank)])
