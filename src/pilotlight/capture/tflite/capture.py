"""A `.tflite` file → Graph."""

from __future__ import annotations

from pathlib import Path

from pilotlight.capture.tflite.lower import lower_tflite, supported_operators
from pilotlight.capture.tflite.model import TfliteModel
from pilotlight.capture.tflite.read import read_tflite
from pilotlight.capture.tflite.reference import TfliteReference
from pilotlight.capture.uses import OperatorUse
from pilotlight.graph import Graph

SUFFIX = ".tflite"


def capture_tflite(path: Path, name: str) -> Graph:
    """The graph of a file, with TFLM, or LiteRT, as its truth."""
    return capture_model(read_tflite(path), name)


def tflite_operators(path: Path) -> list[OperatorUse]:
    """The operators of a file, those that are not supported first, then the most frequent."""
    found: dict[str, tuple[list[str], str | None]] = {}
    for row in supported_operators(read_tflite(path)):
        known = found.setdefault(f"{row.operator.name}{row.problem or ''}", ([], row.problem))
        known[0].append(row.operator.name)
    rows = [OperatorUse(nodes[0], tuple(nodes), problem) for nodes, problem in found.values()]
    return sorted(rows, key=lambda row: (row.problem is None, -len(row.nodes), row.operator))


def capture_model(model: TfliteModel, name: str) -> Graph:
    graph = lower_tflite(model, name)
    graph.reference = TfliteReference(model, bool(graph.states))
    return graph
