"""A model that PT2E quantized as a `.tflite` file, for TFLM to run.

It is written from the float operators between dequantize and quantize, before any of them became integers here: scales
and zero points are PT2E's, weights and biases are rounded in this file, and operators are those of the schema. Padding
of convolutions and averages is a PAD of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.support.tflite_models import GraphSpec, write_model

from pilotlight.graph import Graph, Node, Value
from pilotlight.passes.pipeline import passes

Affine = tuple[float, int]
ACTIVATIONS = {(-math.inf, math.inf): 0, (0.0, math.inf): 1, (-1.0, 1.0): 2, (0.0, 6.0): 3}
CLAMPS = ("clamp_min", "clamp_max")
MOVES = ("reshape", "permute")
VALID = 1


def float_operators(graph: Graph) -> Graph:
    """The graph in its final order of dimensions, with clamps in the layers before them."""
    found = graph.clone()
    for name, step in passes():
        if name == "go integer":
            return found
        found = step(found)
    raise AssertionError("there is no pass of this name")


class FileWriter:
    """One operator after another."""

    def __init__(self, graph: Graph):
        self.spec = GraphSpec()
        self.graph = float_operators(graph)
        self.users = self.graph.users()
        self.producers = self.graph.producers()
        self.tensors: dict[Value, int] = {}  # of float values and the integers they become

    def bytes(self) -> bytes:
        for port in self.graph.inputs:
            scale, zero = self.affine(port.value)
            self.tensors[port.value] = self.spec.input(port.value.shape, "INT8", scale, zero)
        for node in self.graph.nodes:
            if node.op in ("quantize", "dequantize") or (node.op in CLAMPS and self.fused(node)):
                self.same(node)
            else:
                assert node.op in WRITERS, node.op
                WRITERS[node.op](self, node)
        self.spec.outputs += [self.tensors[port.value] for port in self.graph.outputs]
        return write_model(self.spec)

    def affine(self, value: Value) -> Affine:
        """The scale that a float value is rounded to by whoever reads it."""
        for user in self.users.get(value, []):
            if user.op == "quantize":
                return float(user.attrs["scale"]), int(user.attrs["zero"])
            if user.op in CLAMPS + MOVES and user.inputs[0] is value:
                return self.affine(user.output)
        raise AssertionError(f"{value.name} is not quantized")

    def fused(self, node: Node) -> bool:
        """Whether a clamp belongs to the operator before it."""
        above = self.producers.get(node.inputs[0])
        return above is not None and above.op != "dequantize"

    def same(self, node: Node) -> None:
        """The same integers, or QUANTIZE where a dequantized number gets another scale."""
        given = self.tensors[node.inputs[0]]
        if node.op == "quantize":
            wanted = (float(node.attrs["scale"]), int(node.attrs["zero"]))
            tensor = self.spec.tensors[given]
            if (float(np.float32(tensor.scale[0])), tensor.zero[0]) != wanted:
                made = self.spec.tensor(node.output.shape, "INT8", *wanted)
                self.spec.call("QUANTIZE", [given], [made])
                given = made
        self.tensors[node.output] = given

    def activation(self, node: Node) -> int:
        """The clamps in and after an operator."""
        low, high = node.attrs.get("clamp", (-math.inf, math.inf))
        value = node.output
        while [user.op in CLAMPS for user in self.users.get(value, [])] == [True]:
            user = self.users[value][0]
            assert user.inputs[1].data is not None
            bound = float(user.inputs[1].data.reshape(-1)[0])
            low, high = (max(low, bound), high) if user.op == "clamp_min" else (low, min(high, bound))
            value = user.output
        return ACTIVATIONS[low, high]

    def result(self, node: Node, affine: Affine | None = None) -> int:
        scale, zero = affine or self.affine(node.output)
        self.tensors[node.output] = self.spec.tensor(node.output.shape, "INT8", scale, zero)
        return self.tensors[node.output]

    def like(self, tensor: int) -> Affine:
        found = self.spec.tensors[tensor]
        return found.scale[0], found.zero[0]

    def ints(self, numbers: Any) -> int:
        return self.spec.constant(np.asarray(numbers, np.int32))

    def operand(self, value: Value) -> int:
        """A tensor, or a constant with a scale of its own."""
        if value.data is None:
            return self.tensors[value]
        scale = np.float32(max(float(np.abs(value.data).max()) / 127, 2.0**-40))
        return self.spec.constant(np.rint(value.data / np.float64(scale)).astype(np.int8), scale, 0)

    def padded(self, x: int, before: tuple[int, int], after: tuple[int, int]) -> int:
        if not any((*before, *after)):
            return x
        n, h, w, c = self.spec.tensors[x].shape
        shape = (n, h + before[0] + after[0], w + before[1] + after[1], c)
        y = self.spec.tensor(shape, "INT8", *self.like(x))
        sides = self.ints([[0, 0], [before[0], after[0]], [before[1], after[1]], [0, 0]])
        self.spec.call("PAD", [x, sides], [y], options="PadOptions")
        return y

    def filters(self, node: Node, x: int, axis: int, order: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int]:
        """Weights (O, ...) and bias as integers."""
        weight, bias = (np.asarray(v.data, np.float64) for v in node.inputs[1:])
        scale = np.asarray(node.attrs["weight_scale"], np.float64)
        steps = weight / scale.reshape(-1, *(1,) * (weight.ndim - 1))
        w = order(np.clip(np.rint(steps), -127, 127).astype(np.int8))
        sums = np.rint(bias / (self.like(x)[0] * scale)).astype(np.int32)
        bias_scale = (np.float32(self.like(x)[0]) * scale.astype(np.float32)).astype(np.float32)
        return self.spec.constant(w, scale, axis=axis), self.spec.constant(sums, bias_scale)


Writer = Callable[[FileWriter, Node], None]


def _conv(file: FileWriter, node: Node) -> None:
    a, x = node.attrs, file.tensors[node.inputs[0]]
    top, left, bottom, right = a["pad"]
    x = file.padded(x, (top, left), (bottom, right))
    depthwise = a["groups"] == node.inputs[0].shape[3] > 1
    w, bias = file.filters(
        node, x, 3 if depthwise else 0, lambda v: v.transpose(3, 1, 2, 0) if depthwise else v)
    options = {
        "Padding": VALID, "StrideH": a["stride"][0], "StrideW": a["stride"][1], "DilationHFactor": a["dilation"][0],
        "DilationWFactor": a["dilation"][1], "FusedActivationFunction": file.activation(node),
    }
    if depthwise:
        options["DepthMultiplier"] = node.output.shape[3] // node.inputs[0].shape[3]
    name, table = ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions") if depthwise else ("CONV_2D", "Conv2DOptions")
    file.spec.call(name, [x, w, bias], [file.result(node)], options=table, **options)


def _linear(file: FileWriter, node: Node) -> None:
    x = file.tensors[node.inputs[0]]
    w, bias = file.filters(node, x, 0, lambda v: v)
    file.spec.call("FULLY_CONNECTED", [x, w, bias], [file.result(node)], options="FullyConnectedOptions",
                   FusedActivationFunction=file.activation(node))


def _transposed(file: FileWriter, node: Node) -> None:
    """Only without padding, which TFLM takes from both ends."""
    a, x = node.attrs, file.tensors[node.inputs[0]]
    assert tuple(a["pad"]) == (0, 0) and tuple(a["extra"]) == (0, 0)
    turned = Node(node.op, list(node.inputs), node.outputs, node.attrs, node.place)
    data = np.asarray(node.inputs[1].data).transpose(3, 1, 2, 0)
    turned.inputs[1] = Value("w", node.inputs[1].dtype, data.shape, data)
    w, bias = file.filters(turned, x, 0, lambda v: v)
    shape = file.ints(node.output.shape)
    file.spec.call("TRANSPOSE_CONV", [shape, w, x, bias], [file.result(node)], version=3,
                   options="TransposeConvOptions", Padding=VALID, StrideH=a["stride"][0], StrideW=a["stride"][1],
                   FusedActivationFunction=file.activation(node))


def _pool(name: str) -> Writer:
    def write(file: FileWriter, node: Node) -> None:
        a, x = node.attrs, file.tensors[node.inputs[0]]
        ends = [(n - 1) * s + k - size - p for n, s, k, size, p in zip(
            a["size"], a["stride"], a["kernel"], node.inputs[0].shape[1:3], a["pad"], strict=True)]
        if any((*a["pad"], *ends)) and min(ends) >= 0:
            assert name == "AVERAGE_POOL_2D" and a["count_padding"]
            x = file.padded(x, tuple(a["pad"]), (ends[0], ends[1]))
        same = file.affine(node.output) == file.like(x)
        y = file.result(node, file.like(x))
        file.spec.call(name, [x], [y], options="Pool2DOptions", Padding=VALID, StrideH=a["stride"][0],
                       StrideW=a["stride"][1], FilterHeight=a["kernel"][0], FilterWidth=a["kernel"][1],
                       FusedActivationFunction=file.activation(node) if same else 0)

    return write


def _mean(name: str) -> Writer:
    def write(file: FileWriter, node: Node) -> None:
        inputs = [file.tensors[node.inputs[0]], file.ints(node.attrs["axes"])]
        file.spec.call(name, inputs, [file.result(node)], options="ReducerOptions", KeepDims=True)

    return write


def _binary(name: str) -> Writer:
    def write(file: FileWriter, node: Node) -> None:
        inputs = [file.operand(v) for v in node.inputs]
        file.spec.call(name, inputs, [file.result(node)], options=f"{name.title()}Options",
                       FusedActivationFunction=file.activation(node))

    return write


def _concat(file: FileWriter, node: Node) -> None:
    inputs = [file.tensors[v] for v in node.inputs]
    assert len({file.like(x) for x in inputs}) == 1
    file.spec.call("CONCATENATION", inputs, [file.result(node, file.like(inputs[0]))], options="ConcatenationOptions",
                   Axis=node.attrs["axis"], FusedActivationFunction=0)


def _reshape(file: FileWriter, node: Node) -> None:
    x = file.tensors[node.inputs[0]]
    file.spec.call("RESHAPE", [x, file.ints(node.output.shape)], [file.result(node, file.like(x))],
                   options="ReshapeOptions", NewShape=list(node.output.shape))


def _permute(file: FileWriter, node: Node) -> None:
    x = file.tensors[node.inputs[0]]
    file.spec.call("TRANSPOSE", [x, file.ints(node.attrs["perm"])], [file.result(node, file.like(x))],
                   options="TransposeOptions")


def _clamp(file: FileWriter, node: Node) -> None:
    """Of a tensor that was quantized before: QUANTIZE, then the clamp in the result's scale."""
    x = file.tensors[node.inputs[0]]
    affine = file.affine(node.output)
    if file.like(x) != affine:
        wide = file.spec.tensor(node.output.shape, "INT8", *affine)
        file.spec.call("QUANTIZE", [x], [wide])
        x = wide
    number = np.asarray(node.inputs[1].data, np.float64).reshape(-1)[0]
    bound = file.spec.constant(np.clip(np.rint([number / affine[0] + affine[1]]), -128, 127).astype(np.int8), *affine)
    name = "MAXIMUM" if node.op == "clamp_min" else "MINIMUM"
    file.spec.call(name, [x, bound], [file.result(node, affine)], options="MaximumMinimumOptions")


def _function(name: str, options: str = "") -> Writer:
    def write(file: FileWriter, node: Node) -> None:
        more: dict[str, Any] = {"options": options} if options else {}
        if name == "LEAKY_RELU":
            more["Alpha"] = float(np.asarray(node.inputs[1].data).reshape(-1)[0])
        if name == "SOFTMAX":
            assert node.attrs["axis"] == len(node.output.shape) - 1
            more["Beta"] = 1.0
        file.spec.call(name, [file.tensors[node.inputs[0]]], [file.result(node)], **more)

    return write


WRITERS: dict[str, Writer] = {
    "conv2d": _conv, "linear": _linear, "conv_transpose2d": _transposed, "avg_pool2d": _pool("AVERAGE_POOL_2D"),
    "max_pool2d": _pool("MAX_POOL_2D"), "mean": _mean("MEAN"), "sum": _mean("SUM"), "add": _binary("ADD"),
    "sub": _binary("SUB"), "mul": _binary("MUL"), "concat": _concat, "reshape": _reshape, "permute": _permute,
    "clamp_min": _clamp, "clamp_max": _clamp, "softmax": _function("SOFTMAX", "SoftmaxOptions"),
    "sigmoid": _function("LOGISTIC"), "tanh": _function("TANH"), "abs": _function("ABS"),
    "leaky_relu": _function("LEAKY_RELU", "LeakyReluOptions"), "hardswish": _function("HARD_SWISH"),
}


def as_tflite(graph: Graph) -> bytes:
    """The file of a quantized model; its inputs and outputs are int8, channels last."""
    return FileWriter(graph).bytes()
