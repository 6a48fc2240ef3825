"""What was chosen, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pilotlight.graph import Graph, Node
from pilotlight.kernels.candidate import Candidate
from pilotlight.selection.offers import Offers
from pilotlight.selection.rules import Choice, usual

Rule = Callable[[Sequence[Candidate]], Choice]


@dataclass(frozen=True)
class Selection(Mapping[Node, Choice]):
    """For each node of a graph that has candidates, the one that computes it, and why.

    Layers inside a node, such as those of a stage that is computed in patches, are made when it is prepared; they
    choose by the node's rule.
    """

    choices: dict[Node, Choice]
    inside: dict[Node, Rule] = field(default_factory=dict)  # default: the usual kernel

    def __getitem__(self, node: Node) -> Choice:
        return self.choices[node]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)


def select_usual(graph: Graph, offers: Offers) -> Selection:
    """The usual kernel for every node."""
    return select_by(graph, offers, lambda node: usual)


def select_by(graph: Graph, offers: Offers, rule: Callable[[Node], Rule]) -> Selection:
    """A rule for each node."""
    offered = {node: offers.of(node) for node in graph.nodes}
    choices = {node: rule(node)(found) for node, found in offered.items() if found}
    return Selection(choices, {node: rule(node) for node, found in offered.items() if not found})
