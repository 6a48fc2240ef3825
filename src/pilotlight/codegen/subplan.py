"""Graphs that run inside a node, such as the branches of a `cond`: what the planner gets and gives back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pilotlight.graph import Graph, Node, Value


@dataclass(frozen=True)
class Subgraph:
    """To be planned. Its inputs stay where the graph around it has them; what is in `stores` is computed right in its
    place in the node's output; everything else lives in the node's scratch memory."""

    graph: Graph
    stores: Collection[Value] = ()


class Substep(NamedTuple):
    """A step of a subgraph."""

    node: Node
    scratch: int | None  # where its own scratch memory is in that of the node around it
    reverse: bool  # it walks backward


@dataclass(frozen=True)
class Subplan:
    """Planned: the steps in order, and where every value is."""

    graph: Graph
    size: int  # bytes of the node's scratch memory
    steps: list[Substep]
    roots: Mapping[Value, tuple[Value, int]]  # the value whose bytes hold it, and where in them it begins
    offsets: Mapping[Value, int]  # of roots in the node's scratch memory; others are in the graph around it

    def read(self) -> set[Value]:
        """The roots that steps or results read."""
        values = [v for step in self.steps for v in step.node.inputs] + [port.value for port in self.graph.outputs]
        return {self.roots[v][0] for v in values if v in self.roots}
