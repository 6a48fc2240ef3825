"""Runs a graph with the operators' reference results: what the passes are checked with."""

from __future__ import annotations

import torch

from pilotlight.graph import operators
from pilotlight.graph.dtypes import to_numpy, to_torch
from pilotlight.graph.graph import Graph, Value
from pilotlight.graph.lengths import with_lengths
from pilotlight.graph.ports import from_memory, to_memory, visible


def evaluate(graph: Graph, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """One run from the initial state; inputs and outputs in PyTorch's order."""
    return trace(graph, inputs)[1]


def evaluate_runs(graph: Graph, runs: list[list[torch.Tensor]]) -> list[list[torch.Tensor]]:
    """One run after another, with states carried along."""
    carried: dict[str, torch.Tensor] = {}
    results = []
    for inputs in runs:
        values, outputs = trace(graph, inputs, carried)
        carried = {state.name: values[state.next].clone() for state in graph.states}
        results.append(outputs)
    return results


def trace(
    graph: Graph, inputs: list[torch.Tensor], carried: dict[str, torch.Tensor] | None = None
) -> tuple[dict[Value, torch.Tensor], list[torch.Tensor]]:
    """One run with every value that was computed on the way; `carried` holds states of an earlier run."""
    values: dict[Value, torch.Tensor] = {}
    for port, x in zip(graph.inputs, with_lengths(graph.inputs, inputs), strict=True):
        values[port.value] = to_torch(to_memory(port, x))
    for state in graph.states:
        values[state.value] = (carried or {}).get(state.name, to_torch(state.initial))
    for value in graph.constants():
        assert value.data is not None
        values[value] = to_torch(value.data)
    for node in graph.nodes:
        results = operators.get(node.op).reference(node, [values[v] for v in node.inputs])
        results = results if isinstance(results, tuple | list) else (results,)
        values.update(zip(node.outputs, results, strict=True))
    outputs = [from_memory(port, to_numpy(values[port.value])) for port in graph.outputs]
    return values, visible(graph.outputs, outputs)
