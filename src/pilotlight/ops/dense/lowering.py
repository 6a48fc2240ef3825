"""ATen's linear layer, whose weight may be computed."""

from __future__ import annotations

import math

from pilotlight.graph import FLOAT32, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import lowers
from pilotlight.ops.dense.linear import linear_node
from pilotlight.ops.matmul.float import product
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import DenseLayer, Treatment


def _vector(b: Builder, x: Value, weight: Value, bias: Value | None) -> Value:
    """A weight without its dimension of outputs: one number for each row."""
    y = linear(b, x, b.reshape(weight, (1, *weight.shape)), None)
    y = b.reshape(y, x.shape[:-1])
    return y if bias is None else apply(b, "add", y, bias)


@lowers("linear.default", quantized=Treatment(DenseLayer()))
def linear(b: Builder, input: Value, weight: Value, bias: Value | None = None) -> Value:
    if len(weight.shape) == 1:
        return _vector(b, input, weight, bias)
    data = b.known(weight)
    if data is None or not input.shape[-1] or input.dtype != FLOAT32:
        rows = b.reshape(input, (math.prod(input.shape[:-1]), input.shape[-1]))
        y = b.reshape(product(b, rows, b.permute(weight, (1, 0))), (*input.shape[:-1], weight.shape[0]))
        return y if bias is None else apply(b, "add", y, bias)
    if bias is not None and bias.data is None:
        return apply(b, "add", linear_node(b, input, data, None), bias)
    scale, _ = b.channel_scales.get(weight, (None, 0))
    return linear_node(b, input, data, bias, scale)
