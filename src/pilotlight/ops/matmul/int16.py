"""Products of two 16-bit tensors: acc = Σ a·b over k in 64 bits, y = clamp(rhmul((acc + 2^(p-1)) >> p, m)),
m = rint(sa·sb/sy · 2^(32+p)), p the smallest shift with which k products of 2^30 fit 32 bits."""

from __future__ import annotations

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT16 as LIMITS
from pilotlight.fixed import wide_multiplier
from pilotlight.graph import INT16, Node, Quant
from pilotlight.ops.base import Result, register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.matmul.int8 import QMatMul
from pilotlight.ops.spec import LARGEST, Limits, NodeSpec, as_int16, quant_of, requantize_attrs, requantized, wide


@register
class QMatMul16(QMatMul):
    """inputs a (..., M, K) and b (..., K, N), or b (..., N, K) with attrs["transposed"]; attrs: m, down, zy, shift, lo,
    hi. The leading dimensions are equal, or all of size 1 in one of the two. The output overlaps neither."""

    name = "qmatmul_s16"

    def infer(self, node: Node) -> Result:
        return [(INT16, shape) for _, shape in super().infer(node)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        n, (a, b) = node.attrs, (wide(v) for v in args)
        acc = a @ (np.swapaxes(b, -1, -2) if n["transposed"] else b)
        return as_int16(requantized((acc + ((1 << n["down"]) >> 1)) >> n["down"], n["m"], n))

    def emit(self, node: Node, c: Step) -> None:
        a, b = node.inputs
        fields = self.fields(node) | {"down": node.attrs["down"]}
        c.use("q_matmul_s16")
        table = c.table("pl_q_matmul_s16_t", "matmul", fields)
        c.call("pl_q_matmul_s16", table, c.read(a), c.read(b), c.write(node.output))


def make_qmatmul16(
    a: Quant, b: Quant, y: Quant, inner: int, transposed: bool = False, limits: Limits = LIMITS
) -> NodeSpec:
    """The product over `inner` elements."""
    m = wide_multiplier(a.scale * b.scale / y.scale, inner * LARGEST * LARGEST)
    numbers = {"m": int(m.value[0]), "down": m.down, **requantize_attrs(m, 0, limits)}
    return NodeSpec("qmatmul_s16", {"transposed": bool(transposed), **numbers})


@form("matmul", width=16)
def matmul(q: Integer) -> list[Node] | None:
    if any(v.is_constant for v in q.inputs) or q.node.attrs.get("reads"):
        return None
    a, b = q.inputs
    y, transposed = q.quant, bool(q.node.attrs.get("transposed", False))
    return [q.build(make_qmatmul16(quant_of(a), quant_of(b), y, a.shape[-1], transposed, q.limits), a, b)]
