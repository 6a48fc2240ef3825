"""Small ONNX models, made node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, list(inputs), list(outputs), name, **attributes)


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, Any], outputs: Sequence[str] | Mapping[str, Any],
    constants: Mapping[str, np.ndarray] | None = None, opset: int = 21, **more: Any,
) -> onnx.ModelProto:
    """`inputs` are shapes of floats, or (type, shape)."""
    def port(name: str, kind: Any) -> onnx.ValueInfoProto:
        dtype, shape = kind if isinstance(kind, tuple) else (FLOAT, kind)
        return helper.make_tensor_value_info(name, dtype, shape)

    results = outputs if isinstance(outputs, Mapping) else dict.fromkeys(outputs)
    graph = helper.make_graph(
        list(nodes), "net", [port(*item) for item in inputs.items()], [port(*item) for item in results.items()],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, **more)


def save(made: onnx.ModelProto, folder: Path, name: str = "net.onnx") -> str:
    path = folder / name
    path.write_bytes(made.SerializeToString())
    return str(path)


def noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) / 4


def small_net(opset: int = 21) -> onnx.ModelProto:
    """A convolution, a mean over axes that are an input, and a linear layer; sizes have names."""
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "stem/conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"], "stem/relu"),
        node("ReduceMean", ["r", "axes"], ["m"], "pool", keepdims=0),
        node("MatMul", ["m", "f"], ["y"], "head"),
    ]
    inputs = {"x": ["N", 3, "H", "W"], "axes": (TensorProto.INT64, ["A"])}
    constants = {"w": noise(0, 8, 3, 3, 3), "b": noise(1, 8), "f": noise(2, 8, 4)}
    return model(nodes, inputs, {"y": ["N", 4]}, constants, opset)
