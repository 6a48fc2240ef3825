"""Which tensors become int8 or int16: the annotations that PT2E works from.

Every operator is in one of five classes. What is in none stays float, and the summary says so.
The result of an operator has 16 bits where `wide` says so; whoever reads it reads 16 bits.
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


def never(node: Node) -> bool:
    return False


class Int8Quantizer(Quantizer):
    """Per-channel symmetric int8 weights; per-tensor activations, affine int8 or symmetric int16."""

    def __init__(
        self, observer: str = "minmax", keep_float: Callable[[Node], bool] = never,
        wide: Callable[[Node], bool] = never,
    ):
        self.specs = {bits: activation_spec(observer, bits) for bits in (8, 16)}
        self.keep_float, self.wide = keep_float, wide
        self.bits: dict[Node, int] = {}  # of results that are quantized
        self.maker: dict[Node, Node] = {}  # of a clamp's result: the operator in front of it

    def annotate(self, model: GraphModule) -> GraphModule:
        for node in model.graph.nodes:
            name = operator_name(node)
            if node.op == "placeholder":
                self.bits[node] = self._chosen(node)
            if name is None or KEY in node.meta or self.keep_float(node):
                continue
            if name in RECURRENT:
                self._recurrent(node)
            if not _is_float(node) or any(_is_state(a) for a in node.all_input_nodes):
                continue
            if name in DENSE:
                self._dense(node, name)
            elif name in FIXED:
                self._mark(node, _fixed(name, self._chosen(node)))
            elif name in OWN:
                self._own(node)
            elif name in SHARED:
                self._shared(node)
        return model

    def validate(self, model: GraphModule) -> None:
        """Every annotation above has an integer form."""

    def _chosen(self, *nodes: Node) -> int:
        """The width of a result that several operators make together."""
        return 16 if any(self.wide(node) for node in nodes) else 8

    def _read(self, x: Node, reader: int) -> QuantizationSpec:
        """How a tensor is read: as it was written; if nobody quantized it, with the reader's own width."""
        return self.specs[self.bits.get(x, reader)]

    def _annotate(self, node: Node, inputs: dict[Node, Any], clamp: Node | None, output: Any = None) -> None:
        """An operator and the clamp behind it, whose result is then the only one quantized."""
        last = clamp or node
        self.bits[last] = self._chosen(node, last)
        spec = output or self.specs[self.bits[last]]
        node.meta[KEY] = QuantizationAnnotation(inputs, None if clamp else spec, _annotated=True)
        if clamp is not None:
            clamp.meta[KEY] = QuantizationAnnotation({}, spec, _annotated=True)
            self.maker[clamp] = node

    def _dense(self, node: Node, name: str) -> None:
        x, weight = node.args[:2]
        if not isinstance(weight, Node) or weight.op != "get_attr":
            return
        assert isinstance(x, Node)
        clamp = _only_clamp(node)
        width = self._chosen(node, *([clamp] if clamp else []))
        specs = {x: self._read(x, width), weight: weight_spec(1 if "transpose" in name else 0)}
        self._annotate(node, specs, clamp)

    def _recurrent(self, node: Node) -> None:
        """The sequence in and out; weights are quantized where the layer becomes integer."""
        x = node.args[0]
        assert isinstance(x, Node)
        width = self._chosen(node)
        node.meta[KEY] = QuantizationAnnotation({x: self._read(x, width)}, None, _annotated=True)
        for user in node.users:
            if user.args[1] == 0:
                self.bits[user] = width
                user.meta[KEY] = QuantizationAnnotation({}, self.specs[width], _annotated=True)

    def _own(self, node: Node) -> None:
        clamp = _only_clamp(node) if operator_name(node) in ("add.Tensor", "add_.Tensor") else None
        if not all(isinstance(a, Node) and _is_float(a) for a in node.args[:2]) and operator_name(node) in _BINARY:
            return  # a scalar operand folds into its neighbours or is a table
        self._mark(node, None, clamp)

    def _shared(self, node: Node) -> None:
        """Data that is only moved keeps its scale; all inputs of a concatenation get one, the widest."""
        inputs = _tensor_inputs(node)
        if not inputs:
            return
        width = self._chosen(node)
        self.bits[node] = max(self.bits.get(x, width) for x in inputs)
        specs: dict[Node, Any] = {inputs[0]: self.specs[self.bits[node]]}
        shared = SharedQuantizationSpec((inputs[0], node))
        specs |= dict.fromkeys(inputs[1:], shared)
        node.meta[KEY] = QuantizationAnnotation(specs, shared, _annotated=True)

    def _mark(self, node: Node, output: Any, clamp: Node | None = None) -> None:
        width = self._chosen(node, *([clamp] if clamp else []))
        self._annotate(node, {x: self._read(x, width) for x in _tensor_inputs(node)}, clamp, output)


def _fixed(name: str, bits: int) -> FixedQParamsQuantizationSpec:
    """Results whose range is known: 0..1 or -1..1."""
    if bits == 16:
        return FixedQParamsQuantizationSpec(torch.int16, 1 / 32768, 0, -32768, 32767)
    scale, zero = FIXED[name]
    return FixedQParamsQuantizationSpec(torch.int8, scale, zero, -128, 127)


_BINARY = ("add.Tensor", "add_.Tensor", "mul.Tensor", "mul_.Tensor", "sub.Tensor", "matmul.default", "bmm.default")


def operator_name(node: Node) -> str | None:
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
    for arg in node.args[:1] if operator_name(node) == "layer_norm.default" else node.args:
        items += arg if isinstance(arg, list | tuple) else [arg]
    return list(dict.fromkeys(a for a in items if isinstance(a, Node) and _is_float(a)))


def _only_clamp(node: Node) -> Node | None:
    """The activation that alone reads a result: the two become one integer operator."""
    users = list(node.users)
    return users[0] if len(users) == 1 and operator_name(users[0]) in CLAMPS else None
