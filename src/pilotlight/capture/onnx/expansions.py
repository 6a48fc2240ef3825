"""Operators on quantized tensors as the nodes that they stand for: dequantize, the operator itself, quantize.

From those the integer graph is made, as from a model that PyTorch quantized.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
from onnx.helper import make_node

from pilotlight.capture.onnx.registry import MICROSOFT

Nodes = list[onnx.NodeProto]


class _Writer:
    """Nodes one after another; values inside have names of their own."""

    def __init__(self, node: onnx.NodeProto):
        self.node, self.nodes = node, Nodes()

    def input(self, k: int) -> str:
        return self.node.input[k] if k < len(self.node.input) else ""

    def attributes(self, *leave_out: str) -> dict[str, Any]:
        return {a.name: onnx.helper.get_attribute_value(a) for a in self.node.attribute if a.name not in leave_out}

    def add(self, op: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        name = result or f"{op}#{len(self.nodes)}"
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        self.nodes.append(make_node(op, given, [name], name=name, **attributes))
        return name

    def real(self, k: int, axis: int = 1) -> str:
        """The numbers of a quantized input, which is followed by its scale and zero point."""
        return self.add("DequantizeLinear", self.input(k), self.input(k + 1), self.input(k + 2), axis=axis)

    def result(self, real: str, k: int) -> Nodes:
        """The numbers quantized with the scale and zero point at `k`."""
        self.add("QuantizeLinear", real, self.input(k), self.input(k + 1), result=self.node.output[0])
        return self.nodes


def _conv(node: onnx.NodeProto) -> Nodes:
    w = _Writer(node)
    x, weight, bias = w.real(0), w.real(3, axis=0), ""
    if w.input(8):
        bias = w.add("DequantizeLinear", w.input(8), w.add("Mul", w.input(1), w.input(4)), axis=0)
    return w.result(w.add("Conv", x, weight, bias, **w.attributes()), 6)


def _matmul(node: onnx.NodeProto) -> Nodes:
    w = _Writer(node)
    return w.result(w.add("MatMul", w.real(0, axis=-2), w.real(3, axis=-1)), 6)


def _gemm(node: onnx.NodeProto) -> Nodes:
    w = _Writer(node)
    attributes = w.attributes()
    a, b, bias = w.real(0), w.real(3, axis=0 if attributes.get("transB") else 1), ""
    if w.input(6):
        bias = w.add("DequantizeLinear", w.input(6), w.add("Mul", w.input(1), w.input(4)), axis=0)
    if not w.input(7):
        w.add("Gemm", a, b, bias, result=node.output[0], **attributes)
        return w.nodes
    return w.result(w.add("Gemm", a, b, bias, **attributes), 7)


def _binary(op: str) -> Callable[[onnx.NodeProto], Nodes]:
    def expand(node: onnx.NodeProto) -> Nodes:
        w = _Writer(node)
        return w.result(w.add(op, w.real(0), w.real(3)), 6)

    return expand


def _unary(op: str) -> Callable[[onnx.NodeProto], Nodes]:
    def expand(node: onnx.NodeProto) -> Nodes:
        w = _Writer(node)
        return w.result(w.add(op, w.real(0), **w.attributes("channels_last", "opset")), 3)

    return expand


def _concat(node: onnx.NodeProto) -> Nodes:
    w = _Writer(node)
    parts = [w.real(k) for k in range(2, len(node.input), 3)]
    return w.result(w.add("Concat", *parts, **w.attributes()), 0)


_EXPANSIONS: dict[tuple[str, str], Callable[[onnx.NodeProto], Nodes]] = {
    ("", "QLinearConv"): _conv, ("", "QLinearMatMul"): _matmul, (MICROSOFT, "QGemm"): _gemm,
    (MICROSOFT, "QLinearAdd"): _binary("Add"), (MICROSOFT, "QLinearMul"): _binary("Mul"),
    (MICROSOFT, "QLinearConcat"): _concat, (MICROSOFT, "QLinearGlobalAveragePool"): _unary("GlobalAveragePool"),
    (MICROSOFT, "QLinearAveragePool"): _unary("AveragePool"), (MICROSOFT, "QLinearSigmoid"): _unary("Sigmoid"),
    (MICROSOFT, "QLinearLeakyRelu"): _unary("LeakyRelu"), (MICROSOFT, "QLinearSoftmax"): _unary("Softmax"),
}


def expansion(node: onnx.NodeProto) -> Nodes | None:
    """What a node stands for; None for other operators. Images with channels last are refused by the attribute."""
    function = _EXPANSIONS.get(("" if node.domain == "ai.onnx" else node.domain, node.op_type))
    if function is None or any(a.name == "channels_last" and a.i for a in node.attribute):
        return None
    return function(node)


def is_expanded(node: onnx.NodeProto) -> bool:
    return ("" if node.domain == "ai.onnx" else node.domain, node.op_type) in _EXPANSIONS
