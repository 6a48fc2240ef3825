"""Which operators of a model are supported, before anything is imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx

from pilotlight.capture.onnx import operators
from pilotlight.capture.onnx.blocks import is_block_product
from pilotlight.capture.onnx.control import CONTROL
from pilotlight.capture.onnx.definitions import is_defined
from pilotlight.capture.onnx.expansions import is_expanded
from pilotlight.capture.onnx.file import normalized, read_model
from pilotlight.capture.onnx.importer import RANDOM, unknown
from pilotlight.capture.onnx.registry import MICROSOFT
from pilotlight.capture.uses import OperatorUse
from pilotlight.errors import UnsupportedError


def named_nodes(graph: onnx.GraphProto, prefix: str = "") -> Iterator[tuple[str, onnx.NodeProto]]:
    """Every node with its name, those of subgraphs too."""
    for number, node in enumerate(graph.node):
        name = prefix + (node.name or f"{node.op_type}_{number}")
        yield name, node
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from named_nodes(inner, f"{name}/")


def _problem(node: onnx.NodeProto) -> str | None:
    if is_expanded(node) or is_block_product(node) or node.op_type in ("Constant", *CONTROL):
        return None
    if operators.find(node.domain, node.op_type) is not None:
        return None
    if node.op_type in RANDOM:
        return "it draws random numbers, which a compiled model does not"
    if node.op_type.startswith("String") or node.op_type == "RegexFullMatch":
        return "it works on strings, which no kernel handles"
    if node.domain not in ("", "ai.onnx", MICROSOFT) and not onnx.defs.has(node.op_type, node.domain):
        return f"it is a custom operator of the domain {node.domain!r}"
    return None if is_defined(node) else "no function computes it yet"


def file_operators(path: Path) -> list[OperatorUse]:
    return used_operators(normalized(read_model(path), path))


def used_operators(model: onnx.ModelProto) -> list[OperatorUse]:
    """The operators of a model, the most frequent first."""
    found: dict[str, tuple[list[str], str | None]] = {}
    for name, node in named_nodes(model.graph):
        whole = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
        found.setdefault(whole, ([], _problem(node)))[0].append(name)
    rows = [OperatorUse(operator, tuple(nodes), problem) for operator, (nodes, problem) in found.items()]
    return sorted(rows, key=lambda row: (row.problem is None, -len(row.nodes), row.operator))


def check_operators(model: onnx.ModelProto) -> None:
    """Refuse a model with operators that are not supported; one error lists all of them."""
    problems = []
    for name, node in named_nodes(model.graph):
        problem = _problem(node)
        if problem is not None:
            error = unknown(node, name)
            error.message += f": {problem}"
            problems.append(error)
    if problems:
        raise UnsupportedError(problems)
