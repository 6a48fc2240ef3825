"""What TFLM computes for one operator: a .tflite file with it alone, run by PyPI's `tflite-micro`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
from tflite_micro.python.tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

from pilotlight.graph import Quant

TYPES = {
    np.dtype(np.int8): schema.TensorType.INT8, np.dtype(np.int16): schema.TensorType.INT16,
    np.dtype(np.int32): schema.TensorType.INT32, np.dtype(np.int64): schema.TensorType.INT64,
}


@dataclass(frozen=True)
class TfliteTensor:
    """A tensor of the file; with data it is a constant."""

    shape: tuple[int, ...]
    dtype: type
    scales: Sequence[float] = ()
    zero_point: int = 0
    axis: int = 0
    data: np.ndarray | None = None

    @classmethod
    def of(cls, shape: Sequence[int], quant: Quant, dtype: type = np.int8) -> TfliteTensor:
        return cls(tuple(shape), dtype, (quant.scale,), quant.zero_point)


def run(
    operator: str, options: Any, inputs: Sequence[TfliteTensor], output: TfliteTensor, *values: np.ndarray
) -> np.ndarray:
    """The operator's result for these values of the inputs that are no constants."""
    model = schema.ModelT()
    model.version = 3
    model.buffers = [schema.BufferT()]
    graph = schema.SubGraphT()
    graph.tensors = [_tensor(t, k, model) for k, t in enumerate([*inputs, output])]
    graph.inputs = [k for k, t in enumerate(inputs) if t.data is None]
    graph.outputs = [len(inputs)]
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, operator)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.version = 1
    node = schema.OperatorT()
    node.opcodeIndex = 0
    node.inputs, node.outputs = list(range(len(inputs))), [len(inputs)]
    if options is not None:
        node.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__.removesuffix("T"))
        node.builtinOptions = options
    graph.operators, model.operatorCodes, model.subgraphs = [node], [code], [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    interpreter = runtime.Interpreter.from_bytes(bytes(builder.Output()), arena_size=1 << 20)
    for k, value in enumerate(values):
        interpreter.set_input(value, k)
    interpreter.invoke()
    return np.array(interpreter.get_output(0))


def _tensor(t: TfliteTensor, number: int, model: Any) -> Any:
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.type = f"t{number}", list(t.shape), TYPES[np.dtype(t.dtype)]
    buffer = schema.BufferT()
    if t.data is not None:
        buffer.data = np.ascontiguousarray(t.data).view(np.uint8).ravel()
    model.buffers.append(buffer)
    tensor.buffer = len(model.buffers) - 1
    if len(t.scales):
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale = [float(np.float32(s)) for s in t.scales]
        tensor.quantization.zeroPoint = [t.zero_point] * len(t.scales)
        tensor.quantization.quantizedDimension = t.axis
    return tensor
