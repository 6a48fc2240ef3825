"""A .onnx file → a checked model in the newest operator set, without functions of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx.inliner
import onnx.shape_inference
import onnx.version_converter
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

from pilotlight.errors import PilotlightError, no_file

OLDEST = 6
NEWEST = min(28, onnx.defs.onnx_opset_version())
_AGAIN = "write the file again with the tool that exported it"
STANDARD = ("", "ai.onnx")
_NESTED = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE)


def read_model(path: Path) -> onnx.ModelProto:
    """The model with its weights, as the file has it."""
    if not path.is_file():
        raise no_file(path)
    try:
        model = onnx.load_model_from_string(path.read_bytes())
    except (DecodeError, ValueError, RecursionError) as error:
        raise broken(path, "it is damaged or not an ONNX file") from error
    if not model.graph.node and not model.graph.output:
        raise broken(path, "it is empty or not an ONNX file")
    if not _is_text(model):
        raise broken(path, "it has names that are not UTF-8")
    for tensor in _tensors(model):
        if uses_external_data(tensor):
            _load_external(tensor, path)
    return model


def _is_text(message: Message) -> bool:
    """Whether all strings are text: protobuf gives those that are not as bytes."""
    for field, value in message.ListFields():
        items = [value] if isinstance(value, str | bytes | Message) or field.type not in _NESTED else value
        if field.type == FieldDescriptor.TYPE_STRING and not all(isinstance(item, str) for item in items):
            return False
        if field.type == FieldDescriptor.TYPE_MESSAGE and not all(map(_is_text, items)):
            return False
    return True


def broken(path: Path, reason: str) -> PilotlightError:
    return PilotlightError(f"{path} cannot be read: {reason}", hint=_AGAIN, kind="broken-file")


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    nodes = [n for function in model.functions for n in function.node]
    yield from _tensors_of(model.graph)
    yield from (t for node in nodes for t in _tensors_of_node(node))


def _tensors_of(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        yield from _tensors_of_node(node)


def _tensors_of_node(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            yield from _tensors_of(graph)


def _load_external(tensor: onnx.TensorProto, path: Path) -> None:
    """Weights that lie in a file of their own, which has to be in the folder of the model."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    folder = path.parent.resolve()
    file = (folder / entries.get("location", "")).resolve()
    if not file.is_relative_to(folder):
        raise PilotlightError(
            f"the weights {tensor.name!r} of {path} lie in {entries.get('location')!r}, outside the folder of the "
            "model; nothing was read from there", hint="put the file next to the model and name it without a path",
            kind="broken-file",
        )
    if not file.is_file():
        raise PilotlightError(
            f"{path} needs the file {entries.get('location')!r} with its weights, which is not there",
            hint="copy it next to the .onnx file", kind="no-file",
        )
    try:
        load_external_data_for_tensor(tensor, str(folder))
    except Exception as error:  # bad offsets and lengths raise several types
        raise broken(path, f"the weights {tensor.name!r} do not fit their file") from error
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def normalized(model: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """The model checked, its own functions inlined, in the operator set that this importer knows."""
    version = opset(model)
    if version < OLDEST and not _same_at_newest(model, version):
        raise PilotlightError(
            f"{path} uses operator set {version} of ONNX; expected {OLDEST} to {NEWEST}",
            hint="export the model again with a newer operator set", kind="unsupported",
        )
    try:
        onnx.checker.check_model(_with_shapes(model))
    except Exception as error:  # its C++ part raises several types
        if version > NEWEST:
            raise PilotlightError(
                f"{path} uses operator set {version} of ONNX; expected {OLDEST} to {NEWEST}",
                hint="export the model again with an older operator set", kind="unsupported",
            ) from error
        raise broken(path, f"it is not valid ONNX: {_first_line(error)}") from error
    if version == 8 and "Scan" in _standard(model.graph):
        raise PilotlightError(
            f"{path} uses Scan of operator set 8, which is not supported", kind="unsupported",
            hint="export the model again with operator set 9 or newer",
        )
    try:
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        if version < NEWEST and not _same_at_newest(model, version):
            model = onnx.version_converter.convert_version(model, NEWEST)
    except Exception as error:
        raise PilotlightError(
            f"operator set {version} of {path} cannot be converted to {NEWEST}: {_first_line(error)}",
            hint="export the model again with a newer operator set", kind="unsupported",
        ) from error
    return model


def _with_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """With shapes of outputs that the file leaves open: the checker wants them."""
    if all(port.type.tensor_type.HasField("shape") for port in model.graph.output if port.type.HasField("tensor_type")):
        return model
    return onnx.shape_inference.infer_shapes(model)


def opset(model: onnx.ModelProto) -> int:
    """The version of ONNX's own operators."""
    return next((entry.version for entry in model.opset_import if entry.domain in STANDARD), NEWEST)


def _same_at_newest(model: onnx.ModelProto, version: int) -> bool:
    """Whether no operator of the model has changed since its version."""
    return all(_since(name, version) == _since(name, NEWEST) for name in _standard(model.graph))


def _since(name: str, version: int) -> int | None:
    try:
        return int(onnx.defs.get_schema(name, version, "").since_version)
    except (onnx.defs.SchemaError, TypeError):  # no such operator, or a version that is no version
        return None


def _standard(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        if node.domain in STANDARD:
            yield node.op_type
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from _standard(inner)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")
