"""Constant folding, dead code, and outputs that need memory of their own."""

from __future__ import annotations

import torch

from pilotlight import ops
from pilotlight.graph import Graph, Node, Value
from pilotlight.graph.dtypes import to_numpy, to_torch

GROWTH = 4096  # bytes by which a folded constant may exceed what it was computed from


def fold_constants(graph: Graph) -> Graph:
    """Compute what depends on constants only, unless that would make the weights larger."""
    kept: list[Node] = []
    for node in graph.nodes:
        if node.inputs and all(v.is_constant for v in node.inputs):
            before = sum(v.bytes for v in node.inputs)
            if sum(v.bytes for v in node.outputs) <= before + GROWTH:
                args = [to_torch(v.data) for v in node.inputs if v.data is not None]
                results = ops.get(node.op).reference(node, args)
                for value, result in zip(node.outputs, _as_list(results), strict=True):
                    value.data = to_numpy(result).reshape(value.shape)
                continue
        kept.append(node)
    graph.nodes = kept
    return graph


def _as_list(results: torch.Tensor | tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    return list(results) if isinstance(results, tuple | list) else [results]


def remove_dead(graph: Graph) -> Graph:
    """Drop nodes whose results nobody reads."""
    needed = graph.leaving()
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs):
            needed.update(node.inputs)
            kept.append(node)
    graph.nodes = kept[::-1]
    return graph


def separate_outputs(graph: Graph) -> Graph:
    """Copy outputs that are an input, a constant, a state or another output: each gets bytes of its own."""
    shared = {p.value for p in graph.inputs} | {s.value for s in graph.states} | {s.next for s in graph.states}
    seen: set[Value] = set()
    producers = graph.producers()
    for port in graph.outputs:
        root = _root(producers, port.value)
        if port.value.is_constant or port.value in seen or root in shared or root in seen:
            copy = graph.fresh(port.value.name, port.value.dtype, port.value.shape)
            graph.nodes.append(Node("copy", [port.value], [copy]))
            port.value = root = copy
        seen |= {port.value, root}
    return graph


def _root(producers: dict[Value, Node], value: Value) -> Value:
    """The value whose bytes this one is a view of."""
    while value in producers and ops.get(producers[value].op).view_offset(producers[value]) is not None:
        value = producers[value].inputs[0]
    return value
