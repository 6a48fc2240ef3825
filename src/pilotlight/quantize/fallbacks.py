"""What stays float in a quantized model, why, and what that costs."""

from __future__ import annotations

from typing import Any

from pilotlight import ops
from pilotlight.graph import Graph, Node


def fallback_costs(graph: Graph) -> list[dict[str, Any]]:
    """A row for each float operator: MACs and their share of the model's, bytes of float weights and of results."""
    whole = sum(ops.get(node.op).macs(node) for node in graph.nodes)
    rows = []
    for fallback in graph.fallbacks:
        node: Node = fallback.node
        macs = ops.get(node.op).macs(node)
        rows.append({
            "op": node.op, "where": str(node.place), "reason": fallback.reason,
            "macs": macs, "share": macs / whole if whole else 0.0,
            "weights_bytes": sum(v.bytes for v in node.inputs if v.is_constant and v.dtype.kind == "f"),
            "tensor_bytes": sum(v.bytes for v in node.outputs if v.dtype.kind == "f"),
        })
    return rows
