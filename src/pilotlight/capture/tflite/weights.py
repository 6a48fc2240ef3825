"""What quantized weights stand for, and copies of files that have their weights written out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pilotlight.capture.tflite.model import FileOperator, FileSubgraph, FileTensor, TfliteModel

HYBRID = {  # which inputs of these operators are weights
    "CONV_2D": (1,), "DEPTHWISE_CONV_2D": (1,), "FULLY_CONNECTED": (1,), "SVDF": (1, 2),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": tuple(range(1, 9)),
}
INTEGERS = ("INT8", "UINT8", "INT4")
# Fields of the schema's tables.
_TYPE, _BUFFER, _SPARSITY = 1, 2, 6
_DATA, _BUFFERS, _SUBGRAPHS, _TENSORS = 0, 4, 2, 0


def real_weights(tensor: FileTensor) -> np.ndarray:
    """The numbers that the integers of a constant stand for, as float32."""
    affine, data = tensor.affine, tensor.data
    assert affine is not None and data is not None
    shape = [1] * data.ndim
    if len(affine.scales) > 1:
        shape[affine.axis] = -1
    whole = (data.astype(np.int64) - affine.zero_points.reshape(shape)).astype(np.float32)
    return (whole * affine.scales.reshape(shape)).astype(np.float32)


def hybrid_weights(model: TfliteModel) -> Iterator[tuple[FileSubgraph, FileTensor]]:
    """Integer weights of operators whose inputs are floats."""
    for subgraph, found in model.operators():
        if found.inputs and found.inputs[0] >= 0 and subgraph.tensors[found.inputs[0]].type == "FLOAT32":
            yield from ((subgraph, tensor) for tensor in _weights(subgraph, found))


def _weights(subgraph: FileSubgraph, found: FileOperator) -> Iterator[FileTensor]:
    for k in HYBRID.get(found.name, ()):
        tensor = subgraph.tensors[found.inputs[k]] if k < len(found.inputs) and found.inputs[k] >= 0 else None
        if tensor is not None and tensor.type in INTEGERS and tensor.data is not None and tensor.affine is not None:
            yield tensor


class FilePatch:
    """A file's bytes, to which vectors are added at the end; its offsets were checked when it was read."""

    def __init__(self, data: bytes):
        self.data = bytearray(data)

    def word(self, at: int) -> int:
        return int.from_bytes(self.data[at : at + 4], "little")

    def field(self, table: int, number: int) -> int:
        """Where a field of a table is."""
        places = table - struct.unpack_from("<i", self.data, table)[0]
        return table + int(struct.unpack_from("<H", self.data, places + 4 + 2 * number)[0])

    def element(self, at: int, number: int) -> int:
        """The table at a place of the list that the field points to."""
        entry = at + self.word(at) + 4 + 4 * number
        return entry + self.word(entry)

    def tensor(self, subgraph: int, number: int) -> int:
        table = self.element(self.field(self.word(0), _SUBGRAPHS), subgraph)
        return self.element(self.field(table, _TENSORS), number)

    def drop(self, table: int, number: int) -> None:
        """A table without a field: it gets a list of fields of its own."""
        places = table - struct.unpack_from("<i", self.data, table)[0]
        fields = bytearray(self.data[places : places + struct.unpack_from("<H", self.data, places)[0]])
        struct.pack_into("<H", fields, 4 + 2 * number, 0)
        self.data += bytes(-len(self.data) % 4)
        struct.pack_into("<i", self.data, table, table - len(self.data))
        self.data += fields

    def point(self, at: int, count: int, data: bytes) -> None:
        """A new list in the place of the one that the field at `at` points to; its elements begin at 16 bytes."""
        self.data += bytes((-len(self.data) - 4) % 16)
        struct.pack_into("<I", self.data, at, len(self.data) - at)
        self.data += struct.pack("<I", count) + data


def written_out(model: TfliteModel) -> TfliteModel:
    """The file with all elements of sparse weights, and with the weights of float layers as float32."""
    hybrid = {(s.index, tensor.index) for s, tensor in hybrid_weights(model)}
    patch = FilePatch(model.data)
    for subgraph in model.subgraphs:
        for tensor in subgraph.tensors:
            real = (subgraph.index, tensor.index) in hybrid
            if tensor.data is None or (not real and (not tensor.sparse or tensor.type == "INT4")):
                continue
            table = patch.tensor(subgraph.index, tensor.index)
            buffer = patch.element(patch.field(patch.word(0), _BUFFERS), patch.word(patch.field(table, _BUFFER)))
            data = (real_weights(tensor) if real else tensor.data).tobytes()
            patch.point(patch.field(buffer, _DATA), len(data), data)
            if real:
                patch.data[patch.field(table, _TYPE)] = 0
            if tensor.sparse:
                patch.drop(table, _SPARSITY)
    return model if len(patch.data) == len(model.data) else replace(model, data=bytes(patch.data))
