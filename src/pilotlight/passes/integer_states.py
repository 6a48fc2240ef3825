"""States that only ever hold dequantized integers hold the integers."""

from __future__ import annotations

from pilotlight.graph import Graph, Node, Quant, State, Value
from pilotlight.graph.dtypes import to_numpy, to_torch
from pilotlight.graph.operators import get
from pilotlight.passes.edit import Editor


def integer_states(graph: Graph) -> Graph:
    """A state that is quantized wherever it is read, and dequantized from the same scale when it is written."""
    edit = Editor(graph)
    for state in graph.states:
        readers, above = edit.readers(state.value), edit.producers.get(state.next)
        if not readers or above is None or not _agree(state, readers, above, edit.leaving):
            continue
        first = readers[0]
        value = graph.fresh(state.value.name, first.output.dtype, state.value.shape)
        value.quant = Quant(first.attrs["scale"], first.attrs["zero"])
        initial = get("quantize").reference(first, [to_torch(state.initial)])
        assert not isinstance(initial, tuple)
        for reader in readers:
            edit.remove(reader)
            edit.replace(reader.output, value)
        state.value, state.next, state.initial = value, above.inputs[0], to_numpy(initial)
    return edit.done()


def _agree(state: State, readers: list[Node], above: Node, leaving: set[Value]) -> bool:
    if above.op != "dequantize" or state.value in leaving:
        return False
    first = readers[0]
    whole = all(r.op == "quantize" and r.attrs == first.attrs for r in readers)
    if not whole or above.inputs[0].dtype != first.output.dtype:
        return False
    same = all(above.attrs[key] == first.attrs[key] for key in ("scale", "zero"))
    initial = to_torch(state.initial)
    codes = get("quantize").reference(first, [initial])
    assert not isinstance(codes, tuple)
    back = (codes.float() - first.attrs["zero"]) * first.attrs["scale"]
    return same and bool((back == initial).all())
