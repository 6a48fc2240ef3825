"""Products of two computed matrices: a (..., M, K) times b (..., K, N)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from pilotlight.capture.builder import Builder
from pilotlight.emit.step import Step
from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.ops.base import Op, Result, lowers, register
from pilotlight.ops.linear import linear_node
from pilotlight.ops.pointwise import apply


@register
class MatMul(Op):
    """inputs a (..., M, K) and b (..., K, N), or b (..., N, K) with attrs["transposed"].

    The leading dimensions are equal, or all of size 1 in one of the two. The output overlaps neither.
    """

    name = "matmul"

    def infer(self, node: Node) -> Result:
        a, b = node.inputs
        columns = b.shape[-2] if node.attrs.get("transposed") else b.shape[-1]
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return [(FLOAT32, (*lead, a.shape[-2], columns))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a, b = args
        return a @ (b.transpose(-1, -2) if node.attrs.get("transposed") else b)

    def macs(self, node: Node) -> int:
        return node.output.elements * node.inputs[0].shape[-1]

    def emit(self, node: Node, c: Step) -> None:
        a, b = node.inputs
        m, k = a.shape[-2:]
        n = node.output.shape[-1]
        fields: dict[str, Any] = {
            "batch": math.prod(node.output.shape[:-2]), "m": m, "k": k, "n": n,
            "a_step": 0 if math.prod(a.shape[:-2]) == 1 else m * k,
            "b_step": 0 if math.prod(b.shape[:-2]) == 1 else k * n,
            "transposed": bool(node.attrs.get("transposed")),
        }
        c.use("matmul_f32")
        table = c.table("pl_matmul_t", "matmul", fields)
        c.call("pl_matmul_f32", table, c.read(a), c.read(b), c.write(node.output))


# ---- ATen --------------------------------------------------------------------------------------------------


def product(b: Builder, left: Value, right: Value) -> Value:
    """left (..., M, K) @ right (..., K, N), at least 2-d; with a constant on the right a linear layer."""
    if left.dtype != FLOAT32 or right.dtype != FLOAT32:
        kinds = f"{left.dtype} and {right.dtype}"
        raise b.refuse(f"the product of {kinds} matrices is not supported; expected float32")
    if right.data is not None and math.prod(right.shape[:-2]) == 1:
        weight = np.ascontiguousarray(right.data.reshape(right.shape[-2:]).T)
        y = linear_node(b, left, weight, None)
        lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        return b.reshape(y, (*lead, *y.shape[-2:]))
    lead = tuple(np.broadcast_shapes(left.shape[:-2], right.shape[:-2]))
    operands = []
    for x in (left, right):
        one = math.prod(x.shape[:-2]) == 1
        operands.append(b.reshape(x, x.shape[-2:]) if one else b.expand(x, (*lead, *x.shape[-2:])))
    return b.reshape(b.node("matmul", operands), (*lead, left.shape[-2], right.shape[-1]))


@lowers("matmul.default")
def matmul(b: Builder, self: Value, other: Value) -> Value:
    left = b.reshape(self, (1, *self.shape)) if len(self.shape) == 1 else self
    right = b.reshape(other, (*other.shape, 1)) if len(other.shape) == 1 else other
    return b.reshape(product(b, left, right), b.results[0][1])


@lowers("mm.default", "bmm.default")
def mm(b: Builder, self: Value, mat2: Value) -> Value:
    return product(b, self, mat2)


@lowers("mv.default")
def mv(b: Builder, self: Value, vec: Value) -> Value:
    return b.reshape(product(b, self, b.reshape(vec, (vec.elements, 1))), b.results[0][1])


@lowers("dot.default")
def dot(b: Builder, self: Value, tensor: Value) -> Value:
    return b.reshape(product(b, b.reshape(self, (1, -1)), b.reshape(tensor, (-1, 1))), ())


@lowers("baddbmm.default")
def baddbmm(
    b: Builder, self: Value, batch1: Value, batch2: Value, beta: float = 1, alpha: float = 1
) -> Value:
    scaled = product(b, batch1, batch2)
    scaled = scaled if alpha == 1 else apply(b, "mul", scaled, alpha)
    if beta == 0:
        return scaled
    return apply(b, "add", scaled, self if beta == 1 else apply(b, "mul", self, beta))
