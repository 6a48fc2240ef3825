"""Layer norm and rms norm of 16-bit rows: the formula of `int8.py` with

    spread = n·Σ x² - sum² + rint(eps·n²/sx²)          64 bits, no fraction
At most three steps of 32,767 from float.
"""

from __future__ import annotations

import numpy as np
import torch

from pilotlight.fixed import INT16
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.norm.int8 import LONGEST, QNorm, affine_numbers, norm_node, normalized, row_numbers
from pilotlight.ops.spec import Limits, NodeSpec, as_int16, wide


@register
class QNorm16(QNorm):
    """attrs: size, center, zero, eps, up, shift, fraction, lo, hi; inputs x, w (size), b (size). In place."""

    name = "qnorm_s16"
    kernel = "q_norm_s16"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        rows = wide(args[0]).reshape(-1, node.attrs["size"])
        w, b = (wide(c).reshape(-1) for c in args[1:])
        return as_int16(normalized(rows, w, b, node.attrs, 0).reshape(args[0].shape))


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
    constant = all(v.is_constant for v in q.inputs[1:])
    return norm_node(q, make_qnorm16) if constant and q.node.attrs["size"] <= LONGEST else None
