"""Where a model does what the reference of a user's kernel does, the kernel takes its place.

The reference is exported like a model, for the very shapes, and its nodes are looked for: the same operators with the
same attributes and constants, in the same order, whose results between them nothing else reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.custom import Kernel, UserOp, patterns
from pilotlight.custom.op import PARAMETERS, graph_name
from pilotlight.custom.signature import BATCH
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Node, Shape, Value

Trace = Callable[[torch.nn.Module, Sequence[torch.Tensor]], Graph]
_SIZES = (5, 8, 1)  # of the reference whose operators are looked for first: at one of these its form is the usual


def use_kernels(graph: Graph, trace: Trace) -> Graph:
    """Put kernels in the place of what their references do; `trace` captures a reference."""
    for op, kernel in patterns():
        finder = _Finder(kernel, op, trace)
        for last in reversed(list(graph.nodes)):
            if last in graph.nodes:
                finder.replace(graph, last)
    return graph


class _Reference(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


class _Finder:
    """Looks for one kernel's reference."""

    def __init__(self, kernel: Kernel, op: UserOp, trace: Trace):
        self.kernel, self.op, self.trace = kernel, op, trace
        self.traced: dict[tuple[Shape, ...], Graph | None] = {}

    def replace(self, graph: Graph, last: Node) -> None:
        """Put the kernel where the reference ends with the node `last`, if it does."""
        match = self._found(graph, last)
        if match is None:
            return
        inputs, inside = match
        node = Node(graph_name(self.op.title), inputs, last.outputs, {PARAMETERS: {}}, last.place)
        at = graph.nodes.index(last)
        graph.nodes[at] = node
        gone = set(inside) - {last}
        graph.nodes = [n for n in graph.nodes if n not in gone]

    def _found(self, graph: Graph, last: Node) -> tuple[list[Value], list[Node]] | None:
        for shapes in self._first_shapes():
            loose = self._graph(shapes)
            match = None if loose is None else _Match(graph, loose, exact=False).find(last)
            if match is None:
                continue
            bound = self.kernel.bind(match.inputs, {})
            exact = None if bound is None else self._graph(tuple(v.shape for v in match.inputs))
            found = None if exact is None else _Match(graph, exact, exact=True).find(last)
            if found is not None:
                return found.inputs, list(found.nodes)
        return None

    def _first_shapes(self) -> list[tuple[Shape, ...]]:
        """Shapes that the kernel takes, to see which operators its reference has."""
        found = []
        for size in _SIZES:
            dims = {name: _nearest(self.kernel, name, size) for name in self.kernel.dims}
            if self.kernel.allows(dims, {}):
                leading = [(dims[BATCH],)] if BATCH in dims else []
                found.append(tuple(t.shape(dims, leading) for t in self.kernel.inputs))
        return list(dict.fromkeys(found))

    def _graph(self, shapes: tuple[Shape, ...]) -> Graph | None:
        """The reference for some shapes; None where it cannot be captured or has no operator."""
        if shapes not in self.traced:
            assert self.kernel.reference is not None
            tensors = [torch.zeros(s, dtype=t.dtype.torch) for s, t in zip(shapes, self.kernel.inputs, strict=True)]
            try:
                graph = self.trace(_Reference(self.kernel.reference), tensors)
            except PilotlightError as error:
                raise PilotlightError(
                    f"what the reference of kernel {self.kernel.name} does cannot be looked for: {error.message}",
                    hint="write it in PyTorch's operators, or define an operator with torch.library and give op=",
                    kind="bad-kernel",
                ) from error
            if len(graph.outputs) != 1 or graph.outputs[0].value not in graph.producers():
                raise PilotlightError(
                    f"the reference of kernel {self.kernel.name} cannot be looked for: it does not compute one result",
                    hint="define an operator with torch.library and give op=", kind="bad-kernel",
                )
            self.traced[shapes] = graph
        return self.traced[shapes]


def _nearest(kernel: Kernel, name: str, size: int) -> int:
    allowed = kernel.sizes.get(name)
    return size if allowed is None else min(list(allowed)[:4096], key=lambda given: abs(given - size))


class _Match:
    """One attempt to find a pattern in a graph."""

    def __init__(self, graph: Graph, pattern: Graph, exact: bool):
        self.graph, self.pattern, self.exact = graph, pattern, exact
        self.makers, self.wanted = graph.producers(), pattern.producers()
        self.values: dict[Value, Value] = {}  # of the pattern → of the graph
        self.nodes: dict[Node, Node] = {}  # of the graph → of the pattern

    @property
    def inputs(self) -> list[Value]:
        return [self.values[port.value] for port in self.pattern.inputs]

    def find(self, last: Node) -> _Match | None:
        end = self.wanted[self.pattern.outputs[0].value]
        if not self._node(end, last) or any(port.value not in self.values for port in self.pattern.inputs):
            return None
        kept = set(last.outputs)
        users, leaving = self.graph.users(), self.graph.leaving()
        for node in self.nodes:
            for value in node.outputs:
                if value not in kept and (value in leaving or any(u not in self.nodes for u in users.get(value, ()))):
                    return None
        return self

    def _node(self, wanted: Node, given: Node) -> bool:
        if given in self.nodes:
            return self.nodes[given] is wanted
        if wanted.op != given.op or len(wanted.inputs) != len(given.inputs):
            return False
        if self.exact and (not _equal(wanted.attrs, given.attrs) or
                           [v.shape for v in wanted.outputs] != [v.shape for v in given.outputs]):
            return False
        self.nodes[given] = wanted
        return all(self._value(w, g) for w, g in zip(wanted.inputs, given.inputs, strict=True))

    def _value(self, wanted: Value, given: Value) -> bool:
        if wanted in self.values:
            return self.values[wanted] is given
        if wanted.dtype != given.dtype:
            return False
        if any(port.value is wanted for port in self.pattern.inputs):
            self.values[wanted] = given
            return True
        if wanted.data is not None:
            return given.data is not None and (not self.exact or _equal(wanted.data, given.data))
        maker, other = self.wanted[wanted], self.makers.get(given)
        if other is None or maker.outputs.index(wanted) != other.outputs.index(given):
            return False
        self.values[wanted] = given
        return self._node(maker, other)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
    return bool(one == other)
