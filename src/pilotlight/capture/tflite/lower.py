"""TfliteModel → Graph: the operators of a subgraph in their order, each by its function in `operators/`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pilotlight import ops
from pilotlight.capture.tflite import operators
from pilotlight.capture.tflite.labels import file_notes
from pilotlight.capture.tflite.model import FileOperator, FileSubgraph, FileTensor, OperatorOptions, TfliteModel
from pilotlight.capture.tflite.registry import OperatorRule, rule
from pilotlight.capture.tflite.site import DTYPES, LIMITS, Site, Variables
from pilotlight.errors import PilotlightError, UnsupportedError
from pilotlight.fixed import PILOTLIGHT, TFLM
from pilotlight.graph import INT8, INT16, UINT8, Graph, Place, Port, Quant, State, Value, verify
from pilotlight.graph.builder import Builder
from pilotlight.graph.digest import digest

LARGEST_TENSOR = 1 << 25  # bytes of what is computed: more than microcontrollers have
DEEPEST = 16  # subgraphs inside each other
MOST_OPERATORS = 20_000
_NO_FIT = (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError)
__all__ = ["lower_tflite", "operator_problems", "operators", "supported_operators"]


@dataclass(frozen=True)
class OperatorSupport:
    """An operator of a file, and why it cannot be read, if so."""

    subgraph: FileSubgraph
    operator: FileOperator
    where: str
    problem: str | None


def operator_problems(model: TfliteModel) -> list[OperatorSupport]:
    """Every operator of a file, in order; a problem is found without looking at more than its name and types."""
    rows = []
    for subgraph, found in model.operators():
        tensors = [subgraph.tensors[k] for k in (*found.inputs, *found.outputs) if k >= 0]
        problem = None
        if found.custom:
            problem = f"the custom operator {found.name or '(without a name)'} is not supported"
        elif rule(found.name) is None:
            problem = f"{found.name} is not supported"
        else:
            odd = next((t for t in tensors if t.type not in DTYPES and t.type != "RESOURCE"), None)
            problem = None if odd is None else f"{found.name}: {odd} has a type that is not supported"
        rows.append(OperatorSupport(subgraph, found, _where(model, subgraph, found), problem))
    return rows


def supported_operators(model: TfliteModel) -> list[OperatorSupport]:
    """The same with what is found only when the nodes of an operator are written."""
    rows = operator_problems(model)
    if any(row.problem for row in rows):
        return rows
    lowering = _Lowering(model)
    with np.errstate(all="ignore"):
        lowering.main("model")
    problems = {problem.where: problem.message for problem in lowering.problems}
    return [replace(row, problem=problems.get(row.where)) for row in rows]


def _where(model: TfliteModel, subgraph: FileSubgraph, found: FileOperator) -> str:
    result = next((str(subgraph.tensors[k]) for k in found.outputs), "no result")
    return f"operator {found.index} of {subgraph} in {Path(model.name).name}, which gives {result}"


def lower_tflite(model: TfliteModel, name: str) -> Graph:
    """The first subgraph, with the others where its operators run them."""
    problems = [
        PilotlightError(row.problem, where=row.where, kind="unsupported")
        for row in operator_problems(model) if row.problem is not None
    ]
    if problems:
        raise UnsupportedError(problems)
    lowering = _Lowering(model)
    with np.errstate(all="ignore"):  # odd numbers of a damaged file, which are refused where they matter
        graph = lowering.main(name)
    if lowering.problems:
        raise UnsupportedError(lowering.problems)
    graph.macs = sum(ops.get(n.op).macs(n) for n in graph.nodes)
    verify(graph)
    graph.sha256 = digest(graph)
    return graph


@dataclass
class _Lowering:
    model: TfliteModel
    problems: list[PilotlightError] = field(default_factory=list)
    depth: int = 0
    once: bool = False
    lowered: int = 0  # operators, each as often as it is run into
    resources: dict[int, str] = field(default_factory=dict)
    variables: Variables = field(default_factory=Variables)

    def main(self, name: str) -> Graph:
        subgraph = self.model.subgraphs[0]
        names = next((s for s in self.model.signatures if s.subgraph == 0), None)
        graph = Graph(name)
        b = Builder(graph)
        values: dict[int, Value] = {}
        for number, k in enumerate(subgraph.inputs):
            tensor = subgraph.tensors[k]
            if k in values:
                raise PilotlightError(f"{self.model.name}: two inputs are {tensor}", kind="unsupported")
            called = _port_name(names.inputs.get(k) if names else None, tensor, f"input_{number}")
            value = self._port_value(graph, tensor, called)
            graph.inputs.append(Port(called, value, tensor.shape))
            values[k] = _signed(b, value, tensor)
        self._keep_states(subgraph, b, values)
        self._operators(subgraph, b, values)
        if self.problems:
            return graph
        for number, k in enumerate(subgraph.outputs):
            tensor = subgraph.tensors[k]
            called = _port_name(names.outputs.get(k) if names else None, tensor, f"output_{number}")
            value = _unsigned(b, self._value(values, tensor, b, f"output {number}"), tensor)
            graph.outputs.append(Port(called, value, tensor.shape))
        for key, state in self.variables.states.items():
            graph.states.append(State(state.name, state.value, self.variables.now[key], state.initial))
        integers = any(t.affine is not None and t.type in LIMITS for t in subgraph.tensors)
        graph.numerics = TFLM if integers else PILOTLIGHT
        graph.framework, graph.notes = "TensorFlow Lite", file_notes(self.model)
        return graph

    def _port_value(self, graph: Graph, tensor: FileTensor, called: str) -> Value:
        self._check(tensor, f"the input {called}")
        value = graph.fresh(called, DTYPES[tensor.type], tensor.shape)
        affine = tensor.affine
        if value.dtype in (INT8, INT16, UINT8) and affine is not None and len(affine.scales) == 1:
            value.quant = Quant(float(affine.scales[0]), int(affine.zero_points[0]))
        return value

    def _check(self, tensor: FileTensor, what: str) -> None:
        if tensor.type not in DTYPES:
            raise PilotlightError(f"{what} is {tensor}; this type is not supported", kind="dtype")
        if math.prod(max(n, 1) for n in tensor.shape) * DTYPES[tensor.type].size > LARGEST_TENSOR:
            raise PilotlightError(f"{what} is {tensor}, more than {LARGEST_TENSOR:,} bytes", kind="too-large")

    def _keep_states(self, subgraph: FileSubgraph, b: Builder, values: dict[int, Value]) -> None:
        """Tensors that an operator changes in place and that last: the states of SVDF and LSTM."""
        for tensor in subgraph.tensors:
            if tensor.variable and tensor.index not in values:
                self._check(tensor, "the variable")
                zero = int(tensor.affine.zero_points[0]) if tensor.affine is not None and tensor.type == "INT8" else 0
                if not -128 <= zero <= 127:
                    raise PilotlightError(f"{tensor} has the zero point {zero}", kind="unsupported")
                initial = np.full(tensor.shape, zero, DTYPES[tensor.type].numpy)
                value = b.graph.fresh(_word(tensor.name, f"state_{tensor.index}"), DTYPES[tensor.type], tensor.shape)
                key = f"tensor {tensor.index}"
                self.variables.states[key] = State(value.name, value, value, initial)
                self.variables.now[key] = values[tensor.index] = value

    def _value(self, values: dict[int, Value], tensor: FileTensor, b: Builder, what: str) -> Value:
        """A tensor that an operator or output reads."""
        if tensor.variable:
            if self.depth:
                raise PilotlightError(f"the variable {tensor} of a subgraph inside another", kind="unsupported")
            return self.variables.now[f"tensor {tensor.index}"]
        if tensor.index not in values:
            if tensor.data is None and 0 not in tensor.shape:
                raise PilotlightError(
                    f"{what} reads {tensor}, which nothing has written before it",
                    hint="the operators of a file are listed in the order in which they run", kind="broken-file",
                )
            if tensor.data is None:
                self._check(tensor, what)
            data = np.zeros(tensor.shape, DTYPES[tensor.type].numpy) if tensor.data is None else tensor.data
            if _is_uint8(tensor):
                data = (data.astype(np.int16) - 128).astype(np.int8)
            values[tensor.index] = b.constant(data, hint=_word(tensor.name, "const"))
        return values[tensor.index]

    def _operators(self, subgraph: FileSubgraph, b: Builder, values: dict[int, Value]) -> None:
        outer, self.resources = self.resources, {}
        for found in subgraph.operators:
            self.lowered += 1
            if self.lowered > MOST_OPERATORS:
                raise PilotlightError(
                    f"{self.model.name} runs more than {MOST_OPERATORS:,} operators, subgraphs counted each time",
                    kind="too-large",
                )
            results = [subgraph.tensors[k] for k in found.outputs]
            number = f"{subgraph.index}.{found.index}" if subgraph.index else str(found.index)
            called = results[0].name.partition(";")[0] if results else found.name
            b.place = Place(called, f"{Path(self.model.name).name}:{number}")
            try:
                made = self._operator(subgraph, found, b, values, results)
            except PilotlightError as error:
                if error.kind == "broken-file":
                    raise
                error.where = _where(self.model, subgraph, found)
                self.problems.append(error)
                made = [self._stand_in(b, tensor) for tensor in results]
            except _NO_FIT as error:
                why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
                given = ", ".join(str(subgraph.tensors[k]) for k in found.inputs if k >= 0)
                self.problems.append(PilotlightError(
                    f"{found.name}: its tensors do not fit together ({given}): {why}",
                    where=_where(self.model, subgraph, found), kind="unsupported",
                ))
                made = [self._stand_in(b, tensor) for tensor in results]
            values.update(zip(found.outputs, made, strict=True))
        self.resources = outer

    def _stand_in(self, b: Builder, tensor: FileTensor) -> Value:
        """In place of what could not be made, so that the operators after it are looked at too."""
        dtype = INT8 if _is_uint8(tensor) else DTYPES.get(tensor.type, INT8)
        return b.graph.fresh("missing", dtype, tensor.shape)

    def _operator(
        self, subgraph: FileSubgraph, found: FileOperator, b: Builder, values: dict[int, Value],
        results: list[FileTensor],
    ) -> list[Value]:
        chosen = rule(found.name)
        assert chosen is not None
        for tensor in results:
            if tensor.type != "RESOURCE":
                self._check(tensor, f"the result of {found.name}")
        tensors = [subgraph.tensors[k] if k >= 0 else None for k in found.inputs]
        given = [
            None if t is None or t.type == "RESOURCE" else self._value(values, t, b, f"operator {found.index}")
            for t in tensors
        ]
        options = found.options(chosen.options) if chosen.options else OperatorOptions(None)
        site = Site(
            b, found, given, tensors, results, options, self.variables, self._inside, self._run_once, self.resources,
            self.depth > 0, self.once, [subgraph.tensors[k] for k in found.intermediates if k >= 0],
        )
        return list(self._checked(site, chosen))

    def _checked(self, site: Site, chosen: OperatorRule) -> Iterator[Value]:
        """The results, of the types and shapes that the file says."""
        made = chosen.function(site)
        found = [] if made is None else [made] if isinstance(made, Value) else list(made)
        if len(found) != len(site.results):
            raise site.refuse(f"it has {len(site.results)} results; expected {len(found)}")
        for value, tensor in zip(found, site.results, strict=True):
            dtype = INT8 if _is_uint8(tensor) else DTYPES.get(tensor.type)
            if tensor.type != "RESOURCE" and (value.dtype, value.shape) != (dtype, tensor.shape):
                raise site.refuse(f"it gives {value.dtype}{list(value.shape)}; the file says {tensor}")
            affine = tensor.affine
            if value.quant is None and tensor.type in ("INT8", "INT16", "UINT8") and affine is not None \
                    and len(affine.scales) == 1:
                value.quant = Quant(
                    float(affine.scales[0]), int(affine.zero_points[0]) - (128 if tensor.type == "UINT8" else 0)
                )
            yield value

    def _inside(self, number: int, operands: Sequence[Value], name: str) -> Graph:
        """Another subgraph, for a control node: its inputs are these operands."""
        subgraph = self._other(number)
        if len(subgraph.inputs) != len(operands):
            raise PilotlightError(
                f"{subgraph} takes {len(subgraph.inputs)} inputs, got {len(operands)}", kind="unsupported"
            )
        graph = Graph(name)
        b = Builder(graph)
        values: dict[int, Value] = {}
        for k, operand in zip(subgraph.inputs, operands, strict=True):
            tensor = subgraph.tensors[k]
            value = graph.fresh(_word(tensor.name, "x"), operand.dtype, operand.shape)
            value.quant = operand.quant
            graph.inputs.append(Port(value.name, value, value.shape))
            values[k] = value
        before = dict(self.variables.now)
        self.depth += 1
        self._operators(subgraph, b, values)
        self.depth -= 1
        if self.variables.now != before:
            raise PilotlightError(f"{subgraph} changes a variable inside IF or WHILE", kind="unsupported")
        for k in subgraph.outputs:
            tensor = subgraph.tensors[k]
            value = self._value(values, tensor, b, f"an output of {subgraph}")
            graph.outputs.append(Port(_word(tensor.name, "y"), value, value.shape))
        return graph

    def _other(self, number: int) -> FileSubgraph:
        if not 0 < number < len(self.model.subgraphs):
            raise PilotlightError(
                f"it runs subgraph {number}; the file has {len(self.model.subgraphs)}", kind="unsupported"
            )
        if self.depth >= DEEPEST:
            raise PilotlightError(f"subgraph {number} runs inside itself, or too deep", kind="unsupported")
        return self.model.subgraphs[number]

    def _run_once(self, number: int) -> None:
        """A subgraph that only gives variables their first values."""
        subgraph = self._other(number)
        b = Builder(Graph("once"))
        self.depth, self.once = self.depth + 1, True
        before = dict(self.variables.now)
        self._operators(subgraph, b, {})
        self.depth, self.once = self.depth - 1, False
        for key, value in list(self.variables.now.items()):
            if before.get(key) is value:
                continue
            data = b.known(value)
            if data is None:
                raise PilotlightError(f"{subgraph} computes the first value of {key}", kind="unsupported")
            self.variables.initial[key] = data
        self.variables.now = before


def _is_uint8(tensor: FileTensor) -> bool:
    """Quantized with 8 bits without sign: read as int8, which is 128 less."""
    return tensor.type == "UINT8" and tensor.affine is not None


def _signed(b: Builder, value: Value, tensor: FileTensor) -> Value:
    if not _is_uint8(tensor):
        return value
    return operators.shifted(b, value, -128, INT8)


def _unsigned(b: Builder, value: Value, tensor: FileTensor) -> Value:
    if not _is_uint8(tensor):
        return value
    made = operators.shifted(b, value, 128, UINT8)
    assert tensor.affine is not None
    made.quant = Quant(float(tensor.affine.scales[0]), int(tensor.affine.zero_points[0]))
    return made


def _word(name: str, default: str) -> str:
    """The last part of a name such as `model/conv/Relu;model/conv/Conv2D`."""
    return name.partition(";")[0].rpartition("/")[2] or default


def _port_name(given: str | None, tensor: FileTensor, default: str) -> str:
    name = given or tensor.name.removeprefix("serving_default_").partition(":")[0]
    return _word(name, default)
