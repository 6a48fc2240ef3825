"""An ONNX graph and example inputs → the module that computes it.

The nodes are walked once. What depends on constants and on shapes alone is computed on the way, by ONNX's own reference
evaluator; every other node becomes a submodule and is called with the example, so that the shapes after it are known.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from torch._subclasses import FakeTensorMode
from torch.utils import _pytree as pytree

from pilotlight.capture.onnx import blocks, integers, operators
from pilotlight.capture.onnx.control import CONTROL, Inside
from pilotlight.capture.onnx.definitions import definition
from pilotlight.capture.onnx.expansions import expansion
from pilotlight.capture.onnx.file import NEWEST, STANDARD
from pilotlight.capture.onnx.module import Argument, Fixed, Held, Live, OnnxBody, OnnxNode
from pilotlight.capture.onnx.registry import Operator
from pilotlight.capture.onnx.types import as_tensor, tensor_type, type_name
from pilotlight.errors import PilotlightError

KEPT = ("DequantizeLinear", "QuantizeLinear")  # of constants: the integer graph is made from them
MOVES = ("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Identity", "MaxPool")  # any integers
RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")
MOST = 1 << 30  # bytes of a constant that folding may make


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
    """Fills a body with the nodes of one graph."""

    def __init__(self, body: OnnxBody, scope: Scope, prefix: str = "", quants: integers.Quants | None = None):
        self.body, self.scope, self.prefix = body, scope, prefix
        self.quants = quants or integers.Quants()

    def graph(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            self.scope[tensor.name] = Known(read_tensor(tensor))
        for sparse in graph.sparse_initializer:
            raise refuse(f"the constant {sparse.values.name!r} is sparse", "store it as a dense tensor")
        for number, node in enumerate(graph.node):
            self.node(node, self.prefix + (node.name or f"{node.op_type}_{number}"))

    def node(self, node: onnx.NodeProto, name: str) -> None:
        try:
            self._node(node, name)
        except PilotlightError as problem:
            problem.where = problem.where or f"node {name} ({node.op_type})"
            raise

    def _node(self, node: onnx.NodeProto, name: str) -> None:
        known = self._known(node)
        operator = operators.find(node.domain, node.op_type)
        if known is not None:
            self._write(node, [Known(array) for array in known])
        elif node.op_type in CONTROL and node.domain in STANDARD:
            self._control(node, name)
        elif self._quantized(node, name):
            pass
        elif operator is not None and operator.function is not None:
            self._call(node, name, operator)
        elif not self._inline(node, name):
            raise unknown(node, name)

    def entry(self, name: str) -> Entry | None:
        if not name:
            return None
        if name not in self.scope:
            raise refuse(f"it reads {name!r}, which nothing before it computes: the graph is cyclic or not sorted",
                         "export the model again", "broken-file")
        return self.scope[name]

    def outside(self, name: str) -> str:
        """What a value is called in the body."""
        return name

    def _write(self, node: onnx.NodeProto, entries: Sequence[Entry]) -> None:
        self.scope.update({name: entry for name, entry in zip(node.output, entries, strict=False) if name})

    def _add(self, name: str, module: torch.nn.Module, reads: Sequence[str], writes: Sequence[str]) -> None:
        self.body.add(name, module, [self.outside(n) for n in reads], [self.outside(n) if n else "" for n in writes])

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
        if node.op_type in RANDOM:
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
        if "constants" in operator.attributes:
            attributes["constants"] = {operator.input_name(int(held.rpartition("_")[2])) for held in constants}
        module = OnnxNode(operator.function, arguments, attributes, constants)  # type: ignore[arg-type]
        results = example_of(module, live)
        self._write(node, [Computed(result, varying) for result in results])
        self._add(name, module, reads, node.output)
        inside = self.quants.bytes.get(self.outside(reads[0])) if reads else None
        if inside is not None and node.op_type in MOVES and len(results) == len(reads) == 1:
            moved = f"{inside}/{name}"
            self.body.add(f"{name}/int8", module, [inside], [moved])
            self.quants.bytes[self.outside(node.output[0])] = moved

    def _fixed(self, entry: Entry, what: str, read: str) -> Any:
        if not isinstance(entry, Known):
            raise PilotlightError(
                f"its input {what} ({read!r}) is computed while the model runs; a compiled model needs it before",
                hint=f"if it is an input of the model, give it with --bake {read}=VALUE or a .npy file",
                kind="dynamic-shape",
            )
        return entry.array.tolist() if isinstance(entry.array, np.ndarray | np.generic) else entry.array

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
            values[attribute.name] = attribute_value(attribute)
        if "outputs" in operator.attributes:
            values["outputs"] = sum(bool(name) for name in node.output)
        return values

    def _quantized(self, node: onnx.NodeProto, name: str) -> bool:
        """Integers with known scales, which the integer graph is made from; False for anything else."""
        nodes = expansion(node)
        if nodes is not None:
            part = _Part(self, dict(self.scope), f"{name}/", {})
            for inner in nodes:
                part.node(inner, f"{name}/{inner.name}")
            part.give(node.output[0], node.output[0])
            return True
        values = [e.array if isinstance(e, Known) else None if e is None else e.example
                  for e in map(self.entry, node.input)]
        if node.op_type == "QuantizeLinear":
            made = integers.quantizer(node, values)
            if made is not None and made.shifted:
                inside = f"{self.outside(node.input[0])}/{node.output[0]}#int8"
                example = example_of(made.module, [values[0]])
                self.body.add(name, made.module, [self.outside(node.input[0])], [inside])
                back = OnnxNode(integers.from_int8, [Live(0)], {}, {})
                self._write(node, [Computed(x) for x in example_of(back, example)])
                self.body.add(f"{name}/uint8", back, [inside], [self.outside(node.output[0])])
                self.quants.bytes[self.outside(node.output[0])] = inside
                return True
        elif node.op_type == "DequantizeLinear" and isinstance(self.entry(node.input[0]), Known):
            weight = integers.weight(node, values)
            if weight is None:
                found = evaluated(node, values)
                if found is None:
                    return False
                self._write(node, [Known(found[0])])
                return True
            self._write(node, [Computed(x) for x in example_of(weight.module, [])])
            self.quants.weights[self.outside(node.output[0])] = weight
            self._add(name, weight.module, [], node.output)
            return True
        elif node.op_type == "DequantizeLinear":
            inside = self.quants.bytes.get(self.outside(node.input[0]), "")
            made = integers.dequantizer(node, values, bool(inside))
            if made is not None and inside:
                example = example_of(integers.TO_INT8, [values[0]])
                self._write(node, [Computed(x) for x in example_of(made.module, example)])
                self.body.add(name, made.module, [inside], [self.outside(node.output[0])])
                return True
        elif node.op_type in ("MatMul", "Gemm") and self.outside(node.input[1]) in self.quants.weights:
            made = integers.linear(node, values, self.quants.weights[self.outside(node.input[1])])
        elif blocks.is_block_product(node):
            made = blocks.block_product(node, values)
        else:
            return False
        if made is None:
            return False
        self._write(node, [Computed(x) for x in example_of(made.module, [values[0]])])
        self._add(name, made.module, [node.input[0]], node.output)
        return True

    def _inline(self, node: onnx.NodeProto, name: str) -> bool:
        """Compute the node as ONNX defines it; False where the standard has no definition."""
        entries = [self.entry(read) for read in node.input]
        found = definition(node, [_shown(entry) for entry in entries])
        if found is None:
            return False
        operator = operators.find(node.domain, node.op_type)
        inner: Scope = {}
        for position, (read, port, entry) in enumerate(zip(node.input, found.graph.input, entries, strict=False)):
            if operator is not None and entry is not None and operator.input_name(position) in operator.fixed:
                self._fixed(entry, operator.input_name(position), read)
            if entry is not None:
                inner[port.name] = entry
        names = dict(zip((port.name for port in found.graph.input), node.input, strict=False))
        part = _Part(self, inner, f"{name}/", names)
        part.graph(found.graph)
        for result, written in zip(found.outputs, node.output, strict=False):
            if written:
                part.give(result, written)
        return True

    def _control(self, node: onnx.NodeProto, name: str) -> None:
        graphs = {a.name: a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH}
        entries = [self.entry(read) for read in node.input]
        if node.op_type == "If" and isinstance(entries[0], Known):
            branch = graphs["then_branch" if np.asarray(entries[0].array).item() else "else_branch"]
            part = _Part(self, dict(self.scope), f"{name}/", {})
            part.graph(branch)
            for port, written in zip(branch.output, node.output, strict=False):
                part.give(port.name, written)
            return
        attributes = {a.name: attribute_value(a) for a in node.attribute if a.type != onnx.AttributeProto.GRAPH}

        def inside(graph: onnx.GraphProto, examples: Sequence[Any]) -> Inside:
            body = OnnxBody([port.name for port in graph.input])
            own: Scope = {t.name: Known(read_tensor(t)) for t in graph.initializer}
            own |= {p.name: Computed(x) for p, x in zip(graph.input, examples, strict=True) if p.name not in own}
            inner = _Inner(self, body, own, f"{name}/")
            inner.graph(graph)
            finish(inner, graph, list(body.inputs))
            return Inside(body, inner.captured, [e.array if isinstance(e, Known) else None for e in (
                inner.entry(port.name) for port in graph.output)])

        made = CONTROL[node.op_type](entries, graphs, attributes, inside)
        for example in [e.example for e in entries if isinstance(e, Computed)]:
            if not isinstance(example, torch.Tensor):
                raise refuse("it carries a sequence of tensors", "")
        reads = [read for read, entry in zip(node.input, entries, strict=True) if isinstance(entry, Computed)]
        reads += made.captured
        live = [self.entry(read).example for read in reads]  # type: ignore[union-attr]
        results = example_of(made.module, live)
        self._write(node, [Computed(result) for result in results])
        self._add(name, made.module, reads, node.output)


class _Part(Importer):
    """The nodes of a definition, or of a branch that is always taken: in the same body, with names of their own."""

    def __init__(self, outer: Importer, scope: Scope, prefix: str, inputs: dict[str, str]):
        super().__init__(outer.body, scope, prefix, outer.quants)
        self.outer, self.names = outer, inputs
        self.own: set[str] = set()

    def outside(self, name: str) -> str:
        if name in self.names:
            return self.outer.outside(self.names[name])
        return self.prefix + name if name in self.own else self.outer.outside(name)

    def _write(self, node: onnx.NodeProto, entries: Sequence[Entry]) -> None:
        super()._write(node, entries)
        self.own.update(node.output)

    def give(self, name: str, written: str) -> None:
        """Make a result known outside."""
        entry = self.entry(name)
        assert entry is not None
        reads = self.outside(name)
        self.quants.rename(reads, self.outer.outside(written))
        self.outer._write(onnx.NodeProto(output=[written]), [entry])
        if isinstance(entry, Computed):
            self.body.add(f"{self.prefix}{written}", OnnxNode(_same, [Live(0)], {}, {}), [reads],
                          [self.outer.outside(written)])


class _Inner(Importer):
    """The nodes of a loop or a branch: in a body of their own, which is given what they read from outside."""

    def __init__(self, outer: Importer, body: OnnxBody, scope: Scope, prefix: str):
        super().__init__(body, scope, prefix)
        self.outer = outer
        self.captured: list[str] = []

    def entry(self, name: str) -> Entry | None:
        if name and name not in self.scope:
            found = self.outer.entry(name)
            assert found is not None
            self.scope[name] = found
            if isinstance(found, Computed):
                self.captured.append(name)
                self.body.inputs += (name,)
        return super().entry(name)


def _check_sizes(module: torch.nn.Module, live: Sequence[Any]) -> None:
    """Refuse a node whose results are too large for memory, before they are computed."""
    with contextlib.suppress(Exception), _unlogged(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
        sizes = pytree.tree_map_only(torch.Tensor, mode.from_tensor, list(live))
        largest = max((x.numel() * x.element_size() for x in pytree.tree_leaves(module(*sizes))
                       if isinstance(x, torch.Tensor)), default=0)
        if type(largest) is int and largest > MOST:
            raise _TooLargeError(largest)


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """Without what PyTorch logs about shapes that do not fit: the exception says it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class _TooLargeError(BaseException):
    """Not an Exception: it has to pass what suppresses those."""


def example_of(module: torch.nn.Module, live: Sequence[Any]) -> tuple[Any, ...]:
    """What a node gives for the example."""
    try:
        with torch.no_grad():
            _check_sizes(module, live)
    except _TooLargeError as error:
        raise refuse(f"its result has {error.args[0]:,} bytes", "", "too-large") from None
    try:
        with torch.no_grad():
            results: tuple[Any, ...] = module(*live)
            return results
    except PilotlightError:
        raise
    except Exception as error:  # whatever PyTorch raises for these shapes and types
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise refuse(f"it is not supported with these inputs and attributes: {reason}", "") from error


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx.TensorProto):
        return as_tensor(read_tensor(value))
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [item.decode(errors="replace") for item in value]
    return value if isinstance(value, int | float) else list(value)


def _same(x: Any) -> Any:
    return x


def _shown(entry: Entry | None) -> onnx.TypeProto | None:
    """The type of a tensor, for a definition that depends on it."""
    if entry is None:
        return None
    value = entry.array if isinstance(entry, Known) else entry.example
    return None if isinstance(value, list | None) else tensor_type(value)


def read_tensor(tensor: onnx.TensorProto) -> np.ndarray:
    try:
        return onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # sizes and types that do not fit raise several types
        raise refuse(f"the constant {tensor.name!r} of type {type_name(tensor.data_type)} cannot be read", "",
                     "broken-file") from error


def _elements(node: onnx.NodeProto, arrays: Sequence[Any]) -> float:
    """About how many elements a node makes of numbers that are sizes."""
    given = [np.asarray(a, np.float64) if isinstance(a, np.ndarray) and a.dtype.kind in "iuf" else np.zeros(0)
             for a in arrays]
    with np.errstate(all="ignore"):
        if node.op_type in ("ConstantOfShape", "HannWindow", "HammingWindow", "BlackmanWindow"):
            return float(np.prod(given[0]))
        if node.op_type == "Range" and all(g.size == 1 for g in given[:3]):
            start, limit, delta = (float(g.reshape(())) for g in given[:3])
            return abs((limit - start) / delta) if delta else np.inf
        if node.op_type == "Expand":
            return float(np.prod(np.maximum(given[1], 1))) * given[0].size
        if node.op_type == "Tile":
            return float(np.prod(np.maximum(given[1], 1))) * given[0].size
        if node.op_type in ("Pad", "Resize", "OneHot", "TopK"):
            return float(np.prod(1 + np.abs(given[1]))) * max(given[0].size, 1)
        shapes = [a.shape for a in arrays if isinstance(a, np.ndarray)]
        return float(np.prod([max(s[k] for s in shapes if len(s) > k) for k in range(max(map(len, shapes), default=0))],
                             dtype=np.float64))


def evaluated(node: onnx.NodeProto, arrays: Sequence[Any]) -> list[Any] | None:
    """What ONNX's reference evaluator computes for constants; None where it cannot."""
    if _elements(node, arrays) * 8 > MOST:
        raise refuse(f"it makes a constant of {_elements(node, arrays):.0f} elements", "", "too-large")
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
    finish(importer, graph, list(examples))
    return body


def finish(importer: Importer, graph: onnx.GraphProto, inputs: Sequence[str]) -> None:
    """Results of a body: constants, and inputs as they are, need nodes too."""
    outputs = []
    for port in graph.output:
        entry = importer.entry(port.name)
        if isinstance(entry, Computed) and not isinstance(entry.example, torch.Tensor):
            raise refuse(f"output {port.name!r} is a sequence, not a tensor", "")
        if isinstance(entry, Known) or port.name in inputs or port.name in importer.body.inputs:
            importer.body.add(f"output/{port.name}", *_output(port.name, entry))
            outputs.append(f"output/{port.name}")
        else:
            outputs.append(port.name)
    importer.body.outputs = tuple(outputs)


def _output(name: str, entry: Entry | None) -> tuple[OnnxNode, list[str], list[str]]:
    """A result that is a constant, or an input as it is."""
    if isinstance(entry, Known):
        tensor = as_tensor(np.asarray(entry.array))
        if tensor is None:
            raise refuse(f"output {name!r} is a constant of type {np.asarray(entry.array).dtype}", "", "dtype")
        return OnnxNode(torch.clone, [Held("value")], {}, {"value": tensor}), [], [f"output/{name}"]
    return OnnxNode(torch.clone, [Live(0)], {}, {}), [name], [f"output/{name}"]
