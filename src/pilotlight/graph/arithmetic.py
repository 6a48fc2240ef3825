"""Which values of a graph are integers and copies of them, the same on every core, and which come from floats."""

from __future__ import annotations

from enum import IntEnum

from pilotlight.graph.graph import Graph, Value


class Arithmetic(IntEnum):
    EXACT = 0  # the same bits everywhere
    FLOAT = 1  # to rounding
    QUANTIZED_FLOAT = 2  # integers made from computed floats, and what follows them: a rounding may change one


def arithmetic(graph: Graph) -> dict[Value, Arithmetic]:
    """For the results of nodes and for states that are not exact."""
    kinds: dict[Value, Arithmetic] = {}
    while True:  # again while states carry something into the next run
        for node in graph.nodes:
            given = max((kinds.get(v, Arithmetic.EXACT) for v in node.inputs), default=Arithmetic.EXACT)
            for value in node.outputs:
                kind = given
                if value.dtype.kind == "f" and node.op != "dequantize":
                    kind = max(given, Arithmetic.FLOAT)
                elif value.dtype.kind != "f" and given is Arithmetic.FLOAT:
                    kind = Arithmetic.QUANTIZED_FLOAT
                kinds[value] = kind
        before = dict(kinds)
        for state in graph.states:
            first = kinds.get(state.value, Arithmetic.EXACT)
            kinds[state.value] = max(first, kinds.get(state.next, Arithmetic.EXACT))
        if kinds == before:
            return kinds
