"""A .onnx file → Graph, with ONNX Runtime as its truth."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from pilotlight.capture.exported import capture_module
from pilotlight.capture.onnx.blocks import full_accuracy
from pilotlight.capture.onnx.file import normalized, read_model
from pilotlight.capture.onnx.importer import imported
from pilotlight.capture.onnx.inputs import ports, read_baked, read_examples
from pilotlight.capture.onnx.module import named_model
from pilotlight.capture.onnx.reference import OnnxReference, check_import, lively
from pilotlight.capture.onnx.support import check_operators
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Place

NOTES, NOTE = 16, 400  # entries of a file's own, and characters of each


def capture_file(path: Path, inputs: Sequence[str], baked: Sequence[str] | Mapping[str, Any], name: str) -> Graph:
    """The graph of an ONNX file for inputs such as "x=1x3x96x96", with some that are part of the model: "axes=1"."""
    original = full_accuracy(read_model(path))
    model = normalized(original, path)
    check_operators(model)
    wanted = ports(model.graph)
    values = read_baked(wanted, baked, path)
    examples = read_examples({k: port for k, port in wanted.items() if k not in values}, inputs, path)
    examples = lively(original, examples, values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = imported(model.graph, examples, values)
            reference = OnnxReference(original, examples, values)
            check_import(body, reference)
            module = named_model(body, [port.name for port in model.graph.output])
            graph = capture_module(module, tuple(examples.values()), None, name)
        except PilotlightError as problem:
            problem.where = f"{path.name}: {problem.where}" if problem.where else str(path)
            raise
    _place(graph, path.name)
    graph.framework, graph.notes = "ONNX", notes(original)
    graph.reference = reference
    return graph


def notes(model: onnx.ModelProto) -> dict[str, str]:
    """Who wrote the file, what it describes itself as, and its own entries, such as labels."""
    written = f"{model.producer_name} {model.producer_version}".strip()
    found = {"producer": written, "description": model.doc_string or model.graph.doc_string,
             **{entry.key: entry.value for entry in model.metadata_props}}
    return {key[:NOTE]: _cut(text) for key, text in list(found.items())[:NOTES] if key and text.strip()}


def _cut(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= NOTE else f"{line[:NOTE]}..."


def _place(graph: Graph, file: str) -> None:
    """Nodes of the graph come from nodes of the file, which are their modules; it has no lines."""
    for node in graph.nodes:
        node.place = Place(node.place.module, file)
        for inner in node.subgraphs.values():
            _place(inner, file)
