"""Runs a graph with the operators' reference results: what the passes are checked with."""

from __future__ import annotations

import torch

from pilotlight.graph.graph import Graph, Value


def evaluate(graph: Graph, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """One run from the initial state; inputs and outputs in PyTorch's order."""
    return trace(graph, inputs)[1]


def trace(graph: Graph, inputs: list[torch.Tensor]) -> tuple[dict[Value, torch.Tensor], list[torch.Tensor]]:
    """The same, with every value that was computed on the way."""
    from pilotlight import ops

    values: dict[Value, torch.Tensor] = {}
    for port, x in zip(graph.inputs, inputs, strict=True):
        values[port.value] = (x if port.perm is None else x.permute(port.perm)).reshape(port.value.shape)
    for state in graph.states:
        values[state.value] = torch.from_numpy(state.initial)
    for value in graph.constants():
        values[value] = torch.from_numpy(value.data)
    for node in graph.nodes:
        results = ops.get(node.op).reference(node, [values[v] for v in node.inputs])
        results = results if isinstance(results, tuple | list) else (results,)
        values.update(zip(node.outputs, results, strict=True))
    outputs = []
    for port in graph.outputs:
        y = values[port.value]
        if port.perm is not None:
            y = y.permute([port.perm.index(i) for i in range(len(port.perm))])
        outputs.append(y.reshape(port.shape))
    return values, outputs
