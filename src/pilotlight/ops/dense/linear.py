"""Linear layers: x (N, I), w (O, I), y (N, O)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.kernels import pack_f32
from pilotlight.kernels.layers import FloatLayer
from pilotlight.ops.base import Result, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.dense.conv import clamped, float_layer


class LinearLayer(Chosen):
    """What linear layers of all widths share."""

    def macs(self, node: Node) -> int:
        return node.output.elements * node.inputs[0].shape[1]

    def shape(self, node: Node) -> pack_f32.LinearShape:
        (n, i), (_, o) = node.inputs[0].shape, node.output.shape
        return pack_f32.LinearShape(n, i, o)


@register
class Linear(LinearLayer):
    """attrs: clamp; inputs x, w, bias. `w` is a constant and packed for the kernel."""

    name = "linear"

    def infer(self, node: Node) -> Result:
        return [(FLOAT32, (node.inputs[0].shape[0], node.inputs[2].elements))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return clamped(node, F.linear(args[0], args[1], args[2]))

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
