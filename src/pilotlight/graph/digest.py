"""A fingerprint of a model: what it computes, wherever its source is and whatever it is compiled for."""

from __future__ import annotations

import hashlib

import numpy as np

from pilotlight.graph.graph import Graph
from pilotlight.graph.text import node_text, typed


def digest(graph: Graph) -> str:
    """The SHA-256 of inputs, nodes, outputs, constants and initial states."""
    sha = hashlib.sha256()
    lines = [typed(port.value) for port in (*graph.inputs, *graph.outputs)]
    lines += [node_text(node) for node in graph.nodes]
    lines += [f"{typed(state.value)} -> {typed(state.next)}" for state in graph.states]
    lines += [digest(inner) for node in graph.nodes for inner in node.subgraphs.values()]
    sha.update("\n".join(lines).encode())
    for array in [*(v.data for v in graph.constants()), *(s.initial for s in graph.states)]:
        sha.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return sha.hexdigest()
