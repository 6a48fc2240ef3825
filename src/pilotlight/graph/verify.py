"""Checks that a graph means something: every value defined before use, every shape as its operator says."""

from __future__ import annotations

from pilotlight.errors import PilotlightError
from pilotlight.graph.graph import Graph, Value


def verify(graph: Graph, after: str = "capture") -> None:
    """Raise an internal error that names the node and the pass where the graph is not well formed."""
    from pilotlight import ops

    def fail(text: str) -> None:
        raise PilotlightError(f"after {after}: {text}", kind="internal")

    known: set[Value] = {p.value for p in graph.inputs} | {s.value for s in graph.states}
    names: dict[str, Value] = {}
    for value in graph.values():
        if names.setdefault(value.name, value) is not value:
            fail(f"two values are called %{value.name}")
        if value.data is not None:
            known.add(value)
            if value.data.shape != value.shape or value.data.dtype != value.dtype.numpy:
                fail(f"constant {value} holds {value.data.dtype}{list(value.data.shape)}")
    for node in graph.nodes:
        for value in node.inputs:
            if value not in known:
                fail(f"{value} is read before it is written, by {node}")
        for value in node.outputs:
            if value in known:
                fail(f"{value} is written twice, the second time by {node}")
            known.add(value)
        expected = ops.get(node.op).infer(node)
        got = [(v.dtype, v.shape) for v in node.outputs]
        if got != expected:
            fail(f"{node} should give {expected}")
    for port in graph.outputs:
        if port.value not in known:
            fail(f"output {port.name} is never written")
    for state in graph.states:
        if state.next not in known:
            fail(f"state {state.name} is never written")
        if state.next.shape != state.value.shape or state.next.dtype != state.value.dtype:
            fail(f"state {state.name} changes from {state.value} to {state.next}")
