"""16-bit tensors side by side: those with another scale, or all where they are limited, are rescaled first; then
data is moved."""

from __future__ import annotations

from pilotlight.fixed import INT16
from pilotlight.graph import Node
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.requantize import make_rescale
from pilotlight.ops.spec import NodeSpec, quant_of


@form("concat", width=16)
def concat(q: Integer) -> list[Node] | None:
    if any(v.is_constant for v in q.inputs):
        return None
    y, nodes, parts = q.quant, [], []
    for x in q.inputs:
        if x.quant != q.quant or q.limits != INT16:
            nodes.append(q.build(make_rescale(quant_of(x), y, 16, q.limits), x))
            x = nodes[-1].output
        parts.append(x)
    return [*nodes, q.build(NodeSpec("concat", q.node.attrs), *parts)]
