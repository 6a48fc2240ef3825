"""What a backend is, and what became of the nodes that it was offered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pilotlight.boards import Board
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Node
from pilotlight.ops.extern import Extern


class Refused(PilotlightError):  # noqa: N818
    """Raised by `Backend.lower`: this subgraph stays with our own kernels, and reports say why."""

    def __init__(self, reason: str):
        super().__init__(reason, kind="refused")


class Backend:
    """An engine that computes subgraphs. Nodes are those after the passes: int8 layers with their integer parameters,
    clamps and padding folded in, channels last, before pointwise operators are fused."""

    name: str = ""
    joins: bool = True  # whether it computes several nodes together; else every call is one node

    def on(self, board: Board) -> Backend | str:
        """The backend for a board: itself, another one with the board's settings, or a sentence why there is none."""
        return self

    def takes(self, node: Node) -> bool | str:
        """True, or why not: a few words such as "dilation is not supported"."""
        raise NotImplementedError(f"{type(self).__name__}.takes")

    def lower(self, part: Graph) -> Extern:
        """The call that computes a subgraph of nodes it takes: inputs and outputs are its ports, in their order;
        constants are values with data. No other part of the model has its `name`, which functions and files may be
        named after. Raises `Refused` where it cannot after all."""
        raise NotImplementedError(f"{type(self).__name__}.lower")


@dataclass
class Partition:
    """What one backend got of a graph, and what it did not."""

    backend: str
    taken: list[dict[str, Any]] = field(default_factory=list)  # a row for each call
    refused: list[dict[str, Any]] = field(default_factory=list)  # a row for each node that stays ours

    def as_dict(self) -> dict[str, Any]:
        return {"backend": self.backend, "taken": self.taken, "refused": self.refused}
