"""A model with several entry points, such as `prefill` and `decode`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pilotlight.graph.graph import Graph
from pilotlight.graph.reference import Reference


class SharedReference(Protocol):
    """The truth of a program: its entry points change one model."""

    def along(self, order: Sequence[str]) -> Reference:
        """The entry points called in this order: the first call is of `order[0]`, and so on, again after a reset."""


@dataclass
class Program:
    """Named graphs, the entry points, that share constants and states: states of one name are one state."""

    name: str
    entries: dict[str, Graph]
    reference: SharedReference

    def renamed(self, name: str) -> Program:
        """The same under another name; each graph is called after the program and its entry point."""
        entries = {entry: replace(graph, name=f"{name}_{entry}") for entry, graph in self.entries.items()}
        return Program(name, entries, self.reference)

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries.values()))


def mixed(entries: Sequence[str], calls: int) -> list[str]:
    """Entry points in an order that has each after each other one: a, b, b, a, b, ..."""
    order = list(entries)
    while len(order) < calls:
        order += [*reversed(entries), *entries[1:]]
    return order[: max(calls, len(entries))]
