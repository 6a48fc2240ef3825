"""LSTM, GRU and RNN: PyTorch's own layers where they are the same, else a loop over the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.control import scanned
from pilotlight.capture.onnx.registry import operator

_Gate = Callable[[Tensor], Tensor]
_TO_PYTORCH = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}  # the order of gates


@dataclass(frozen=True)
class Cell:
    """What the three kinds of layers have in common."""

    kind: str
    x: Tensor
    weight: Tensor  # (direction, gates of hidden, input)
    recurrent: Tensor
    bias: Tensor | None
    lengths: Tensor | None
    start: tuple[Tensor | None, ...]
    peepholes: Tensor | None
    hidden: int
    direction: str
    layout: int
    activations: list[str]
    alphas: list[float]
    betas: list[float]
    clip: float
    constants: set[str]
    linear_before_reset: int = 0
    input_forget: int = 0

    @property
    def directions(self) -> int:
        return self.weight.shape[0]

    def _check(self, x: Tensor) -> None:
        """PyTorch's kernels trust the shapes that they are given."""
        n, h, d = len(_TO_PYTORCH[self.kind]), self.hidden, _directions(self.direction)
        gates = n * h
        wanted = [("x", x, (*x.shape[:2], self.weight.shape[-1])), ("w", self.weight, (d, gates, x.shape[-1])),
                  ("r", self.recurrent, (d, gates, h)), ("b", self.bias, (d, 2 * gates)),
                  ("p", self.peepholes, (d, 3 * h)), ("sequence_lens", self.lengths, (x.shape[1],))]
        batch = (x.shape[1], d, h) if self.layout else (d, x.shape[1], h)
        for name, tensor, shape in [*wanted, *(("an initial state", state, batch) for state in self.start)]:
            if tensor is not None and tuple(tensor.shape) != tuple(shape):
                raise NotImplementedError(f"{name} of shape {list(tensor.shape)}; expected {list(shape)}")

    def run(self) -> tuple[Tensor, ...]:
        x = self.x.transpose(0, 1) if self.layout else self.x  # (step, batch, input)
        self._check(x)
        states = []
        for given in self.start:
            zeros = torch.zeros(self.directions, x.shape[1], self.hidden, dtype=x.dtype)
            moved = given.transpose(0, 1) if given is not None and self.layout else given
            states.append(zeros if moved is None else moved)
        y, *ends = self._layer(x, states) if self._is_pytorch() else self._loop(x, states)
        if self.layout:
            return (y.permute(2, 0, 1, 3), *(end.transpose(0, 1) for end in ends))
        return (y, *ends)

    def _is_pytorch(self) -> bool:
        usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[self.kind]
        plain = self.activations == usual * self.directions or (
            self.kind == "RNN" and self.activations == ["Relu"] * self.directions)
        held = {"w", "r"} <= self.constants and (self.bias is None or "b" in self.constants)  # as the kernels want them
        return held and plain and self.lengths is None and self.peepholes is None and not self.clip \
            and not self.input_forget and (self.kind != "GRU" or bool(self.linear_before_reset))

    def _gates(self, rows: Tensor) -> Tensor:
        """Rows by gate, in PyTorch's order."""
        parts = rows.chunk(len(_TO_PYTORCH[self.kind]))
        return torch.cat([parts[k] for k in _TO_PYTORCH[self.kind]])

    def _layer(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        parameters: list[Tensor] = []
        for k in range(self.directions):
            parameters += [self._gates(self.weight[k]), self._gates(self.recurrent[k])]
            if self.bias is not None:
                parameters += [self._gates(part) for part in self.bias[k].chunk(2)]
        backward = self.direction == "reverse"
        options = (parameters, self.bias is not None, 1, 0.0, False, self.direction == "bidirectional", False)
        x = x.flip(0) if backward else x
        if self.kind == "LSTM":
            y, *ends = torch._VF.lstm(x, tuple(states), *options)
        else:
            name = "gru" if self.kind == "GRU" else f"rnn_{self.activations[0].lower()}"
            y, *ends = getattr(torch._VF, name)(x, states[0], *options)
        y = y.reshape(*y.shape[:2], self.directions, self.hidden).transpose(1, 2)
        return (y.flip(0) if backward else y, *ends)

    def _loop(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, ...]:
        rows, ends = [], []
        for k in range(self.directions):
            backward = self.direction == "reverse" or k == 1
            y, *last = self._steps(x, [state[k] for state in states], k, backward)
            rows.append(y)
            ends.append(last)
        return (torch.stack(rows, 1), *(torch.stack(parts) for parts in zip(*ends, strict=True)))

    def _steps(self, x: Tensor, states: list[Tensor], k: int, backward: bool) -> tuple[Tensor, ...]:
        """All steps in one direction; those after the end of a sequence change nothing."""
        xs = [x.flip(0).contiguous() if backward else x.contiguous()]
        if self.lengths is not None:
            first = torch.arange(x.shape[0])
            xs.append(first.flip(0) if backward else first)
        count = len(states)
        more = [self.weight[k].contiguous(), self.recurrent[k].contiguous()]
        more += [self.bias[k].contiguous()] if self.bias is not None else []
        more += [self.lengths.to(torch.int64)] if self.lengths is not None else []
        more += [self.peepholes[k].contiguous()] if self.peepholes is not None else []

        def step(*given: Tensor) -> list[Tensor]:
            before, row, rest = given[:count], given[count], list(given[count + 1 :])
            number = rest.pop(0) if self.lengths is not None else None
            weight, recurrent = rest.pop(0), rest.pop(0)
            bias = rest.pop(0) if self.bias is not None else None
            lengths = rest.pop(0) if self.lengths is not None else None
            peepholes = rest.pop(0) if self.peepholes is not None else None
            after = self._step(row, before, weight, recurrent, bias, peepholes, k)
            out = after[0]
            if lengths is not None and number is not None:
                going = (number < lengths)[:, None]
                after = [torch.where(going, new, old) for new, old in zip(after, before, strict=True)]
                out = torch.where(going, out, torch.zeros_like(out))
            return [*(part.clone() for part in after), out.clone()]

        *last, y = scanned(step, states, xs, more)
        return (y.flip(0) if backward else y, *last)

    def _step(
        self, x: Tensor, states: Any, weight: Tensor, recurrent: Tensor, bias: Tensor | None,
        peepholes: Tensor | None, k: int,
    ) -> list[Tensor]:
        h, n = states[0], len(self.activations) // self.directions
        act = [self._activation(k * n + at) for at in range(n)]
        own, other = bias.chunk(2) if bias is not None else (None, None)
        if self.kind == "RNN":
            return [act[0](F.linear(x, weight, own) + F.linear(h, recurrent, other))]
        if self.kind == "GRU":
            xs = F.linear(x, weight, own).chunk(3, -1)
            rz, rr, rh = recurrent.chunk(3)
            bz, br, bh = other.chunk(3) if other is not None else (None, None, None)
            z = act[0](xs[0] + F.linear(h, rz, bz))
            r = act[0](xs[1] + F.linear(h, rr, br))
            inner = r * F.linear(h, rh, bh) if self.linear_before_reset else F.linear(r * h, rh, bh)
            return [(1 - z) * act[1](xs[2] + inner) + z * h]
        c = states[1]
        i, o, f, g = (F.linear(x, weight, own) + F.linear(h, recurrent, other)).chunk(4, -1)
        pi, po, pf = peepholes.chunk(3) if peepholes is not None else (0.0, 0.0, 0.0)
        i = act[0](i + pi * c)
        f = 1 - i if self.input_forget else act[0](f + pf * c)
        c = f * c + i * act[1](g)
        o = act[0](o + po * c)
        return [o * act[2](c), c]

    def _activation(self, at: int) -> _Gate:
        name = self.activations[at]
        alpha = self.alphas[at] if at < len(self.alphas) else None
        beta = self.betas[at] if at < len(self.betas) else None
        function = _ACTIVATIONS.get(name)
        if function is None:
            raise NotImplementedError(f"the activation {name}")
        limit = self.clip

        def gate(x: Tensor) -> Tensor:
            return function(x.clamp(-limit, limit) if limit else x, alpha, beta)

        return gate


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


_ACTIVATIONS: dict[str, Callable[[Tensor, float | None, float | None], Tensor]] = {
    "Sigmoid": lambda x, a, b: torch.sigmoid(x), "Tanh": lambda x, a, b: torch.tanh(x),
    "Relu": lambda x, a, b: torch.relu(x), "Softplus": lambda x, a, b: F.softplus(x),
    "Softsign": lambda x, a, b: F.softsign(x), "Affine": lambda x, a, b: _or(a, 1.0) * x + _or(b, 0.0),
    "LeakyRelu": lambda x, a, b: F.leaky_relu(x, _or(a, 0.01)), "Elu": lambda x, a, b: F.elu(x, _or(a, 1.0)),
    "ThresholdedRelu": lambda x, a, b: torch.where(x > _or(a, 1.0), x, 0),
    "ScaledTanh": lambda x, a, b: _or(a, 1.0) * torch.tanh(_or(b, 1.0) * x),
    "HardSigmoid": lambda x, a, b: (_or(a, 0.2) * x + _or(b, 0.5)).clamp(0, 1),
}


def _lengths(lengths: Tensor | list[int] | None, x: Tensor, layout: int) -> Tensor | None:
    """Lengths of sequences; None where all of them are whole."""
    if isinstance(lengths, list):
        whole = x.shape[1 if layout else 0]
        return None if all(n >= whole for n in lengths) else torch.tensor(lengths)
    return lengths


def _directions(direction: str) -> int:
    return 2 if direction == "bidirectional" else 1


@operator("LSTM", numbers=("sequence_lens",))
def lstm(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, sequence_lens: Tensor | list[int] | None = None,
    initial_h: Tensor | None = None, initial_c: Tensor | None = None, p: Tensor | None = None, *,
    activation_alpha: list[float] | None = None, activation_beta: list[float] | None = None,
    activations: list[str] | None = None, clip: float = 0.0, direction: str = "forward", hidden_size: int = 0,
    input_forget: int = 0, layout: int = 0, constants: set[str],
) -> tuple[Tensor, ...]:
    gates = activations or ["Sigmoid", "Tanh", "Tanh"] * _directions(direction)
    return Cell("LSTM", x, w, r, b, _lengths(sequence_lens, x, layout), (initial_h, initial_c), p, r.shape[2],
                direction, layout, gates, activation_alpha or [], activation_beta or [], clip, constants,
                input_forget=input_forget).run()


@operator("GRU", numbers=("sequence_lens",))
def gru(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, sequence_lens: Tensor | list[int] | None = None,
    initial_h: Tensor | None = None, *, activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None, activations: list[str] | None = None, clip: float = 0.0,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0, linear_before_reset: int = 0,
    constants: set[str],
) -> tuple[Tensor, ...]:
    gates = activations or ["Sigmoid", "Tanh"] * _directions(direction)
    return Cell("GRU", x, w, r, b, _lengths(sequence_lens, x, layout), (initial_h,), None, r.shape[2], direction,
                layout, gates, activation_alpha or [], activation_beta or [], clip, constants,
                linear_before_reset).run()


@operator("RNN", numbers=("sequence_lens",))
def rnn(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, sequence_lens: Tensor | list[int] | None = None,
    initial_h: Tensor | None = None, *, activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None, activations: list[str] | None = None, clip: float = 0.0,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0, constants: set[str],
) -> tuple[Tensor, ...]:
    gates = (activations or ["Tanh"] * 2)[: _directions(direction)]
    return Cell("RNN", x, w, r, b, _lengths(sequence_lens, x, layout), (initial_h,), None, r.shape[2], direction,
                layout, gates, activation_alpha or [], activation_beta or [], clip, constants).run()
