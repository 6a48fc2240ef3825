"""The bytes of a `.tflite` file → TfliteModel, through the classes that the schema package has."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pilotlight.capture.tflite.model import (
    ABSENT,
    Affine,
    EntrySignature,
    FileOperator,
    FileSubgraph,
    FileTensor,
    OperatorOptions,
    TfliteModel,
)
from pilotlight.capture.tflite.offsets import check_offsets
from pilotlight.capture.tflite.sparse import dense_values
from pilotlight.errors import PilotlightError, no_file

LARGEST_FILE = 1 << 28  # bytes: more than any microcontroller has
LARGEST_RANK = 8
_NUMPY = {
    "FLOAT32": np.float32, "FLOAT16": np.float16, "INT32": np.int32, "UINT8": np.uint8, "INT64": np.int64,
    "BOOL": np.bool_, "INT16": np.int16, "INT8": np.int8, "INT4": np.int8, "FLOAT64": np.float64, "UINT32": np.uint32,
    "UINT16": np.uint16, "UINT64": np.uint64, "RESOURCE": np.int32,
}
_NO_TABLE = struct.pack("<HHiHH", 0, 0, 4, 4, 4)[2:]  # at 2: a table without fields


def read_tflite(path: Path) -> TfliteModel:
    """What a file holds; a sentence about the first thing in it that cannot be."""
    if not path.is_file():
        raise no_file(path)
    if path.stat().st_size > LARGEST_FILE:
        raise PilotlightError(
            f"{path} has {path.stat().st_size:,} bytes; at most {LARGEST_FILE:,} are read", kind="too-large"
        )
    return parse_tflite(path.read_bytes(), str(path))


def parse_tflite(data: bytes, name: str) -> TfliteModel:
    schema = _schema()
    check_offsets(data, name)
    return _Reader(schema, data, name).model()


def _schema() -> Any:
    try:
        return importlib.import_module("tflite")
    except ImportError as error:
        raise PilotlightError(
            f"reading .tflite files needs the package tflite, which is not installed ({error})",
            hint="install it with: pip install 'pilotlight[tflite]'", kind="missing-tool",
        ) from error


def _names(enumeration: type) -> dict[int, str]:
    return {number: name for name, number in vars(enumeration).items() if isinstance(number, int)}


class _Reader:
    """Reads what was found to lie inside the file."""

    def __init__(self, schema: Any, data: bytes, name: str):
        self._schema, self._data, self._name = schema, data, name
        self._model = schema.Model.GetRootAs(data, 0)
        self._types = _names(schema.TensorType)
        self._codes = _names(schema.BuiltinOperator)
        self._option_kinds = _names(schema.BuiltinOptions)

    def model(self) -> TfliteModel:
        found = self._model
        if found.Version() != 3:
            raise self._broken(f"its format has version {found.Version()}; expected 3")
        if not found.SubgraphsLength():
            raise self._broken("it has no subgraph")
        self._buffers = [self._buffer(found.Buffers(k), k) for k in range(found.BuffersLength())]
        return TfliteModel(
            self._name, self._data, _text(found.Description()),
            tuple(self._subgraph(found.Subgraphs(k), k) for k in range(found.SubgraphsLength())),
            tuple(self._signature(found.SignatureDefs(k)) for k in range(found.SignatureDefsLength())),
            dict(self._metadata(found.Metadata(k)) for k in range(found.MetadataLength())),
        )

    def _broken(self, why: str) -> PilotlightError:
        return PilotlightError(
            f"{self._name} is not a .tflite file that can be read: {why}", hint="convert or copy the model again",
            kind="broken-file",
        )

    def _at(self, items: Any, index: int, what: str) -> Any:
        if not 0 <= index < len(items):
            raise self._broken(f"{what} is number {index}, and there are {len(items)}")
        return items[index]

    def _buffer(self, buffer: Any, index: int) -> np.ndarray | None:
        start, size = buffer.Offset(), buffer.Size()
        if start > 1:  # data after the flatbuffer itself
            if start + size > len(self._data):
                raise self._broken(f"buffer {index} ends at byte {start + size:,} of {len(self._data):,}")
            return np.frombuffer(self._data, np.uint8, size, start)
        return buffer.DataAsNumpy() if buffer.DataLength() else None

    def _metadata(self, entry: Any) -> tuple[str, bytes]:
        name = _text(entry.Name())
        data = self._at(self._buffers, entry.Buffer(), f"the buffer of metadata {name!r}")
        return name, b"" if data is None else data.tobytes()

    def _signature(self, entry: Any) -> EntrySignature:
        key = _text(entry.SignatureKey())
        graph = self._at(range(self._model.SubgraphsLength()), entry.SubgraphIndex(), f"the subgraph of {key!r}")

        def named(get: Callable[[int], Any], count: int) -> dict[int, str]:
            return {get(k).TensorIndex(): _text(get(k).Name()) for k in range(count)}

        return EntrySignature(
            key, graph, named(entry.Inputs, entry.InputsLength()), named(entry.Outputs, entry.OutputsLength())
        )

    def _subgraph(self, graph: Any, index: int) -> FileSubgraph:
        where = f"subgraph {index}"
        tensors = tuple(self._tensor(graph.Tensors(k), k, where) for k in range(graph.TensorsLength()))

        def indices(count: int, array: Callable[[], Any], what: str, optional: bool = False) -> tuple[int, ...]:
            found = tuple(int(k) for k in array()) if count else ()
            for k in found:
                if not (optional and k == ABSENT):
                    self._at(tensors, k, f"{what} of {where}")
            return found

        def operator(k: int) -> FileOperator:
            found = graph.Operators(k)
            what = f"a tensor of operator {k}"
            return self._operator(
                found, k, where, indices(found.InputsLength(), found.InputsAsNumpy, what, True),
                indices(found.OutputsLength(), found.OutputsAsNumpy, what),
                indices(found.IntermediatesLength(), found.IntermediatesAsNumpy, what, True),
            )

        return FileSubgraph(
            index, _text(graph.Name()), tensors, tuple(operator(k) for k in range(graph.OperatorsLength())),
            indices(graph.InputsLength(), graph.InputsAsNumpy, "an input"),
            indices(graph.OutputsLength(), graph.OutputsAsNumpy, "an output"),
        )

    def _operator(
        self, found: Any, index: int, where: str, inputs: tuple[int, ...], outputs: tuple[int, ...],
        intermediates: tuple[int, ...],
    ) -> FileOperator:
        count = self._model.OperatorCodesLength()
        code = self._model.OperatorCodes(self._at(range(count), found.OpcodeIndex(), f"operator {index} of {where}"))
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())  # files before 2020 have only the older field
        custom = number == self._schema.BuiltinOperator.CUSTOM
        name = _text(code.CustomCode()) if custom else self._codes.get(number, f"operator {number}")
        return FileOperator(
            index, name, code.Version(), custom, inputs, outputs, intermediates, partial(self._options, found)
        )

    def _options(self, found: Any, kind: str) -> OperatorOptions:
        """The table of this kind; an empty one where the file has none, or another."""
        table = getattr(self._schema, kind)()
        given = self._option_kinds.get(found.BuiltinOptionsType())
        place = found.BuiltinOptions()
        if given == kind and place is not None:
            table.Init(place.Bytes, place.Pos)
        else:
            table.Init(_NO_TABLE, 2)
        return OperatorOptions(table)

    def _tensor(self, found: Any, index: int, where: str) -> FileTensor:
        name = _text(found.Name())
        what = f"tensor {index} of {where} ({name})" if name else f"tensor {index} of {where}"
        shape = tuple(int(n) for n in found.ShapeAsNumpy()) if found.ShapeLength() else ()
        signature = tuple(int(n) for n in found.ShapeSignatureAsNumpy()) if found.ShapeSignatureLength() else shape
        if len(shape) > LARGEST_RANK or any(n < 0 for n in shape):
            raise self._broken(f"{what} has the shape {list(shape)[:LARGEST_RANK + 1]}")
        kind = self._types.get(found.Type(), f"type {found.Type()}")
        buffer = self._at(self._buffers, found.Buffer(), f"the buffer of {what}")
        sparsity = found.Sparsity()
        data = None
        if buffer is not None and not found.IsVariable():
            data = self._values(buffer, kind, shape, sparsity, what)
        return FileTensor(
            index, name, kind, shape, signature, data, self._affine(found.Quantization(), shape, what),
            bool(found.IsVariable()), sparsity is not None,
        )

    def _values(
        self, buffer: np.ndarray, kind: str, shape: tuple[int, ...], sparsity: Any, what: str
    ) -> np.ndarray | None:
        """The elements of a constant; None of a type that is only named."""
        dtype = _NUMPY.get(kind)
        if dtype is None:
            return None
        count = 1
        for size in shape:
            count *= size
        if sparsity is not None:
            if count > LARGEST_FILE:
                raise self._broken(f"{what} has {count:,} elements")
            values = _unpacked(buffer, 2 * len(buffer)) if kind == "INT4" else self._typed(buffer, dtype, what)
            return dense_values(self._schema, sparsity, values, shape, lambda why: self._broken(f"{what}: {why}"))
        if kind == "INT4":
            if len(buffer) != (count + 1) // 2:
                raise self._broken(f"{what} has {len(buffer):,} bytes; {count:,} elements of 4 bits need others")
            return _unpacked(buffer, count).reshape(shape)
        values = self._typed(buffer, dtype, what)
        if len(values) != count:
            raise self._broken(f"{what} has {len(values):,} elements; its shape {list(shape)} has {count:,}")
        return values.reshape(shape)

    def _typed(self, buffer: np.ndarray, dtype: Any, what: str) -> np.ndarray:
        size = np.dtype(dtype).itemsize
        if len(buffer) % size:
            raise self._broken(f"{what} has {len(buffer):,} bytes, which are no elements of {size}")
        found = np.frombuffer(buffer.tobytes(), np.uint8 if dtype is np.bool_ else dtype).copy()
        return found != 0 if dtype is np.bool_ else found

    def _affine(self, found: Any, shape: tuple[int, ...], what: str) -> Affine | None:
        if found is None or not found.ScaleLength():
            return None
        scales = np.array(found.ScaleAsNumpy(), np.float32)
        zeros = np.array(found.ZeroPointAsNumpy() if found.ZeroPointLength() else [0], np.int64)
        axis = found.QuantizedDimension()
        if len(zeros) == 1:
            zeros = np.repeat(zeros, len(scales))
        if len(zeros) != len(scales):
            raise self._broken(f"{what} has {len(scales)} scales and {len(zeros)} zero points")
        if not np.all(np.isfinite(scales)) or np.any(scales < 0):
            raise self._broken(f"{what} has the scale {scales[~(np.isfinite(scales) & (scales >= 0))][0]}")
        if np.any(np.abs(zeros) > 2**31 - 1):
            raise self._broken(f"{what} has the zero point {zeros[np.abs(zeros).argmax()]}")
        if len(scales) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
            raise self._broken(f"{what} has {len(scales)} scales along axis {axis} of {list(shape)}")
        return Affine(scales, zeros, axis)


def _unpacked(buffer: np.ndarray, count: int) -> np.ndarray:
    """Two numbers of 4 bits a byte, the lower first."""
    pairs = np.stack([buffer & 15, buffer >> 4], axis=-1).reshape(-1)[:count].astype(np.int8)
    return ((pairs ^ 8) - 8).astype(np.int8)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")
