"""Linear layers: x (N, I), w (O, I), y (N, O)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers import FloatLayer
from pilotlight.ops.base import Result, lowers, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.conv import clamped, float_layer
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import DenseLayer, Treatment


@register
class Linear(Chosen):
    """attrs: clamp; inputs x, w, bias. `w` is a constant and packed for the kernel."""

    name = "linear"

    def infer(self, node: Node) -> Result:
        return [(FLOAT32, (node.inputs[0].shape[0], node.inputs[2].elements))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return clamped(node, F.linear(args[0], args[1], args[2]))

    def macs(self, node: Node) -> int:
        return node.output.elements * node.inputs[0].shape[1]

    def shape(self, node: Node) -> pack_f32.LinearShape:
        (n, i), (_, o) = node.inputs[0].shape, node.output.shape
        return pack_f32.LinearShape(n, i, o)

    def layer(self, node: Node) -> FloatLayer:
        return float_layer(node, self.shape(node))


def linear_node(b: Builder, x: Value, weight: np.ndarray, bias: Value | None, scale: np.ndarray | None = None) -> Value:
    """x (..., I) times a constant weight (O, I); `scale` per output when the weight is quantized."""
    outputs, inputs = weight.shape
    if bias is None:
        bias = b.constant(np.zeros(outputs, np.float32), hint="zero_bias")
    rows = b.reshape(x, (x.elements // inputs if inputs else 0, inputs))
    w = b.constant(np.ascontiguousarray(weight), hint="weight")
    attrs: dict[str, Any] = {} if scale is None else {"weight_scale": scale}
    return b.reshape(b.node("linear", [rows, w, bias], **attrs), (*x.shape[:-1], outputs))


def linear_vector(b: Builder, x: Value, weight: Value, bias: Value | None) -> Value:
    """A weight without its dimension of outputs: one number for each row."""
    y = linear(b, x, b.reshape(weight, (1, *weight.shape)), None)
    y = b.reshape(y, x.shape[:-1])
    return y if bias is None else apply(b, "add", y, bias)


@lowers("linear.default", quantized=Treatment(DenseLayer()))
def linear(b: Builder, input: Value, weight: Value, bias: Value | None = None) -> Value:
    if len(weight.shape) == 1:
        return linear_vector(b, input, weight, bias)
    data = b.known(weight)
    if data is None or not input.shape[-1] or input.dtype != FLOAT32:
        from pilotlight.ops.matmul.float import product

        rows = b.reshape(input, (math.prod(input.shape[:-1]), input.shape[-1]))
        y = b.reshape(product(b, rows, b.permute(weight, (1, 0))), (*input.shape[:-1], weight.shape[0]))
        return y if bias is None else apply(b, "add", y, bias)
    if bias is not None and bias.data is None:
        return apply(b, "add", linear_node(b, input, data, None), bias)
    scale, _ = b.channel_scales.get(weight, (None, 0))
    return linear_node(b, input, data, bias, scale)
