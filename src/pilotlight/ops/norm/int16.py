"""Layer norm and rms norm of 16-bit rows: the formula of `int8.py` with

    spread = n·Σ x² - sum² + rint(eps·n²/sx²)          64 bits, no fraction
At most three steps of 32,767 from float.
"""

from __future__ import annotations

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT16
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.norm.int8 import LONGEST, QNorm, affine_numbers, normalized, row_numbers, table_fields
from pilotlight.ops.spec import Limits, NodeSpec, as_int16, quant_of, wide


@register
class QNorm16(QNorm):
    """attrs: size, center, zero, eps, up, shift, fraction, lo, hi; inputs x, w (size), b (size). In place."""

    name = "qnorm_s16"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        rows = wide(args[0]).reshape(-1, node.attrs["size"])
        w, b = (wide(c).reshape(-1) for c in args[1:])
        return as_int16(normalized(rows, w, b, node.attrs, 0).reshape(args[0].shape))

    def emit(self, node: Node, c: Step) -> None:
        a, (x, w, b) = node.attrs, node.inputs
        fields = table_fields(a, x.elements // a["size"])
        c.use("q_norm_s16")
        table = c.table("pl_q_norm_t", "norm", fields)
        c.call("pl_q_norm_s16", table, c.read(x), c.read(w), c.read(b), c.write(node.output))


def make_qnorm16(
    x: Quant, y: Quant, size: int, eps: float, weight: np.ndarray | None = None, bias: np.ndarray | None = None,
    center: bool = True, limits: Limits = INT16,
) -> NodeSpec:
    """Layer norm over the last `size` numbers, or rms norm without `center`."""
    fraction, factors, offsets = affine_numbers(y, size, weight, bias, range(12, -1, -1))
    attrs = {**row_numbers(x, size, eps, center, limits, steps=65535, point=0), "fraction": fraction}
    return NodeSpec("qnorm_s16", attrs, (factors, offsets))


@form("layer_norm", "rms_norm", width=16)
def norm(q: Integer) -> list[Node] | None:
    """The affine constants that exist follow x in the order (scale, shift)."""
    a, x = q.node.attrs, q.inputs[0]
    if any(not v.is_constant for v in q.inputs[1:]) or a["size"] > LONGEST:
        return None
    given = iter(v.data for v in q.inputs[1:])
    weight, bias, *_ = [next(given) if has else None for has in a["affine"]] + [None]
    y, center = q.quant, q.node.op == "layer_norm"
    return [q.build(make_qnorm16(quant_of(x), y, a["size"], a["eps"], weight, bias, center, q.limits), x)]
