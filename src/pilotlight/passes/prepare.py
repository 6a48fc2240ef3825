"""The last rewrite before planning: every node chooses its kernel."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from pilotlight import ops
from pilotlight.emit.target import Target
from pilotlight.graph import Graph, Node


def prepare(graph: Graph, target: Target, lean: Container[Node] = (), roomy: Container[Node] = ()) -> Graph:
    """A copy with packed weights and chosen kernels; `lean` nodes get those with the least scratch memory, `roomy`
    ones the fastest whatever flash they take."""
    prepared = graph.clone()
    for node, original in zip(list(prepared.nodes), graph.nodes, strict=True):
        ops.get(node.op).prepare(node, prepared, replace(target, lean=original in lean, roomy=original in roomy))
    return prepared
