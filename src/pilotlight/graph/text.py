"""The readable text form of a graph (`--dump`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pilotlight.graph.dtypes import to_torch
from pilotlight.graph.graph import Graph, Node, Value


def value_text(value: Value) -> str:
    if value.is_constant and value.elements == 1:
        assert value.data is not None
        number = to_torch(value.data).reshape(-1)[0].item()
        return f"{number:g}" if isinstance(number, float) else str(number)
    return ("$" if value.is_constant else "%") + value.name


def typed(value: Value) -> str:
    quant = f"{value.quant}" if value.quant else ""
    return f"{value_text(value)}: {value.dtype}{quant}[{'x'.join(map(str, value.shape))}]"


def _attr(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, np.ndarray):
        return f"array{list(value.shape)}"
    if isinstance(value, Graph):
        return f"@{value.name}"
    return str(value)


def node_text(node: Node) -> str:
    left = ", ".join(typed(v) for v in node.outputs)
    args = ", ".join(value_text(v) for v in node.inputs)
    attrs = "".join(f" {k}={_attr(v)}" for k, v in node.attrs.items())
    return f"{left} = {node.op}({args}){attrs}"


def graph_text(graph: Graph) -> str:
    """One line per node, ending with its place in the user's model."""
    lines = [f"graph {graph.name} {{"]
    for port in graph.inputs:
        order = "" if port.perm is None else f"  # PyTorch's {list(port.real_shape)} permuted by {list(port.perm)}"
        lines.append(f"  input  {typed(port.value)}{order}")
    for state in graph.states:
        lines.append(f"  state  {typed(state.value)} -> %{state.next.name}")
    for value in graph.constants():
        if value.elements != 1:
            lines.append(f"  const  {typed(value)}")
    for node in graph.nodes:
        text = node_text(node)
        place = str(node.place)
        lines.append(f"  {text:<100}  # {place}" if place else f"  {text}")
        for inner in node.subgraphs.values():
            lines += [f"    {line}" for line in graph_text(inner).split("\n")]
    for port in graph.outputs:
        order = "" if port.perm is None else f"  # PyTorch's {list(port.real_shape)} permuted by {list(port.perm)}"
        lines.append(f"  output {typed(port.value)}{order}")
    return "\n".join([*lines, "}"])
