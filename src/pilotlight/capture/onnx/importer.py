"""An ONNX graph and example inputs → the module that computes it.

The nodes are walked once. What depends on constants and on shapes alone is computed on the way, by ONNX's own reference
evaluator; every other node becomes a submodule and is called with the example, so that the shapes after it are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator

from pilotlight.capture.onnx import operators
from pilotlight.capture.onnx.definitions import definition
from pilotlight.capture.onnx.file import NEWEST
from pilotlight.capture.onnx.module import Argument, Fixed, Held, Live, OnnxBody, OnnxNode
from pilotlight.capture.onnx.registry import Operator
from pilotlight.capture.onnx.types import as_tensor, tensor_type, type_name
from pilotlight.errors import PilotlightError

KEPT = ("DequantizeLinear", "QuantizeLinear")  # of constants: the integer graph is made from them
MOST = 1 << 28  # bytes of a constant that folding may make


@dataclass(frozen=True)
class Known:
    """A value that is known before the model runs."""

    array: Any  # numpy's, or a list of them


@dataclass(frozen=True)
class Computed:
    """A value that the model computes, here for the example; `varying` if its shape depends on the data."""

    example: Any
    varying: bool = False


Entry = Known | Computed
Scope = dict[str, Entry]


class Importer:
    """Fills a body with the nodes of one graph, and of the definitions of its operators."""

    def __init__(self, body: OnnxBody, scope: Scope, prefix: str = ""):
        self.body, self.scope, self.prefix = body, scope, prefix

    def graph(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            self.scope[tensor.name] = Known(read_tensor(tensor))
        for tensor in graph.sparse_initializer:
            raise refuse(f"the constant {tensor.values.name!r} is sparse", "store it as a dense tensor")
        for number, node in enumerate(graph.node):
            self.node(node, self.prefix + (node.name or f"{node.op_type}_{number}"))

    def node(self, node: onnx.NodeProto, name: str) -> None:
        try:
            self._node(node, name)
        except PilotlightError as problem:
            problem.where = problem.where or f"node {name} ({node.op_type})"
            raise
        except RecursionError as error:
            raise refuse("the graph is nested too deeply", "") from error

    def _node(self, node: onnx.NodeProto, name: str) -> None:
        known = self._known(node)
        if known is not None:
            self._write(node, [Known(array) for array in known])
            return
        operator = operators.find(node.domain, node.op_type)
        if operator is not None and operator.function is not None:
            self._call(node, name, operator)
            return
        if self._inline(node, name):
            return
        raise unknown(node, name)

    def entry(self, name: str) -> Entry | None:
        if not name:
            return None
        if name not in self.scope:
            raise refuse(f"it reads {name!r}, which nothing before it computes: the graph is cyclic or not sorted",
                         "export the model again", "broken-file")
        return self.scope[name]

    def _write(self, node: onnx.NodeProto, entries: Sequence[Entry]) -> None:
        self.scope.update({name: entry for name, entry in zip(node.output, entries, strict=False) if name})

    def _known(self, node: onnx.NodeProto) -> list[Any] | None:
        """The results of a node that depends on constants and shapes alone."""
        entries = [self.entry(name) for name in node.input]
        if node.op_type in ("Shape", "Size") and isinstance(entries[0], Computed) and not entries[0].varying:
            sizes = list(entries[0].example.shape)
            if node.op_type == "Size":
                return [np.array(int(np.prod(sizes, dtype=np.int64)), np.int64)]
            attributes = {a.name: a.i for a in node.attribute}
            return [np.array(sizes[attributes.get("start", 0) : attributes.get("end")], np.int64)]
        if any(isinstance(entry, Computed) for entry in entries) or node.op_type in KEPT:
            return None
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
            return None
        if node.op_type.startswith(("Random", "Bernoulli", "Multinomial")):
            return None
        return evaluated(node, [None if e is None else e.array for e in entries])  # type: ignore[union-attr]

    def _call(self, node: onnx.NodeProto, name: str, operator: Operator) -> None:
        arguments: list[Argument] = []
        reads: list[str] = []
        live: list[Any] = []
        constants: dict[str, torch.Tensor] = {}
        varying = operator.varying
        if not operator.variadic and len(node.input) > len(operator.inputs):
            raise refuse(f"its input {len(operator.inputs)} is not supported", "")
        for position, read in enumerate(node.input):
            entry, what = self.entry(read), operator.input_name(position)
            if entry is None:
                arguments.append(Fixed(None))
            elif what in operator.fixed:
                arguments.append(Fixed(self._fixed(entry, what, read)))
            elif isinstance(entry, Known) and what in operator.numbers:
                arguments.append(Fixed(entry.array.tolist()))
            elif isinstance(entry, Known):
                arguments.append(self._held(entry, position, what, constants))
            else:
                arguments.append(Live(len(live)))
                reads.append(read)
                live.append(entry.example)
                varying |= entry.varying
        attributes = self._attributes(node, operator)
        module = OnnxNode(operator.function, arguments, attributes, constants)  # type: ignore[arg-type]
        results = self._example(module, live)
        self.body.add(name, module, reads, node.output)
        self._write(node, [Computed(result, varying) for result in results])

    def _example(self, module: torch.nn.Module, live: Sequence[Any]) -> tuple[Any, ...]:
        try:
            with torch.no_grad():
                results: tuple[Any, ...] = module(*live)
                return results
        except PilotlightError:
            raise
        except Exception as error:  # whatever PyTorch raises for these shapes and types
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise refuse(f"it is not supported with these inputs and attributes: {reason}", "") from error

    def _fixed(self, entry: Entry, what: str, read: str) -> Any:
        if not isinstance(entry, Known):
            raise PilotlightError(
                f"its input {what} ({read!r}) is computed while the model runs; a compiled model needs it before",
                hint=f"if it is an input of the model, give it with --bake {read}=VALUE or a .npy file",
                kind="dynamic-shape",
            )
        return entry.array.tolist() if isinstance(entry.array, np.ndarray) else entry.array

    def _held(self, entry: Known, position: int, what: str, constants: dict[str, torch.Tensor]) -> Argument:
        if not isinstance(entry.array, np.ndarray | np.generic):
            return Fixed([as_tensor(item) for item in entry.array])
        tensor = as_tensor(np.asarray(entry.array))
        if tensor is None:
            raise refuse(f"its input {what} is a constant of type {entry.array.dtype}", "", "dtype")
        constants[f"constant_{position}"] = tensor
        return Held(f"constant_{position}")

    def _attributes(self, node: onnx.NodeProto, operator: Operator) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.name not in operator.attributes:
                raise refuse(f"its attribute {attribute.name} is not supported", "")
            values[attribute.name] = self._attribute(attribute)
        if "outputs" in operator.attributes:
            values["outputs"] = sum(bool(name) for name in node.output)
        return values

    def _attribute(self, attribute: onnx.AttributeProto) -> Any:
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, onnx.TensorProto):
            return as_tensor(read_tensor(value))
        if attribute.type == onnx.AttributeProto.STRINGS:
            return [item.decode() for item in value]
        return list(value) if not isinstance(value, int | float | onnx.GraphProto) else value

    def _inline(self, node: onnx.NodeProto, name: str) -> bool:
        """Compute the node as ONNX defines it; False where the standard has no definition."""
        entries = [self.entry(read) for read in node.input]
        if any(isinstance(e, Known) and not isinstance(e.array, np.ndarray) for e in entries):
            return False
        graph = definition(node, [_shown(entry) for entry in entries])
        if graph is None:
            return False
        operator = operators.find(node.domain, node.op_type)
        inner: Scope = {}
        for position, (read, port, entry) in enumerate(zip(node.input, graph.input, entries, strict=False)):
            if operator is not None and entry is not None and operator.input_name(position) in operator.fixed:
                self._fixed(entry, operator.input_name(position), read)
            if entry is not None:
                inner[port.name] = entry
        part = _Part(self, inner, f"{name}/", dict(zip((p.name for p in graph.input), node.input, strict=False)))
        part.graph(graph)
        for port, written in zip(graph.output, node.output, strict=False):
            if written:
                part.export(port.name, written)
        return True


class _Part(Importer):
    """The nodes of a definition: in the same body, with names of their own."""

    def __init__(self, outer: Importer, scope: Scope, prefix: str, inputs: dict[str, str]):
        super().__init__(outer.body, scope, prefix)
        self.outer = outer
        self.names = inputs

    def _outside(self, name: str) -> str:
        return self.names.get(name, self.prefix + name)

    def _call(self, node: onnx.NodeProto, name: str, operator: Operator) -> None:
        super()._call(node, name, operator)
        step = self.body.steps.pop()
        reads, writes = (tuple(self._outside(n) if n else "" for n in part) for part in (step.reads, step.writes))
        self.body.steps.append(type(step)(step.module, reads, writes))

    def export(self, name: str, written: str) -> None:
        entry = self.scope[name]
        self.outer.scope[written] = entry
        if isinstance(entry, Computed):
            self.body.add(written, OnnxNode(_same, [Live(0)], {}, {}), [self._outside(name)], [written])


def _same(x: Any) -> Any:
    return x


def _shown(entry: Entry | None) -> onnx.TypeProto | None:
    """The type of a value, for a definition that depends on it."""
    if entry is None:
        return None
    value = entry.array if isinstance(entry, Known) else entry.example
    return tensor_type(value)


def read_tensor(tensor: onnx.TensorProto) -> np.ndarray:
    try:
        return onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # sizes and types that do not fit raise several types
        raise refuse(f"the constant {tensor.name!r} of type {type_name(tensor.data_type)} cannot be read", "",
                     "broken-file") from error


def evaluated(node: onnx.NodeProto, arrays: Sequence[Any]) -> list[Any] | None:
    """What ONNX's reference evaluator computes for constants; None where it cannot."""
    if node.op_type == "ConstantOfShape" and np.prod(arrays[0], dtype=np.float64) * 8 > MOST:
        raise refuse(f"it makes a constant of {np.prod(arrays[0], dtype=np.float64):.0f} elements", "")
    inputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "constants", inputs, outputs)
    imports = [onnx.helper.make_opsetid("", NEWEST)]
    if node.domain not in ("", "ai.onnx"):
        imports.append(onnx.helper.make_opsetid(node.domain, 1))
    try:
        with np.errstate(all="ignore"):
            session = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=imports))
            given = {name: array for name, array in zip(node.input, arrays, strict=True) if name}
            found = iter(session.run(None, given))
    except Exception:  # an operator that it does not have, or arguments that it does not take
        return None
    return [next(found) if name else None for name in node.output]


def refuse(message: str, hint: str, kind: str = "unsupported") -> PilotlightError:
    return PilotlightError(message, hint=hint or None, kind=kind)


def unknown(node: onnx.NodeProto, name: str) -> PilotlightError:
    whole = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return PilotlightError(
        f"operator {whole} is not supported", where=f"node {name}", kind="unsupported",
        hint="docs/onnx.md lists the operators that are; replace it with some of them",
    )


def imported(graph: onnx.GraphProto, examples: Mapping[str, torch.Tensor], baked: Mapping[str, np.ndarray]) -> OnnxBody:
    """The body of a model's graph for example inputs, with the values of inputs that are baked in."""
    body = OnnxBody(list(examples))
    scope: Scope = {name: Computed(example) for name, example in examples.items()}
    scope |= {name: Known(array) for name, array in baked.items()}
    importer = Importer(body, scope)
    importer.graph(graph)
    for port in graph.output:
        entry = importer.entry(port.name)
        if isinstance(entry, Known) or port.name in examples:
            importer.body.add(f"output/{port.name}", *_output(port.name, entry))
    body.outputs = tuple(f"output/{p.name}" if isinstance(importer.entry(p.name), Known) or p.name in examples
                         else p.name for p in graph.output)
    return body


def _output(name: str, entry: Entry | None) -> tuple[OnnxNode, list[str], list[str]]:
    """A result that is a constant, or an input as it is."""
    if isinstance(entry, Known):
        tensor = as_tensor(np.asarray(entry.array))
        if tensor is None:
            raise refuse(f"output {name!r} is a constant of type {np.asarray(entry.array).dtype}", "", "dtype")
        return OnnxNode(torch.clone, [Held("value")], {}, {"value": tensor}), [], [f"output/{name}"]
    return OnnxNode(torch.clone, [Live(0)], {}, {}), [name], [f"output/{name}"]
