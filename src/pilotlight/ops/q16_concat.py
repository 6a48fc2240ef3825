"""16-bit tensors side by side: those with another scale, or all where they are limited, are rescaled first; then
data is moved."""

from __future__ import annotations

from pilotlight.fixed import INT16
from pilotlight.graph import Node
from pilotlight.ops.base import Integer
from pilotlight.ops.q16_requantize import make_rescale
from pilotlight.ops.q16_spec import build_node, wide_form
from pilotlight.ops.q_spec import Affine, affine


@wide_form("concat")
def concat(q: Integer) -> list[Node] | None:
    if any(v.is_constant for v in q.inputs):
        return None
    y, nodes, parts = Affine(q.quant.scale, q.quant.zero_point), [], []
    for x in q.inputs:
        if x.quant != q.quant or q.limits != INT16:
            nodes.append(build_node(q, make_rescale(affine(x), y, 16, q.limits), x))
            x = nodes[-1].output
        parts.append(x)
    return [*nodes, q.make("concat", parts, **q.node.attrs)]
