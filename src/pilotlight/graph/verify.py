"""Checks that a graph means something: every value defined before use, every shape as its operator says."""

from __future__ import annotations

from collections.abc import Callable

from pilotlight.errors import PilotlightError
from pilotlight.graph import operators
from pilotlight.graph.graph import Graph, Port, Value

Fail = Callable[[str], PilotlightError]


def verify(graph: Graph, after: str = "capture") -> None:
    """Raise an internal error that names the node and the pass where the graph is not well formed."""

    def fail(text: str) -> PilotlightError:
        return PilotlightError(f"after {after}: {text}", kind="internal")

    _check_values(graph, fail)
    known = {p.value for p in graph.inputs} | {s.value for s in graph.states}
    if len(known) != len(graph.inputs) + len(graph.states):
        raise fail("two inputs or states are one value")
    known |= set(graph.constants())
    _check_nodes(graph, known, fail)
    for port in (*graph.inputs, *graph.outputs):
        if port.value not in known:
            raise fail(f"output {port.name} is never written")
        if _memory_shape(port) != port.value.shape:
            raise fail(f"{port.name} is {port.value}, which is not {list(port.shape)} permuted by {port.perm}")
    for state in graph.states:
        if state.next not in known:
            raise fail(f"state {state.name} is never written")
        if state.next.shape != state.value.shape or state.next.dtype != state.value.dtype:
            raise fail(f"state {state.name} changes from {state.value} to {state.next}")
        if state.initial.shape != state.value.shape or state.initial.dtype != state.value.dtype.numpy:
            raise fail(f"state {state.value} starts as {state.initial.dtype}{list(state.initial.shape)}")


def _check_values(graph: Graph, fail: Fail) -> None:
    names: dict[str, Value] = {}
    for value in graph.values():
        if names.setdefault(value.name, value) is not value:
            raise fail(f"two values are called %{value.name}")
        data = value.data
        if data is not None and (data.shape != value.shape or data.dtype != value.dtype.numpy):
            raise fail(f"constant {value} holds {data.dtype}{list(data.shape)}")


def _check_nodes(graph: Graph, known: set[Value], fail: Fail) -> None:
    """Every node reads what is known by then, and adds what it writes."""
    known_names = set(operators.names())
    for node in graph.nodes:
        for value in node.inputs:
            if value not in known:
                raise fail(f"{value} is read before it is written, by {node}")
        for value in node.outputs:
            if value in known:
                raise fail(f"{value} is written twice, the second time by {node}")
            known.add(value)
        if node.op not in known_names:
            raise fail(f"there is no operator {node.op}, in {node}")
        for graph in node.subgraphs.values():
            verify(graph, f"{node.op} of {node.place}")
        expected = operators.get(node.op).infer(node)
        if [(v.dtype, v.shape) for v in node.outputs] != expected:
            raise fail(f"{node} should give {expected}")


def _memory_shape(port: Port) -> tuple[int, ...]:
    shape = port.real_shape
    return shape if port.perm is None else tuple(shape[p] for p in port.perm)
