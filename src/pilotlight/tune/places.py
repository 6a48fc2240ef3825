"""In which memories of a board a model has the fewest estimated cycles: what a file of measurements says about it.

Unlike kernels, which hold for layers on a kind of core, a placement holds for one model on one board: the key names
both, so that other boards and models do not find it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pilotlight.boards import Board
from pilotlight.graph import Graph

_DIGITS = 10


@dataclass(frozen=True)
class Place:
    """Names of memories, empty where the board's own choice stays; estimated cycles of a run with waits, before and
    with it."""

    weights: str = ""
    code: str = ""
    cycles: tuple[int, int] = (0, 0)

    @property
    def text(self) -> str:
        parts = (("weights", self.weights), ("code", self.code))
        return " and ".join(f"{what} in {memory}" for what, memory in parts if memory)


def place_key(board: Board, name: str, graphs: Iterable[Graph]) -> str:
    """A board, and a model by its name and a digest of its operators and shapes."""
    return f"{board.name}, {_model(name, graphs)}"


def other_boards(places: Mapping[str, Place], board: Board, name: str, graphs: Iterable[Graph]) -> list[str]:
    """Boards that a file has a placement of this model for, if this is none of them."""
    model = _model(name, graphs)
    found = [where for where, _, what in (key.partition(", ") for key in places) if what == model]
    return [] if board.name in found else sorted(found)


def _model(name: str, graphs: Iterable[Graph]) -> str:
    steps = [
        [(node.op, [v.shape for v in node.inputs], [v.shape for v in node.outputs]) for node in graph.nodes]
        for graph in graphs
    ]
    return f"{name} #{hashlib.sha256(repr(steps).encode()).hexdigest()[:_DIGITS]}"


def place_lines(places: Mapping[str, Place]) -> list[str]:
    """As they are in a file."""
    lines = []
    for key, place in sorted(places.items()):
        lines += ["", f"[places.{json.dumps(key)}]"]
        named = {"weights": place.weights, "code": place.code}
        lines += [f"{what} = {json.dumps(memory)}" for what, memory in named.items() if memory]
        lines.append(f"cycles = {json.dumps(list(place.cycles))}")
    return lines


def read_place(value: Any) -> Place | None:
    """What a table of a file says; None where that is no placement."""
    if not isinstance(value, dict):
        return None
    weights, code, cycles = value.get("weights", ""), value.get("code", ""), value.get("cycles")
    names = isinstance(weights, str) and isinstance(code, str) and bool(weights or code)
    if not names or not isinstance(cycles, list) or [type(n) for n in cycles] != [int, int]:
        return None
    return Place(weights, code, (cycles[0], cycles[1]))


def better(a: Place, b: Place) -> Place:
    """Of two for the same model the one with fewer cycles, in whatever order files are read."""
    return min(a, b, key=lambda place: (place.cycles[1], place.weights, place.code))
