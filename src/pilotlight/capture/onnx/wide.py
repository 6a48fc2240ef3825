"""An ONNX model with float64 in place of float32, for ONNX's reference evaluator: how far float32 itself is off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

_TYPED = ("to", "dtype", "output_datatype", "stash_type")  # attributes that name a type


class WideSession:
    """The evaluator in float64: floats that it is given are widened."""

    def __init__(self, model: onnx.ModelProto):
        self._session = ReferenceEvaluator(widened(model))

    def run(self, names: None, feed: Mapping[str, np.ndarray]) -> list[Any]:
        wide = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in feed.items()}
        return list(self._session.run(names, wide))


def is_plain(model: onnx.ModelProto) -> bool:
    """Whether the model has floats of one width and no quantized tensors."""
    kinds = {tensor.data_type for tensor in model.graph.initializer}
    kinds |= {port.type.tensor_type.elem_type for port in (*model.graph.input, *model.graph.output)}
    narrow = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
    return not kinds & narrow and not any("Quantize" in n.op_type or n.op_type.startswith("QLinear")
                                          for n in model.graph.node)


def widened(model: onnx.ModelProto) -> onnx.ModelProto:
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    _widen_graph(wide.graph)
    return wide


def _widen_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for port in (*graph.input, *graph.output, *graph.value_info):
        kind = port.type.tensor_type
        if kind.elem_type == TensorProto.FLOAT:
            kind.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen_tensor(attribute.t)
            elif attribute.name in _TYPED and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            elif attribute.HasField("g"):
                _widen_graph(attribute.g)


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        name = tensor.name
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float64), name))
