"""TOSA 1.0 graphs as data: tensors, operators, and the file that Arm's tools read.

Zero points, multipliers and shapes are operands of their operators, as constants. A file is a FlatBuffer; the numbers
of operators and types, and the order of attributes, are those of its schema, `tosa.fbs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pilotlight.graph import Shape

VERSION = (1, 0, 0)
DTYPES = {"int8": 3, "int16": 4, "int32": 5, "shape": 10}
SINGLE_ROUND, NEAREST, PROPAGATE = 1, 1, 1

# Each operator's number, and its attributes in the order of the schema: how each is written.
OPERATORS: dict[str, tuple[int, dict[str, str]]] = {
    "CONV2D": (3, {"pad": "ints", "stride": "ints", "dilation": "ints", "local_bound": "bool", "acc_type": "enum"}),
    "DEPTHWISE_CONV2D": (
        5, {"pad": "ints", "stride": "ints", "dilation": "ints", "local_bound": "bool", "acc_type": "enum"}),
    "MATMUL": (7, {}),
    "MAX_POOL2D": (8, {"kernel": "ints", "stride": "ints", "pad": "ints", "nan_mode": "enum"}),
    "TRANSPOSE_CONV2D": (10, {"out_pad": "ints", "stride": "ints", "local_bound": "bool", "acc_type": "enum"}),
    "CLAMP": (11, {"min_val": "bytes", "max_val": "bytes", "nan_mode": "enum"}),
    "ADD": (15, {}),
    "MUL": (28, {}),
    "SUB": (30, {}),
    "TABLE": (31, {}),
    "CONCAT": (55, {"axis": "int"}),
    "PAD": (56, {}),
    "RESHAPE": (57, {}),
    "REVERSE": (58, {"axis": "int"}),
    "SLICE": (59, {}),
    "TILE": (60, {}),
    "TRANSPOSE": (61, {"perms": "ints"}),
    "RESIZE": (64, {"mode": "enum"}),
    "RESCALE": (66, {
        "scale32": "bool", "rounding_mode": "enum", "per_channel": "bool", "input_unsigned": "bool",
        "output_unsigned": "bool"}),
    "CONST": (67, {}),
    "CONST_SHAPE": (75, {}),
}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph, or a shape; with `data` a constant."""

    name: str
    dtype: str
    shape: Shape
    data: bytes | None = None


@dataclass(frozen=True)
class Operation:
    kind: str
    inputs: tuple[Tensor, ...]
    output: Tensor
    attributes: dict[str, Any]


@dataclass
class TosaGraph:
    """Operators in the order in which they are added."""

    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def input(self, shape: Shape, dtype: str = "int8") -> Tensor:
        tensor = Tensor(f"input_{len(self.inputs)}", dtype, shape)
        self.inputs.append(tensor)
        return tensor

    def add(
        self, kind: str, inputs: Sequence[Tensor], shape: Shape, dtype: str = "int8", data: bytes | None = None,
        **attributes: Any,
    ) -> Tensor:
        """An operator and its result."""
        tensor = Tensor(f"t{len(self.operations)}", dtype, tuple(int(s) for s in shape), data)
        self.operations.append(Operation(kind, tuple(inputs), tensor, attributes))
        return tensor

    def constant(self, values: np.ndarray) -> Tensor:
        return self.add("CONST", [], values.shape, values.dtype.name, np.ascontiguousarray(values).tobytes())

    def number(self, value: int, dtype: str = "int8") -> Tensor:
        """A constant of one element: a zero point, a shift."""
        return self.constant(np.array([value], dtype))

    def numbers(self, values: Sequence[int]) -> Tensor:
        """A shape, or other numbers that TOSA has in the form of one."""
        return self.add("CONST_SHAPE", [], (len(values),), "shape", np.array(values, "<i8").tobytes())

    def rescale(
        self, x: Tensor, multiplier: Sequence[int] | np.ndarray, shift: int, zero: int = 0, to: int = 0,
        dtype: str = "int8",
    ) -> Tensor:
        """to + ((x - zero) · multiplier + 2^(shift-1)) >> shift, saturated; one multiplier, or one per channel."""
        factors = np.atleast_1d(np.asarray(multiplier, np.int32))
        operands = [
            x, self.constant(factors), self.constant(np.full(len(factors), shift, np.int8)),
            self.number(zero, x.dtype), self.number(to, dtype),
        ]
        return self.add(
            "RESCALE", operands, x.shape, dtype, scale32=True, rounding_mode=SINGLE_ROUND, per_channel=len(factors) > 1,
        )

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        return x if x.shape == tuple(shape) else self.add("RESHAPE", [x, self.numbers(shape)], shape, x.dtype)

    def clamp(self, x: Tensor, low: int, high: int) -> Tensor:
        """int8 between two limits."""
        if (low, high) == (-128, 127):
            return x
        least, most = np.int8(low).tobytes(), np.int8(high).tobytes()
        return self.add("CLAMP", [x], x.shape, min_val=least, max_val=most, nan_mode=PROPAGATE)

    def serialize(self) -> bytes:
        """The file."""
        return _Writer().graph(self)


class _Writer:
    """A FlatBuffer from its leaves to its root."""

    def __init__(self) -> None:
        import flatbuffers  # of the extra `npu`

        self.b: Any = flatbuffers.Builder(1024)

    def table(self, *slots: Callable[[int], None] | None) -> int:
        """A table: per slot what writes it, or nothing for the default."""
        self.b.StartObject(len(slots))
        for number, write in enumerate(slots):
            if write is not None:
                write(number)
        return int(self.b.EndObject())

    def at(self, offset: int) -> Callable[[int], None]:
        return lambda slot: self.b.PrependUOffsetTRelativeSlot(slot, offset, 0)

    def u8(self, value: int) -> Callable[[int], None]:
        return lambda slot: self.b.PrependUint8Slot(slot, value, 0)

    def u32(self, value: int) -> Callable[[int], None]:
        return lambda slot: self.b.PrependUint32Slot(slot, value, 0)

    def i32(self, value: int, default: int = 0) -> Callable[[int], None]:
        return lambda slot: self.b.PrependInt32Slot(slot, value, default)

    def flag(self, value: bool, default: bool = False) -> Callable[[int], None]:
        return lambda slot: self.b.PrependBoolSlot(slot, value, default)

    def text(self, value: str) -> int:
        return int(self.b.CreateString(value))

    def offsets(self, offsets: Sequence[int]) -> int:
        self.b.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.b.PrependUOffsetTRelative(offset)
        return int(self.b.EndVector())

    def texts(self, values: Sequence[str]) -> int:
        return self.offsets([self.text(v) for v in values])

    def ints(self, values: Sequence[int]) -> int:
        return int(self.b.CreateNumpyVector(np.array(values, np.int32)))

    def raw(self, data: bytes) -> int:
        """Bytes that begin at a multiple of 8."""
        self.b.StartVector(1, len(data), 8)
        self.b.head -= len(data)
        self.b.Bytes[self.b.Head() : self.b.Head() + len(data)] = data
        return int(self.b.EndVector())

    def operation(self, operation: Operation) -> int:
        number, kinds = OPERATORS[operation.kind]
        slots: list[Callable[[int], None] | None] = []
        for name, kind in kinds.items():
            value = operation.attributes.get(name)
            if value is None:
                slots.append(None)
            elif kind == "ints":
                slots.append(self.at(self.ints(value)))
            elif kind == "bytes":
                slots.append(self.at(self.raw(value)))
            elif kind == "int":
                slots.append(self.i32(value))
            else:
                slots.append(self.u32(value) if kind == "enum" else self.flag(value))
        attribute = self.table(*slots)
        inputs = self.texts([t.name for t in operation.inputs])
        outputs = self.texts([operation.output.name])
        # The union of attributes has the operators' order, so its tag is the operator's number.
        return self.table(self.u32(number), self.u8(number), self.at(attribute), self.at(inputs), self.at(outputs))

    def tensor(self, tensor: Tensor) -> int:
        data = None if tensor.data is None else self.at(self.raw(tensor.data))
        name, shape = self.text(tensor.name), self.ints(tensor.shape)
        return self.table(self.at(name), self.at(shape), self.u32(DTYPES[tensor.dtype]), data)

    def shape(self, tensor: Tensor) -> int:
        assert tensor.data is not None
        data, name = self.raw(tensor.data), self.text(tensor.name)
        return self.table(self.at(name), self.u32(tensor.shape[0]), self.at(data))

    def graph(self, graph: TosaGraph) -> bytes:
        results = [*graph.inputs, *(o.output for o in graph.operations)]
        operations = self.offsets([self.operation(o) for o in graph.operations])
        tensors = self.offsets([self.tensor(t) for t in results if t.dtype != "shape"])
        shapes = self.offsets([self.shape(t) for t in results if t.dtype == "shape"])
        inputs, outputs = (self.texts([t.name for t in side]) for side in (graph.inputs, graph.outputs))
        name = self.text("main")
        block = self.table(*map(self.at, (name, operations, tensors, inputs, outputs, shapes)))
        region = self.table(self.at(name), self.at(self.offsets([block])))
        version = self.table(*(self.i32(v, -1) for v in VERSION), self.flag(False, True))
        self.b.Finish(self.table(self.at(version), self.at(self.offsets([region]))), file_identifier=b"TOSA")
        return bytes(self.b.Output())
