"""Writes `.tflite` files with the schema package: tensors, operators and subgraphs in, bytes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

TYPES = {
    np.dtype(np.float32): "FLOAT32", np.dtype(np.float16): "FLOAT16", np.dtype(np.int32): "INT32",
    np.dtype(np.int64): "INT64", np.dtype(np.int16): "INT16", np.dtype(np.int8): "INT8", np.dtype(np.uint8): "UINT8",
    np.dtype(np.bool_): "BOOL",
}


@dataclass
class TensorSpec:
    """A tensor of a file that is being written."""

    name: str
    type: str
    shape: tuple[int, ...]
    scale: Sequence[float] = ()
    zero: Sequence[int] = ()
    axis: int = 0
    data: np.ndarray | None = None
    variable: bool = False
    signature: Sequence[int] | None = None
    sparse: bool = False  # of a matrix: only the numbers that are not 0


@dataclass
class GraphSpec:
    """A subgraph of a file that is being written."""

    name: str = "main"
    tensors: list[TensorSpec] = field(default_factory=list)
    operators: list[tuple[str, list[int], list[int], dict[str, Any], int]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def tensor(
        self, shape: Sequence[int], type: str = "INT8", scale: Any = (), zero: Any = (), *, data: Any = None,
        axis: int = 0, variable: bool = False, name: str | None = None, signature: Sequence[int] | None = None,
    ) -> int:
        scales = [float(s) for s in np.atleast_1d(scale)] if np.size(scale) else []
        zeros = [int(z) for z in np.atleast_1d(zero)] if np.size(zero) else [0] * len(scales)
        array = None if data is None else np.ascontiguousarray(data)
        called = name if name is not None else f"t{len(self.tensors)}"
        self.tensors.append(
            TensorSpec(called, type, tuple(shape), scales, zeros, axis, array, variable, signature)
        )
        return len(self.tensors) - 1

    def constant(self, data: Any, scale: Any = (), zero: Any = (), axis: int = 0, type: str | None = None) -> int:
        array = np.asarray(data)
        return self.tensor(array.shape, type or TYPES[array.dtype], scale, zero, data=array, axis=axis)

    def input(self, *args: Any, **kwargs: Any) -> int:
        self.inputs.append(self.tensor(*args, **kwargs))
        return self.inputs[-1]

    def call(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], version: int = 1, **options: Any
    ) -> list[int]:
        """Options: `options="Conv2DOptions"` and its fields by the schema's names."""
        self.operators.append((name, list(inputs), list(outputs), options, version))
        return list(outputs)


def write_model(
    *graphs: GraphSpec, metadata: dict[str, bytes] | None = None,
    signatures: Sequence[tuple[str, int, dict[str, int], dict[str, int]]] = (), description: str = "written by a test",
    old_codes: bool = False,
) -> bytes:
    """The bytes of a file with these subgraphs, the first of which is run."""
    b = flatbuffers.Builder(1024)
    codes: list[tuple[str, int]] = []
    buffers: list[bytes] = [b""]
    written = [_graph(b, graph, codes, buffers) for graph in graphs]
    entries = []
    for name, data in (metadata or {}).items():
        buffers.append(data)
        entries.append(_metadata(b, name, len(buffers) - 1))
    keys = [_signature(b, *signature) for signature in signatures]
    operator_codes = [_code(b, name, version, old_codes) for name, version in codes]
    data_offsets = [_buffer(b, data) for data in buffers]
    text = b.CreateString(description)
    vectors = {
        "OperatorCodes": _offsets(b, operator_codes), "Subgraphs": _offsets(b, written),
        "Buffers": _offsets(b, data_offsets), "Metadata": _offsets(b, entries), "SignatureDefs": _offsets(b, keys),
    }
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddDescription(b, text)
    for name, offset in vectors.items():
        if name not in ("Metadata", "SignatureDefs") or (entries if name == "Metadata" else keys):
            getattr(tflite, f"ModelAdd{name}")(b, offset)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    return bytes(b.Output())


def _offsets(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _numbers(b: flatbuffers.Builder, numbers: Sequence[int] | Sequence[float], dtype: Any = np.int32) -> int:
    return int(b.CreateNumpyVector(np.array(numbers, dtype)))


def _buffer(b: flatbuffers.Builder, data: bytes) -> int:
    offset = 0
    if data:
        b.StartVector(1, len(data), 16)
        b.head -= len(data)
        b.Bytes[b.head : b.head + len(data)] = data
        offset = b.EndVector()
    tflite.BufferStart(b)
    if data:
        tflite.BufferAddData(b, offset)
    return int(tflite.BufferEnd(b))


def _code(b: flatbuffers.Builder, name: str, version: int, old: bool) -> int:
    number = getattr(tflite.BuiltinOperator, name, None)
    custom = b.CreateString(name) if number is None else 0
    number = tflite.BuiltinOperator.CUSTOM if number is None else number
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
    if not old:
        tflite.OperatorCodeAddBuiltinCode(b, number)
    if custom:
        tflite.OperatorCodeAddCustomCode(b, custom)
    tflite.OperatorCodeAddVersion(b, version)
    return int(tflite.OperatorCodeEnd(b))


def _metadata(b: flatbuffers.Builder, name: str, buffer: int) -> int:
    text = b.CreateString(name)
    tflite.MetadataStart(b)
    tflite.MetadataAddName(b, text)
    tflite.MetadataAddBuffer(b, buffer)
    return int(tflite.MetadataEnd(b))


def _signature(
    b: flatbuffers.Builder, key: str, subgraph: int, inputs: dict[str, int], outputs: dict[str, int]
) -> int:
    def mapped(names: dict[str, int]) -> int:
        made = []
        for name, index in names.items():
            text = b.CreateString(name)
            tflite.TensorMapStart(b)
            tflite.TensorMapAddName(b, text)
            tflite.TensorMapAddTensorIndex(b, index)
            made.append(tflite.TensorMapEnd(b))
        return _offsets(b, made)

    given, made, text = mapped(inputs), mapped(outputs), b.CreateString(key)
    tflite.SignatureDefStart(b)
    tflite.SignatureDefAddInputs(b, given)
    tflite.SignatureDefAddOutputs(b, made)
    tflite.SignatureDefAddSignatureKey(b, text)
    tflite.SignatureDefAddSubgraphIndex(b, subgraph)
    return int(tflite.SignatureDefEnd(b))


def _graph(
    b: flatbuffers.Builder, graph: GraphSpec, codes: list[tuple[str, int]], buffers: list[bytes]
) -> int:
    tensors = [_tensor(b, tensor, buffers) for tensor in graph.tensors]
    operators = [_operator(b, operator, codes) for operator in graph.operators]
    parts = {
        "Tensors": _offsets(b, tensors), "Inputs": _numbers(b, graph.inputs), "Outputs": _numbers(b, graph.outputs),
        "Operators": _offsets(b, operators), "Name": b.CreateString(graph.name),
    }
    tflite.SubGraphStart(b)
    for name, offset in parts.items():
        getattr(tflite, f"SubGraphAdd{name}")(b, offset)
    return int(tflite.SubGraphEnd(b))


def packed(data: np.ndarray) -> bytes:
    """Numbers of 4 bits, two a byte, the lower first."""
    flat = np.append(data.reshape(-1), np.zeros(data.size % 2, data.dtype)).astype(np.uint8) & 15
    return (flat[::2] | flat[1::2] << 4).astype(np.uint8).tobytes()


def _vector_of_numbers(b: flatbuffers.Builder, numbers: Sequence[int]) -> int:
    values = _numbers(b, numbers)
    tflite.Int32VectorStart(b)
    tflite.Int32VectorAddValues(b, values)
    return int(tflite.Int32VectorEnd(b))


def _sparsity(b: flatbuffers.Builder, data: np.ndarray) -> int:
    """Rows of a matrix, each with the columns that are not 0."""
    rows, columns = np.nonzero(data)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(data)))])
    segments, indices = _vector_of_numbers(b, ends.tolist()), _vector_of_numbers(b, columns.tolist())
    tflite.DimensionMetadataStart(b)
    tflite.DimensionMetadataAddFormat(b, tflite.DimensionType.DENSE)
    tflite.DimensionMetadataAddDenseSize(b, len(data))
    dense = tflite.DimensionMetadataEnd(b)
    tflite.DimensionMetadataStart(b)
    tflite.DimensionMetadataAddFormat(b, tflite.DimensionType.SPARSE_CSR)
    tflite.DimensionMetadataAddArraySegmentsType(b, tflite.SparseIndexVector.Int32Vector)
    tflite.DimensionMetadataAddArraySegments(b, segments)
    tflite.DimensionMetadataAddArrayIndicesType(b, tflite.SparseIndexVector.Int32Vector)
    tflite.DimensionMetadataAddArrayIndices(b, indices)
    levels, order = _offsets(b, [dense, tflite.DimensionMetadataEnd(b)]), _numbers(b, [0, 1])
    tflite.SparsityParametersStart(b)
    tflite.SparsityParametersAddTraversalOrder(b, order)
    tflite.SparsityParametersAddDimMetadata(b, levels)
    return int(tflite.SparsityParametersEnd(b))


def _tensor(b: flatbuffers.Builder, tensor: TensorSpec, buffers: list[bytes]) -> int:
    buffer = sparsity = 0
    if tensor.data is not None and tensor.sparse:
        buffers.append(tensor.data[np.nonzero(tensor.data)].tobytes())
        buffer, sparsity = len(buffers) - 1, _sparsity(b, tensor.data)
    elif tensor.data is not None:
        buffers.append(packed(tensor.data) if tensor.type == "INT4" else tensor.data.tobytes())
        buffer = len(buffers) - 1
    quantization = 0
    if tensor.scale:
        scale = _numbers(b, tensor.scale, np.float32)
        zero = _numbers(b, tensor.zero, np.int64)
        tflite.QuantizationParametersStart(b)
        tflite.QuantizationParametersAddScale(b, scale)
        tflite.QuantizationParametersAddZeroPoint(b, zero)
        tflite.QuantizationParametersAddQuantizedDimension(b, tensor.axis)
        quantization = tflite.QuantizationParametersEnd(b)
    shape, name = _numbers(b, tensor.shape), b.CreateString(tensor.name)
    signature = 0 if tensor.signature is None else _numbers(b, tensor.signature)
    tflite.TensorStart(b)
    tflite.TensorAddShape(b, shape)
    tflite.TensorAddType(b, getattr(tflite.TensorType, tensor.type))
    tflite.TensorAddBuffer(b, buffer)
    tflite.TensorAddName(b, name)
    if quantization:
        tflite.TensorAddQuantization(b, quantization)
    if signature:
        tflite.TensorAddShapeSignature(b, signature)
    if sparsity:
        tflite.TensorAddSparsity(b, sparsity)
    tflite.TensorAddIsVariable(b, tensor.variable)
    return int(tflite.TensorEnd(b))


def _operator(
    b: flatbuffers.Builder, operator: tuple[str, list[int], list[int], dict[str, Any], int],
    codes: list[tuple[str, int]],
) -> int:
    name, inputs, outputs, options, version = operator
    if (name, version) not in codes:
        codes.append((name, version))
    fields = dict(options)
    kind = fields.pop("options", None)
    table = _options(b, kind, fields) if kind else 0
    given, made = _numbers(b, inputs), _numbers(b, outputs)
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, codes.index((name, version)))
    tflite.OperatorAddInputs(b, given)
    tflite.OperatorAddOutputs(b, made)
    if kind:
        tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, kind))
        tflite.OperatorAddBuiltinOptions(b, table)
    return int(tflite.OperatorEnd(b))


def _options(b: flatbuffers.Builder, kind: str, fields: dict[str, Any]) -> int:
    values = {
        name: b.CreateString(value) if isinstance(value, str)
        else _numbers(b, value) if isinstance(value, list | tuple) else value
        for name, value in fields.items()
    }
    getattr(tflite, f"{kind}Start")(b)
    for name, value in values.items():
        getattr(tflite, f"{kind}Add{name}")(b, value)
    return int(getattr(tflite, f"{kind}End")(b))
