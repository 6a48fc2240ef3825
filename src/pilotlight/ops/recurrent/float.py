"""LSTM, GRU and plain recurrent layers: one node per layer and direction.

x is (T, N, I), or (N, T, I) with attrs["batch_first"]; y likewise with H. The weights are PyTorch's until
`prepare` packs them as those of linear layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.graph import FLOAT32, Graph, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.kernels import pack_f32
from pilotlight.ops.base import Op, Result, lowers, register
from pilotlight.ops.quantizing import RecurrentLayer, Treatment

Tensors = list[torch.Tensor]


class Recurrent(Op):
    """inputs: x, w_x (G * H, I), w_h (G * H, H), biases (2, G * H) if attrs["bias"], then the initial states
    (N, H) if attrs["initial"]; outputs: y and the final states (N, H). further attrs: hidden, reverse,
    batch_first."""

    gates = 1
    states = 1

    def _sizes(self, node: Node) -> tuple[int, int, int, int]:
        """Steps, batch, input, hidden."""
        first, second, width = node.inputs[0].shape
        steps, batch = (second, first) if node.attrs["batch_first"] else (first, second)
        return steps, batch, width, node.attrs["hidden"]

    def infer(self, node: Node) -> Result:
        _, batch, _, hidden = self._sizes(node)
        return [(FLOAT32, (*node.inputs[0].shape[:2], hidden))] + [(FLOAT32, (batch, hidden))] * self.states

    def macs(self, node: Node) -> int:
        steps, batch, width, hidden = self._sizes(node)
        return steps * batch * self.gates * hidden * (width + hidden)

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        _, batch, _, hidden = self._sizes(node)
        x, w_x, w_h, *rest = args
        biases = list(rest.pop(0)) if node.attrs["bias"] else []
        initial = rest if node.attrs["initial"] else [torch.zeros(batch, hidden, dtype=x.dtype)] * self.states
        time = 1 if node.attrs["batch_first"] else 0
        x = x.flip(time) if node.attrs["reverse"] else x
        y, *final = self.run(node, x, [v.unsqueeze(0) for v in initial], [w_x, w_h, *biases])
        return (y.flip(time) if node.attrs["reverse"] else y, *(v.squeeze(0) for v in final))

    def run(self, node: Node, x: torch.Tensor, initial: Tensors, weights: Tensors) -> Sequence[torch.Tensor]:
        """PyTorch's own layer."""
        raise NotImplementedError

    def options(self, node: Node) -> tuple[bool, int, float, bool, bool, bool]:
        """Has biases, layers, dropout, training, bidirectional, batch first."""
        return bool(node.attrs["bias"]), 1, 0.0, False, False, bool(node.attrs["batch_first"])

    def bias(self, biases: np.ndarray) -> np.ndarray:
        """(2, G * H) as the kernel wants it: the sum of the two."""
        return biases.sum(0)

    def scratch(self, node: Node) -> int:
        return 4 * self.gates * int(node.attrs["hidden"])

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        packs = [pack_f32.pack_linear, pack_f32.pack_linear, self.bias][: 3 if node.attrs["bias"] else 2]
        for i, pack in enumerate(packs, 1):
            data = node.inputs[i].data
            assert data is not None
            node.inputs[i] = graph.constant(pack(data), node.inputs[i].name)

    def biases(self, node: Node, c: Step) -> list[str]:
        return [c.read(node.inputs[3]) if node.attrs["bias"] else "0"]

    def extra(self, node: Node, c: Step) -> list[str]:
        """The kernel's last arguments."""
        return [c.scratch()]

    def emit(self, node: Node, c: Step) -> None:
        steps, batch, width, hidden = self._sizes(node)
        fields: dict[str, int | bool] = {"steps": steps, "batch": batch, "input": width, "hidden": hidden}
        for letter, size in (("x", width), ("y", hidden)):
            along_steps, along_batch = (1, steps) if node.attrs["batch_first"] else (batch, 1)
            fields |= {f"{letter}_step": along_steps * size, f"{letter}_batch": along_batch * size}
        fields["reverse"] = node.attrs["reverse"]
        for inputs in (width, hidden):
            c.micro |= pack_f32.micro_kernels(pack_f32.LinearShape(1, inputs, self.gates * hidden))
        weights = [c.read(v) for v in node.inputs[:3]]
        initial = [c.read(v) for v in node.inputs[-self.states :]] if node.attrs["initial"] else ["0"] * self.states
        results = [c.write(v) for v in node.outputs]
        c.use(f"{self.name}_f32")
        table = c.table("pl_recurrent_t", self.name, fields)
        extra = self.extra(node, c)
        c.call(f"pl_{self.name}_f32", table, *weights, *self.biases(node, c), *initial, *results, *extra)


@register
class Lstm(Recurrent):
    """The gates are i, f, g, o; states h and c."""

    name = "lstm"
    gates = 4
    states = 2

    def run(self, node: Node, x: torch.Tensor, initial: Tensors, weights: Tensors) -> Sequence[torch.Tensor]:
        return torch.lstm(x, initial, weights, *self.options(node))


@register
class Gru(Recurrent):
    """The gates are r, z, n; the two biases stay separate, because r multiplies one part of n."""

    name = "gru"
    gates = 3

    def run(self, node: Node, x: torch.Tensor, initial: Tensors, weights: Tensors) -> Sequence[torch.Tensor]:
        return torch.gru(x, initial[0], weights, *self.options(node))

    def bias(self, biases: np.ndarray) -> np.ndarray:
        return biases

    def scratch(self, node: Node) -> int:
        return 2 * super().scratch(node)

    def biases(self, node: Node, c: Step) -> list[str]:
        if not node.attrs["bias"]:
            return ["0", "0"]
        both = c.read(node.inputs[3])
        return [both, f"{both} + {3 * node.attrs['hidden']}"]


@register
class Rnn(Recurrent):
    """further attrs: relu, else tanh."""

    name = "rnn"

    def run(self, node: Node, x: torch.Tensor, initial: Tensors, weights: Tensors) -> Sequence[torch.Tensor]:
        layer = torch.rnn_relu if node.attrs["relu"] else torch.rnn_tanh
        return layer(x, initial[0], weights, *self.options(node))

    def scratch(self, node: Node) -> int:
        return 0

    def extra(self, node: Node, c: Step) -> list[str]:
        return [str(int(node.attrs["relu"]))]


# ---- ATen --------------------------------------------------------------------------------------------------


def _row(b: Builder, state: Value, row: int) -> Value:
    """One layer's and direction's (N, H) of (rows, N, H)."""
    ranges = ((row, row + 1, 1), *((0, size, 1) for size in state.shape[1:]))
    part = state if state.shape[0] == 1 else b.node("slice", [state], ranges=ranges)
    return b.reshape(part, state.shape[1:])


def _stack(
    b: Builder, name: str, input: Value, hx: Sequence[Value], params: Sequence[Value], has_biases: bool,
    num_layers: int, train: bool, bidirectional: bool, batch_first: bool, **attrs: bool,
) -> tuple[Value, ...]:
    """All layers and directions; returns the output and the final states as PyTorch stacks them."""
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    if len(params) != each * num_layers * directions:
        raise b.refuse(f"{name} with projections is not supported; expected {each} weights a layer")
    if train:
        raise b.refuse(f"{name} in training mode is not supported", "call module.eval() first")
    flat = len(input.shape) == 2
    x = b.reshape(input, (input.shape[0], 1, input.shape[1])) if flat else input
    first = batch_first and not flat
    states = [b.reshape(h, (h.shape[0], 1, h.shape[1])) if len(h.shape) == 2 else h for h in hx]
    final: list[list[Value]] = [[] for _ in hx]
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            row = layer * directions + direction
            w = [b.need_constant(p, f"a weight of {name}") for p in params[each * row : each * (row + 1)]]
            inputs = [x, *(b.constant(v, hint=f"{name}_weight") for v in w[:2])]
            inputs += [b.constant(np.stack(w[2:]), hint=f"{name}_bias")] if has_biases else []
            start = [s.data is None or bool(s.data[row].any()) for s in states]
            inputs += [_row(b, s, row) for s in states] if any(start) else []
            y, *last = b.nodes(
                name, inputs, None, hidden=w[1].shape[1], bias=has_biases, initial=any(start),
                reverse=direction == 1, batch_first=first, **attrs,
            )
            outputs.append(y)
            for kept, value in zip(final, last, strict=True):
                kept.append(b.reshape(value, (1, *value.shape)))
        x = outputs[0] if directions == 1 else b.node("concat", outputs, axis=2)
    stacked = [v[0] if len(v) == 1 else b.node("concat", v, axis=0) for v in final]
    return tuple(b.reshape(v, shape) for v, (_, shape) in zip([x, *stacked], b.results, strict=True))


@lowers("lstm.input", quantized=Treatment(RecurrentLayer()))
def lstm(b: Builder, input: Value, hx: Sequence[Value], dropout: float, **rest: Any) -> tuple[Value, ...]:
    return _stack(b, "lstm", input, hx, **rest)


@lowers("gru.input", quantized=Treatment(RecurrentLayer()))
def gru(b: Builder, input: Value, hx: Value, dropout: float, **rest: Any) -> tuple[Value, ...]:
    return _stack(b, "gru", input, [hx], **rest)


@lowers("rnn_tanh.input")
def rnn_tanh(b: Builder, input: Value, hx: Value, dropout: float, **rest: Any) -> tuple[Value, ...]:
    return _stack(b, "rnn", input, [hx], relu=False, **rest)


@lowers("rnn_relu.input")
def rnn_relu(b: Builder, input: Value, hx: Value, dropout: float, **rest: Any) -> tuple[Value, ...]:
    return _stack(b, "rnn", input, [hx], relu=True, **rest)


def _cell(b: Builder, name: str, input: Value, hx: Sequence[Value], params: Sequence[Value | None]) -> list[Value]:
    """One step of one layer; the states after it, (N, H) or (H)."""
    rows = [b.reshape(v, (1, v.elements)) if len(v.shape) == 1 else v for v in (input, *hx)]
    weights = [v for v in params if v is not None]
    step = b.reshape(rows[0], (1, *rows[0].shape))
    w = [b.need_constant(v, f"a weight of {name}") for v in weights]
    inputs = [step, *(b.constant(v, hint=f"{name}_weight") for v in w[:2])]
    inputs += [b.constant(np.stack(w[2:]), hint=f"{name}_bias")] if len(w) > 2 else []
    y, *states = b.nodes(
        name, [*inputs, *rows[1:]], None, hidden=w[1].shape[1], bias=len(w) > 2, initial=True, reverse=False,
        batch_first=False,
    )
    return [b.reshape(v, shape) for v, (_, shape) in zip([y, *states[1:]], b.results, strict=True)]


@lowers("lstm_cell.default", quantized=Treatment(RecurrentLayer(hidden=1)))
def lstm_cell(
    b: Builder, input: Value, hx: Sequence[Value], w_ih: Value, w_hh: Value, b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> tuple[Value, ...]:
    return tuple(_cell(b, "lstm", input, hx, [w_ih, w_hh, b_ih, b_hh]))


@lowers("gru_cell.default", quantized=Treatment(RecurrentLayer()))
def gru_cell(
    b: Builder, input: Value, hx: Value, w_ih: Value, w_hh: Value, b_ih: Value | None = None, b_hh: Value | None = None
) -> Value:
    return _cell(b, "gru", input, [hx], [w_ih, w_hh, b_ih, b_hh])[0]
