"""The last rewrite before planning: every node chooses its kernel."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from pilotlight import ops
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node


def prepare(
    graph: Graph, target: Target, low_scratch: Container[Node] = (), large_flash: Container[Node] = (),
    scratch: Mapping[Node, int] | None = None,
) -> Graph:
    """A copy with packed weights and chosen kernels: `low_scratch` nodes get those with the least scratch memory,
    `large_flash` nodes the fastest whatever flash they take; `scratch` gives the bytes a node may spend on speed."""
    prepared = graph.clone()
    for node, original in zip(list(prepared.nodes), graph.nodes, strict=True):
        spent = (scratch or {}).get(original, 0)
        own = replace(target, low_scratch=original in low_scratch, large_flash=original in large_flash, scratch=spent)
        prepare_node(node, prepared, own)
    return prepared


def prepare_node(node: Node, graph: Graph, target: Target) -> None:
    """Choose the kernel of one node, and of those that run inside it."""
    op = ops.get(node.op)
    op.prepare(node, graph, target)
    for inner in op.inside(node).values():
        for step in list(inner.graph.nodes):
            prepare_node(step, inner.graph, target)
