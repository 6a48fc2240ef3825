"""ONNX defines some operators by others: such a definition as a graph, for the types and shapes of one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx
import onnx.version_converter

from pilotlight.capture.onnx.file import NEWEST


def _schema(node: onnx.NodeProto) -> Any:
    """What the standard says about an operator; None where it does not know it."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return onnx.defs.get_schema(node.op_type, NEWEST, domain) if not domain else \
            onnx.defs.get_schema(node.op_type, domain=domain)
    except onnx.defs.SchemaError:
        return None


def is_defined(node: onnx.NodeProto) -> bool:
    """Whether the standard defines a node's operator by others."""
    schema = _schema(node)
    return schema is not None and bool(schema.has_context_dependent_function or schema.has_function)


@dataclass(frozen=True)
class Definition:
    """A graph, and which of its results are the operator's."""

    graph: onnx.GraphProto
    outputs: list[str]


def definition(node: onnx.NodeProto, types: Sequence[onnx.TypeProto | None]) -> Definition | None:
    """The definition of a node's operator with the node's attributes; None if there is none."""
    schema = _schema(node)
    if schema is None:
        return None
    if schema.has_context_dependent_function:
        given = [(kind or onnx.TypeProto()).SerializeToString() for kind in types]
        function = onnx.FunctionProto.FromString(
            schema.get_context_dependent_function(node.SerializeToString(), given))
    elif schema.has_function:
        function = schema.function_body
    else:
        return None
    values = {a.name: a for a in node.attribute}
    defaults = {a.name: a.default_value for a in schema.attributes.values() if a.default_value.name}
    nodes = [_filled(inner, values, defaults) for inner in function.node]
    inputs = [onnx.ValueInfoProto(name=name, type=kind) if kind else onnx.ValueInfoProto(name=name)
              for name, kind in zip(function.input, types, strict=False)]
    made = {name for inner in nodes for name in inner.output}
    outputs = [onnx.ValueInfoProto(name=name) for name in function.output if name in made]
    graph = onnx.helper.make_graph(nodes, node.op_type, inputs, outputs)
    version = next((e.version for e in function.opset_import if not e.domain), NEWEST)
    return Definition(graph if version >= NEWEST else _newest(graph, version), list(function.output))


def _newest(graph: onnx.GraphProto, version: int) -> onnx.GraphProto:
    if all(onnx.defs.get_schema(n.op_type, version, "").since_version
           == onnx.defs.get_schema(n.op_type, NEWEST, "").since_version for n in graph.node if not n.domain):
        return graph
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    return onnx.version_converter.convert_version(model, NEWEST).graph


def _filled(
    node: onnx.NodeProto, values: dict[str, onnx.AttributeProto], defaults: dict[str, onnx.AttributeProto]
) -> onnx.NodeProto:
    """A node with the attributes that it takes from the operator's own."""
    filled = onnx.NodeProto()
    filled.CopyFrom(node)
    del filled.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            filled.attribute.append(attribute)
            continue
        value = values.get(attribute.ref_attr_name) or defaults.get(attribute.ref_attr_name)
        if value is not None:
            copied = filled.attribute.add()
            copied.CopyFrom(value)
            copied.name = attribute.name
    return filled
