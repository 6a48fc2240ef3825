"""Which tensors become int8 or int16: the annotations that PT2E works from.

How an operator is treated is declared in its own file (`ops/quantizing.py`). What is not declared stays float, and the
summary says so.
Pointwise operators that depend on one tensor are one function of it: only the last result is quantized.
The result of an operator has 16 bits where `wide` says so; its readers read 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
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

from pilotlight.fixed import PILOTLIGHT, TFLM
from pilotlight.ops.quantizing import (
    DenseLayer,
    FixedRange,
    OwnScale,
    ReadOnly,
    RecurrentLayer,
    ResultScale,
    SharedScale,
)
from pilotlight.quantize.constants import Constants, is_state, masked_scores
from pilotlight.quantize.observers import activation_spec, samples_spec, weight_spec
from pilotlight.quantize.operators import operator_name, treatment
from pilotlight.quantize.sharing import KEY, refer_to_one_root


def never(node: Node) -> bool:
    return False


class Int8Quantizer(Quantizer):
    """Per-channel symmetric int8 weights; per-tensor activations, affine int8 or symmetric int16."""

    def __init__(
        self, observer: str = "minmax", keep_float: Callable[[Node], bool] = never,
        wide: Callable[[Node], bool] = never, far: Collection[str] = (), numerics: str = PILOTLIGHT,
    ):
        self.specs = {bits: activation_spec(observer, bits) for bits in (8, 16)}
        self.as_recorded = samples_spec()
        self.keep_float, self.wide = keep_float, wide
        self.tflm = numerics == TFLM
        self.far = frozenset(far)  # names of tensors that no scale can hold
        self.bits: dict[Node, int] = {}  # of results that are quantized
        self.given: set[Node] = set()  # depend on the model's inputs or states
        self.source: dict[Node, Node] = {}  # of pointwise operators: the one tensor that they are a function of
        self.maker: dict[Node, Node] = {}  # of a clamp's result: the operator before it
        self.samples: set[Node] = set()  # 16-bit samples, before an operator that wants them
        self.recorded: set[Node] = set()  # those of an input of the model, perhaps moved

    def annotate(self, model: GraphModule) -> GraphModule:
        constant = Constants(model)
        for node in model.graph.nodes:
            if treatment(node).samples:
                self._find_samples(node.args[0])
        for node in model.graph.nodes:
            moved = isinstance(treatment(node).result, SharedScale) and set(_tensor_inputs(node)) <= self.recorded
            if node in self.samples and (node.op == "placeholder" or (moved and _tensor_inputs(node))):
                self.recorded.add(node)
        for node in model.graph.nodes:
            name, scale = operator_name(node), self._scale(node)
            if node.op == "placeholder":
                self.bits[node] = self._chosen(node)
            if node.op == "placeholder" or is_state(node) or any(a in self.given for a in node.all_input_nodes):
                self.given.add(node)
            if name is None or node not in self.given or KEY in node.meta or self.keep_float(node):
                continue
            if any(is_state(a) for a in node.all_input_nodes):
                continue
            if self._is_mask(constant, node, name):
                continue
            is_layer = isinstance(scale, DenseLayer | RecurrentLayer)
            if is_layer and not all(_is_finite(constant(a)) for a in node.all_input_nodes):
                continue
            if self._is_far(node):
                if isinstance(scale, FixedRange) and scale.hides:  # the one reader for which such numbers are made
                    self._annotate(node, {}, None, _fixed(scale, self._chosen(node)))
            elif isinstance(scale, RecurrentLayer):
                self._recurrent(node, scale)
            elif self._is_function(node):
                self.bits[node] = self._chosen(node)
            elif isinstance(scale, ReadOnly):
                self._read_only(node)
            elif isinstance(scale, SharedScale):
                self._shared(node)
            elif not _is_float(node):
                continue
            elif isinstance(scale, DenseLayer):
                self._dense(node, scale)
            elif isinstance(scale, FixedRange):
                self._mark(node, _fixed(scale, self._chosen(node)))
            elif isinstance(scale, OwnScale):
                self._mark(node, None, _only_clamp(node))
        for node in self.source:
            self._function(node)
        refer_to_one_root(model)
        return model

    def _scale(self, node: Node) -> ResultScale | None:
        """How the result of an operator gets its scale."""
        declared = treatment(node)
        return declared.tflm or declared.result if self.tflm else declared.result

    def _find_samples(self, reader: Node) -> None:
        """An operator's samples, and everything that they are made from."""
        waiting = [reader]
        while waiting:
            node = waiting.pop()
            if node not in self.samples:
                self.samples.add(node)
                waiting += node.all_input_nodes

    def _is_mask(self, constant: Constants, node: Node, name: str) -> bool:
        """A mask before a softmax becomes part of it: its low numbers get no scale."""
        x = None if self.tflm else masked_scores(constant, node, name)
        ranges = [treatment(user).result for user in node.users]
        hiding = [scale for scale in ranges if isinstance(scale, FixedRange) and scale.hides]
        if x is None or not ranges or len(hiding) != len(ranges) or _shape(x) != _shape(node):
            return False
        node.meta[KEY] = QuantizationAnnotation({x: self._read(x, 8)}, None, _annotated=True)
        for user, scale in zip(node.users, hiding, strict=True):
            self._annotate(user, {}, None, _fixed(scale, 8))
        return True

    def _is_far(self, node: Node) -> bool:
        """Whether a node reads or makes a tensor that stays float."""
        return node.name in self.far or any(x.name in self.far for x in _tensor_inputs(node))

    def _is_function(self, node: Node) -> bool:
        """Whether a node depends, element by element, on one tensor; remembers on which."""
        if not treatment(node).function:
            return False
        tensors = [a for a in node.all_input_nodes if not _is_number(a)]
        sources = {self.source.get(a, a) for a in tensors}
        if len(sources) != 1:
            return False
        source = sources.pop()
        if not _is_float(source) or _shape(source) != _shape(node):
            return False
        self.source[node] = source
        return True

    def _function(self, node: Node) -> None:
        """The function reads its source quantized; results that are read outside the function are quantized."""
        source, scale = self.source[node], treatment(node).result
        ends = any(self.source.get(user) is not source for user in node.users)
        # 16 bits have a table for single operators only, and TFLM has single operators
        alone = self.tflm or 16 in (self.bits[node], self.bits.get(source, 8))
        inputs = [a for a in node.all_input_nodes if a is source or (alone and a in self.source and _is_float(a))]
        output = None
        if _is_float(node) and (ends or alone):
            width = self.bits[node]
            output = _fixed(scale, width) if isinstance(scale, FixedRange) else self.specs[width]
        specs = {a: self._read(a, self.bits[node]) for a in inputs}
        node.meta[KEY] = QuantizationAnnotation(specs, output, _annotated=True)

    def _read_only(self, node: Node) -> None:
        inputs = _tensor_inputs(node)
        if not inputs:
            return
        specs: dict[Node, Any] = {inputs[0]: self._read(inputs[0], self._chosen(node))}
        specs |= dict.fromkeys(inputs[1:], SharedQuantizationSpec((inputs[0], node)))
        node.meta[KEY] = QuantizationAnnotation(specs, None, _annotated=True)

    def validate(self, model: GraphModule) -> None:
        """Every annotation above has an integer form."""

    def _chosen(self, *nodes: Node) -> int:
        """The width of a result that several operators make together."""
        return 16 if any(self.wide(node) or node in self.samples for node in nodes) else 8

    def _read(self, x: Node, reader: int) -> QuantizationSpec:
        """How a tensor is read: as it was written; if nobody quantized it, with the reader's own width."""
        return self.as_recorded if x in self.recorded else self.specs[self.bits.get(x, reader)]

    def _annotate(self, node: Node, inputs: dict[Node, Any], clamp: Node | None, output: Any = None) -> None:
        """An operator and the clamp after it, whose result is then the only one quantized."""
        last = clamp or node
        self.bits[last] = self._chosen(node, last)
        spec = output or self.specs[self.bits[last]]
        node.meta[KEY] = QuantizationAnnotation(inputs, None if clamp else spec, _annotated=True)
        if clamp is not None:
            clamp.meta[KEY] = QuantizationAnnotation({}, spec, _annotated=True)
            self.maker[clamp] = node

    def _dense(self, node: Node, scale: DenseLayer) -> None:
        x, weight = node.args[:2]
        if not isinstance(weight, Node) or weight.op != "get_attr":
            return
        assert isinstance(x, Node)
        clamp = _only_clamp(node)
        width = self._chosen(node, *([clamp] if clamp else []))
        specs = {x: self._read(x, width), weight: weight_spec(scale.channels)}
        self._annotate(node, specs, clamp)

    def _recurrent(self, node: Node, scale: RecurrentLayer) -> None:
        """The sequence in and out; weights are quantized where the layer becomes integer. A given hidden state has the
        scale of the output."""
        x, states = node.args[:2]
        assert isinstance(x, Node)
        width = self._chosen(node)
        inputs: dict[Node, Any] = {x: self.specs[width]}
        output: Any = self.specs[width]
        hidden = states[0] if isinstance(states, list | tuple) else states
        if isinstance(hidden, Node) and hidden is not x and hidden in self.given:
            inputs[hidden] = self.specs[width]
            output = SharedQuantizationSpec((hidden, node))
        node.meta[KEY] = QuantizationAnnotation(inputs, output if _is_float(node) else None, _annotated=True)
        for user in node.users if not _is_float(node) else ():
            if user.args[1] in range(scale.hidden):  # outputs and last hidden states
                self.bits[user] = width
                user.meta[KEY] = QuantizationAnnotation({}, output, _annotated=True)
                output = output if isinstance(output, SharedQuantizationSpec) else SharedQuantizationSpec(user)

    def _shared(self, node: Node) -> None:
        """Data that is only moved keeps its scale; all inputs of a concatenation get one, the widest."""
        inputs = _tensor_inputs(node)
        if not inputs:
            return
        width = self._chosen(node)
        self.bits[node] = max(self.bits.get(x, width) for x in inputs)
        recorded = inputs[0] in self.recorded
        specs: dict[Node, Any] = {inputs[0]: self.as_recorded if recorded else self.specs[self.bits[node]]}
        shared = SharedQuantizationSpec((inputs[0], node))
        specs |= dict.fromkeys(inputs[1:], shared)
        node.meta[KEY] = QuantizationAnnotation(specs, shared if _is_float(node) else None, _annotated=True)
        for part in node.users if not isinstance(node.meta.get("val"), torch.Tensor) else ():
            if _is_float(part):  # one of several results
                self.bits[part] = self.bits[node]
                part.meta[KEY] = QuantizationAnnotation({}, shared, _annotated=True)

    def _mark(self, node: Node, output: Any, clamp: Node | None = None) -> None:
        width = self._chosen(node, *([clamp] if clamp else []))
        inputs = {x: self._read(x, 16 if x in self.samples else width) for x in _tensor_inputs(node)}
        self._annotate(node, inputs, clamp, output)


def _fixed(scale: FixedRange, bits: int) -> FixedQParamsQuantizationSpec:
    """Results whose range is known: 0..1 or -1..1."""
    if bits == 16:
        return FixedQParamsQuantizationSpec(torch.int16, 1 / 32768, 0, -32768, 32767)
    return FixedQParamsQuantizationSpec(torch.int8, scale.scale, scale.zero_point, -128, 127)


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _shape(node: Node) -> tuple[int, ...] | None:
    value = node.meta.get("val")
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _is_finite(parameter: torch.Tensor | None) -> bool:
    return parameter is None or bool(parameter.isfinite().all())


def _is_number(node: Node) -> bool:
    """A constant of one element."""
    value = node.meta.get("val")
    return node.op == "get_attr" and isinstance(value, torch.Tensor) and value.numel() == 1


def _tensor_inputs(node: Node) -> list[Node]:
    """Inputs that are activations; a norm's own parameters stay as they are."""
    items: list[Any] = []
    for arg in node.args[: treatment(node).activations]:
        items += arg if isinstance(arg, list | tuple) else [arg]
    return list(dict.fromkeys(a for a in items if isinstance(a, Node) and _is_float(a)))


def _only_clamp(node: Node) -> Node | None:
    """The activation that is the only reader of a result: the two become one integer operator."""
    users = list(node.users)
    return users[0] if len(users) == 1 and treatment(users[0]).clamp else None
