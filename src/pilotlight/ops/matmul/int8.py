"""Products of two int8 tensors: y = clamp(zy + rhmul(acc << shift, m)), acc = Σ (a - za)(b - zb) over k,
m = rint(sa·sb/sy · 2^(32 - shift))."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node, Quant
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, quant_of, requantize_table, requantized, wide


@register
class QMatMul(Op):
    """inputs a (..., M, K) and b (..., K, N), or b (..., N, K) with attrs["transposed"]; attrs: za, zb, m, zy, shift,
    lo, hi. The leading dimensions are equal, or all of size 1 in one of the two. The output overlaps neither."""

    name = "qmatmul"
    called = "matmul"

    def infer(self, node: Node) -> Result:
        a, b = node.inputs
        columns = b.shape[-2] if node.attrs["transposed"] else b.shape[-1]
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return [(INT8, (*lead, a.shape[-2], columns))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n = node.attrs
        a, b = wide(args[0]) - n["za"], wide(args[1]) - n["zb"]
        return narrow(requantized(a @ (np.swapaxes(b, -1, -2) if n["transposed"] else b), n["m"], n))

    def macs(self, node: Node) -> int:
        return node.output.elements * node.inputs[0].shape[-1]

    def fields(self, node: Node) -> dict[str, Any]:
        """What the table of any width has."""
        (a, b), n = node.inputs, node.attrs
        rows, inner = a.shape[-2:]
        columns = node.output.shape[-1]
        return {
            "batch": math.prod(node.output.shape[:-2]), "m": rows, "k": inner, "n": columns,
            "a_step": 0 if math.prod(a.shape[:-2]) == 1 else rows * inner,
            "b_step": 0 if math.prod(b.shape[:-2]) == 1 else inner * columns,
            "transposed": n["transposed"], "out": requantize_table(n), "factor": n["m"],
        }

    def emit(self, node: Node, c: Step) -> None:
        (a, b), n = node.inputs, node.attrs
        fields = self.fields(node) | {"za": n["za"], "zb": n["zb"]}
        c.use("q_matmul")
        c.call("pl_q_matmul", c.table("pl_q_matmul_t", "matmul", fields), c.read(a), c.read(b), c.write(node.output))


def make_qmatmul(
    a: Quant, b: Quant, y: Quant, inner: int, transposed: bool = False, limits: Limits = LIMITS
) -> NodeSpec:
    """The product over `inner` elements."""
    zeros = {"za": a.zero_point, "zb": b.zero_point}
    numbers = zeros | output_attrs(a.scale * b.scale / y.scale, 255 * 255 * inner, y.zero_point, limits)
    return NodeSpec("qmatmul", {"transposed": bool(transposed), **numbers})


@form("matmul", width=8)
def matmul(q: Integer) -> list[Node] | None:
    if not all_int8(q) or any(v.is_constant for v in q.inputs) or q.node.attrs.get("reads"):
        return None
    a, b = q.inputs
    transposed = bool(q.node.attrs.get("transposed", False))
    return [q.build(make_qmatmul(quant_of(a), quant_of(b), q.quant, a.shape[-1], transposed, q.limits), a, b)]
