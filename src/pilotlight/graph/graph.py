"""The model as plain data: values, nodes, and the graph that orders them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch.export import ExportedProgram

from pilotlight.errors import PilotlightError
from pilotlight.fixed import PILOTLIGHT
from pilotlight.graph.dtypes import BY_NUMPY, DType
from pilotlight.graph.reference import Reference
from pilotlight.graph.streaming import Streaming

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Where in the user's model something came from."""

    module: str = ""  # module path, e.g. "features.0.conv"
    source: str = ""  # "net.py:12"

    def __str__(self) -> str:
        return ", ".join(part for part in (self.module, self.source) if part) or "the model"


@dataclass(frozen=True)
class Quant:
    """What the integers of a tensor stand for: `(integer - zero_point) * scale`."""

    scale: float
    zero_point: int

    def __str__(self) -> str:
        return f"({self.scale:g}, {self.zero_point})"


@dataclass(eq=False)
class Value:
    """A tensor. With `data` it is a constant; otherwise it is an input, a state or a node's result."""

    name: str
    dtype: DType
    shape: Shape
    data: np.ndarray | None = None
    quant: Quant | None = None  # of integers that stand for real numbers
    align: int = 4  # of a constant in memory, in bytes, where its type does not ask for more

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.size

    @property
    def is_constant(self) -> bool:
        return self.data is not None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.dtype}[{'x'.join(map(str, self.shape))}]"


@dataclass(eq=False)
class Node:
    """One operator applied to values."""

    op: str
    inputs: list[Value]
    outputs: list[Value]
    attrs: dict[str, Any] = field(default_factory=dict)
    place: Place = Place()

    @property
    def output(self) -> Value:
        """The result of a node that has exactly one."""
        (value,) = self.outputs
        return value

    @property
    def subgraphs(self) -> dict[str, Graph]:
        """What a control node runs: its attributes that are graphs."""
        return {name: value for name, value in self.attrs.items() if isinstance(value, Graph)}

    def __repr__(self) -> str:
        from pilotlight.graph.text import node_text

        return node_text(self)


@dataclass(eq=False)
class Port:
    """An input or output as the caller sees it.

    `shape` is PyTorch's; in memory the tensor is `value`, which is PyTorch's permuted by `perm`
    (`memory = tensor.permute(perm)`) where `perm` is not None. A complex tensor is its pairs of floats there, with a
    last dimension of 2 that `shape` does not have.
    """

    name: str
    value: Value
    shape: Shape
    perm: tuple[int, ...] | None = None
    quant: Quant | None = None  # PyTorch's tensor is float, the memory holds integers
    sizes: tuple[tuple[int, int], ...] = ()  # (axis, the port among its kind that has its size in this run)
    is_size: bool = False  # this is such a port, which PyTorch does not have
    limits: tuple[int, int] = (0, 0)  # of a size that is an input: the least and the largest
    is_complex: bool = False  # complex64 in PyTorch

    @property
    def real_shape(self) -> Shape:
        """PyTorch's shape with the pairs of a complex tensor as a dimension."""
        return (*self.shape, 2) if self.is_complex else self.shape


@dataclass(eq=False)
class State:
    """A buffer that the model changes: `value` at the start of a run becomes `next` at its end."""

    name: str
    value: Value
    next: Value
    initial: np.ndarray


@dataclass
class Quantization:
    """How a graph came to have integers: the mode, and PyTorch's own quantized program for comparison."""

    mode: str
    program: Any

    @property
    def weights_only(self) -> bool:
        """Inputs and results of layers are float: compared with PyTorch as float models are."""
        return self.mode.startswith("weights-")


@dataclass
class Graph:
    """Nodes in execution order, between inputs and outputs, with the states they carry along."""

    name: str
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    macs: int = 0  # of the captured model, before any pass
    sha256: str = ""  # of the captured model as well
    reference: Reference | None = None  # what it is compared with; see `truth`
    exported: ExportedProgram | None = None  # what torch.export made of the model; see `torch_program`
    quantization: Quantization | None = None
    framework: str = "PyTorch"  # that the model comes from
    numerics: str = PILOTLIGHT  # which contract of `pilotlight.fixed` its integers follow
    notes: dict[str, str] = field(default_factory=dict)  # what a model file says about itself, for headers and reports
    fixed: list[tuple[int, Any]] = field(default_factory=list)  # results that are not tensors, by place
    fallbacks: list[Any] = field(default_factory=list)  # float operators inside an integer model, with reasons
    partitions: list[Any] = field(default_factory=list)  # what each backend took of it, and what it refused
    rate: int | None = None  # samples a second that all its mel filters were made for
    streaming: Streaming | None = None  # of the step of a streaming model
    _names: dict[str, int] = field(default_factory=dict)

    @property
    def truth(self) -> Reference:
        """The reference; a graph that was built by hand may have none."""
        if self.reference is None:
            raise PilotlightError(
                f"the graph {self.name} has no reference: there is nothing to compare its results with",
                hint="set graph.reference, or capture a model", kind="usage",
            )
        return self.reference

    @property
    def torch_program(self) -> ExportedProgram:
        """The exported program, for what only PyTorch can do, such as quantizing."""
        if self.exported is None:
            raise PilotlightError(
                f"{self.name} does not come from PyTorch, so it cannot be quantized here",
                hint="quantize the model before it is read", kind="unsupported",
            )
        return self.exported

    def fresh(self, hint: str, dtype: DType, shape: Iterable[int], data: np.ndarray | None = None) -> Value:
        """A new value with a name that no other value of this graph has."""
        count = self._names.get(hint, 0)
        self._names[hint] = count + 1
        name = hint if count == 0 else f"{hint}_{count}"
        if count and name in self._names:
            return self.fresh(hint, dtype, shape, data)
        self._names.setdefault(name, 1)
        return Value(name, dtype, tuple(int(s) for s in shape), data)

    def constant(self, data: np.ndarray, hint: str = "const") -> Value:
        data = np.asarray(data)
        if not data.flags["C_CONTIGUOUS"]:
            data = data.copy()
        return self.fresh(hint, BY_NUMPY[data.dtype], data.shape, data)

    def producers(self) -> dict[Value, Node]:
        return {value: node for node in self.nodes for value in node.outputs}

    def users(self) -> dict[Value, list[Node]]:
        """Every value's readers among the nodes, in order, each once."""
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                users.setdefault(value, []).append(node)
        return users

    def leaving(self) -> set[Value]:
        """Values that outlive the nodes: outputs and next states."""
        return {port.value for port in self.outputs} | {state.next for state in self.states}

    def replace(self, old: Value, new: Value) -> None:
        """Make every reader of `old` read `new` instead."""
        for node in self.nodes:
            if old in node.inputs:
                node.inputs = [new if v is old else v for v in node.inputs]
        self.replace_leaving(old, new)

    def replace_leaving(self, old: Value, new: Value) -> None:
        """Hand out `new` wherever `old` was an output or the next value of a state."""
        for port in self.outputs:
            if port.value is old:
                port.value = new
        for state in self.states:
            if state.next is old:
                state.next = new

    def values(self) -> Iterator[Value]:
        """Every value once: inputs, states, then what nodes read and write."""
        seen: set[Value] = set()
        sources: list[Value] = [p.value for p in self.inputs] + [s.value for s in self.states]
        for node in self.nodes:
            sources += [*node.inputs, *node.outputs]
        sources += [p.value for p in self.outputs] + [s.next for s in self.states]
        for value in sources:
            if value not in seen:
                seen.add(value)
                yield value

    def constants(self) -> list[Value]:
        return [value for value in self.values() if value.is_constant]

    def stand_for(self, real: Graph) -> None:
        """Become another form of a captured graph: compared with the same model, called by the same names."""
        self.reference, self.exported, self.macs = real.reference, real.exported, real.macs
        self.numerics, self.framework, self.notes = real.numerics, real.framework, real.notes
        self.rate = real.rate
        for port, original in zip([*self.inputs, *self.outputs], [*real.inputs, *real.outputs], strict=True):
            port.name = original.name

    def clone(self) -> Graph:
        """A copy that passes may change; the constants' arrays are shared, they are never written."""
        memo: dict[int, Any] = {id(array): array for array in self._arrays()}
        memo |= {id(kept): kept for kept in (self.reference, self.exported, self.quantization, self.streaming)}
        return copy.deepcopy(self, memo)

    def _arrays(self) -> Iterator[np.ndarray]:
        """The data of every constant and state, subgraphs included."""
        yield from (v.data for v in self.values() if v.data is not None)
        yield from (s.initial for s in self.states)
        for node in self.nodes:
            for graph in node.subgraphs.values():
                yield from graph._arrays()

    def __str__(self) -> str:
        from pilotlight.graph.text import graph_text

        return graph_text(self)
