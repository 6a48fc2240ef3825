"""The candidates of a graph's nodes, each made once."""

from __future__ import annotations

from pilotlight import ops
from pilotlight.codegen.target import Target
from pilotlight.graph import Node
from pilotlight.kernels.candidate import Candidate


class Offers:
    """What operators offer for their nodes on a target."""

    def __init__(self, target: Target):
        self.target = target
        self._found: dict[Node, tuple[Candidate, ...]] = {}

    def of(self, node: Node) -> tuple[Candidate, ...]:
        if node not in self._found:
            self._found[node] = tuple(ops.get(node.op).candidates(node, self.target))
        return self._found[node]
