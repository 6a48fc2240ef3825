"""Which tensors become int8: the annotations that PT2E works from.

Every operator is in one of five classes. What is in none stays float, and the summary says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)

from pilotlight.quantize.observers import activation_spec, weight_spec

KEY = "quantization_annotation"

DENSE = {
    "conv1d.default", "conv1d.padding", "conv2d.default", "conv2d.padding", "convolution.default", "linear.default",
    "conv_transpose1d.default", "conv_transpose2d.input",
}
RECURRENT = {"lstm.input", "gru.input"}
CLAMPS = {
    "relu.default", "relu_.default", "relu6.default", "hardtanh.default", "hardtanh_.default", "clamp.default",
    "clamp_.default", "clamp_min.default",
}
OWN = {
    "add.Tensor", "add_.Tensor", "mul.Tensor", "mul_.Tensor", "sub.Tensor", "avg_pool1d.default", "avg_pool2d.default",
    "adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "mean.dim", "matmul.default", "bmm.default",
    "layer_norm.default", "hardswish.default", "hardswish_.default", "gelu.default", "silu.default", "silu_.default",
    "leaky_relu.default", "leaky_relu_.default", "elu.default", "elu_.default", "upsample_bilinear2d.vec",
    "hardsigmoid.default", "hardsigmoid_.default", "scaled_dot_product_attention.default", "rms_norm.default", *CLAMPS,
}
FIXED = {
    "softmax.int": (1 / 256, -128), "sigmoid.default": (1 / 256, -128), "sigmoid_.default": (1 / 256, -128),
    "tanh.default": (1 / 128, 0), "tanh_.default": (1 / 128, 0),
}
SHARED = {
    "max_pool1d.default", "max_pool2d.default", "flatten.using_ints", "view.default", "reshape.default",
    "permute.default", "transpose.int", "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default",
    "slice.Tensor", "select.int", "cat.default", "pad.default", "dropout.default", "contiguous.default",
    "clone.default", "expand.default", "flip.default", "upsample_nearest2d.vec", "unflatten.int", "t.default",
}


class Int8Quantizer(Quantizer):
    """Per-channel symmetric int8 weights, per-tensor affine int8 activations."""

    def __init__(self, observer: str = "minmax", keep_float: Callable[[Node], bool] = lambda node: False):
        self.activation = activation_spec(observer)
        self.keep_float = keep_float

    def annotate(self, model: GraphModule) -> GraphModule:
        for node in model.graph.nodes:
            name = _name(node)
            if name is None or KEY in node.meta or self.keep_float(node):
                continue
            if name in RECURRENT:
                self._recurrent(node)
            if not _is_float(node) or any(_is_state(a) for a in node.all_input_nodes):
                continue
            if name in DENSE:
                self._dense(node, name)
            elif name in FIXED:
                scale, zero = FIXED[name]
                self._mark(node, FixedQParamsQuantizationSpec(torch.int8, scale, zero, -128, 127))
            elif name in OWN:
                self._own(node)
            elif name in SHARED:
                self._shared(node)
        return model

    def validate(self, model: GraphModule) -> None:
        """Every annotation above has an integer form."""

    def _dense(self, node: Node, name: str) -> None:
        x, weight = node.args[:2]
        if not isinstance(weight, Node) or weight.op != "get_attr":
            return
        axis = 1 if "transpose" in name else 0
        specs = {x: self.activation, weight: weight_spec(axis)}
        clamp = _only_clamp(node)
        node.meta[KEY] = QuantizationAnnotation(specs, None if clamp else self.activation, _annotated=True)
        if clamp is not None:
            clamp.meta[KEY] = QuantizationAnnotation({}, self.activation, _annotated=True)

    def _recurrent(self, node: Node) -> None:
        """The sequence in and out; weights are quantized where the layer becomes integer."""
        node.meta[KEY] = QuantizationAnnotation({node.args[0]: self.activation}, None, _annotated=True)
        for user in node.users:
            if user.args[1] == 0:
                user.meta[KEY] = QuantizationAnnotation({}, self.activation, _annotated=True)

    def _own(self, node: Node) -> None:
        clamp = _only_clamp(node) if _name(node) in ("add.Tensor", "add_.Tensor") else None
        if not all(isinstance(a, Node) and _is_float(a) for a in node.args[:2]) and _name(node) in _BINARY:
            return  # a scalar operand folds into its neighbours or is a table
        self._mark(node, None if clamp else self.activation)
        if clamp is not None:
            clamp.meta[KEY] = QuantizationAnnotation({}, self.activation, _annotated=True)

    def _shared(self, node: Node) -> None:
        """Data that is only moved keeps its scale; all inputs of a concatenation get one."""
        inputs = _tensor_inputs(node)
        if not inputs:
            return
        first: SharedQuantizationSpec | QuantizationSpec = self.activation
        specs: dict[Node, Any] = {inputs[0]: first}
        shared = SharedQuantizationSpec((inputs[0], node))
        specs |= dict.fromkeys(inputs[1:], shared)
        node.meta[KEY] = QuantizationAnnotation(specs, shared, _annotated=True)

    def _mark(self, node: Node, output: Any) -> None:
        specs = dict.fromkeys(_tensor_inputs(node), self.activation)
        node.meta[KEY] = QuantizationAnnotation(specs, output, _annotated=True)


_BINARY = ("add.Tensor", "add_.Tensor", "mul.Tensor", "mul_.Tensor", "sub.Tensor", "matmul.default", "bmm.default")


def _name(node: Node) -> str | None:
    return str(node.target).removeprefix("aten.") if node.op == "call_function" else None


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _is_state(node: Node) -> bool:
    """A buffer that the model writes: PT2E would take what it holds now for a constant."""
    return node.op == "get_attr" and any(
        str(user.target).split(".")[-2].endswith("_") and user.args[:1] == (node,) for user in node.users
    )


def _tensor_inputs(node: Node) -> list[Node]:
    """Inputs that are activations; layer norm's own parameters stay as they are."""
    items: list[Any] = []
    for arg in node.args[:1] if _name(node) == "layer_norm.default" else node.args:
        items += arg if isinstance(arg, list | tuple) else [arg]
    return list(dict.fromkeys(a for a in items if isinstance(a, Node) and _is_float(a)))


def _only_clamp(node: Node) -> Node | None:
    """The activation that alone reads a result: the two become one integer operator."""
    users = list(node.users)
    return users[0] if len(users) == 1 and _name(users[0]) in CLAMPS else None
