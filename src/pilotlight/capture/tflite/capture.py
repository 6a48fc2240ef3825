"""A `.tflite` file → Graph."""

from __future__ import annotations

from pathlib import Path

from pilotlight.capture.tflite.lower import lower_tflite
from pilotlight.capture.tflite.model import TfliteModel
from pilotlight.capture.tflite.read import read_tflite
from pilotlight.capture.tflite.reference import TflmReference
from pilotlight.graph import Graph

SUFFIX = ".tflite"


def capture_tflite(path: Path, name: str) -> Graph:
    """The graph of a file, with TFLM as its truth."""
    return capture_model(read_tflite(path), name)


def capture_model(model: TfliteModel, name: str) -> Graph:
    graph = lower_tflite(model, name)
    graph.reference = TflmReference(model, bool(graph.states))
    return graph
