"""Random modules over time that are no chains: cuts, padding, joins of what was cut differently, all kinds of ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lcm

import torch
import torch.nn.functional as F
from torch import nn

LENGTH = 144  # samples of an example: all strides divide it
Values = Sequence[torch.Tensor]
Statement = Callable[["Tangle", Values], torch.Tensor]
ENDS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "frames": lambda x: x * 1,
    "mean": lambda x: x.mean(-1),
    "last": lambda x: x[..., -1],
    "largest of the last": lambda x: x[..., -3:].amax(-1),
}


@dataclass(frozen=True)
class Over:
    """What a value is: channels, frames, and samples from one frame to the next."""

    channels: int
    frames: int
    rate: int


class Tangle(nn.Module):
    """Each statement takes earlier values (1, channels, frames) and makes one more."""

    def __init__(self, seed: int, recurrent: bool = False):
        super().__init__()
        self.r = random.Random(seed)
        torch.manual_seed(seed)
        self.parts = nn.ModuleList()
        self.inputs = self.r.choice([1, 1, 2])
        self.values = [Over(2, LENGTH, 1)] * self.inputs
        self.statements: list[Statement] = []
        kinds = [self._convolution] * 3 + [self._pad, self._front, self._end, self._pool, self._scale, self._windows,
                 self._change, self._every_other] + [self._join] * 3
        if recurrent:
            kinds += [self._recurrent] * 2
        for _ in range(self.r.randrange(3, 9)):
            self.r.choice(kinds)(self.r.randrange(max(0, len(self.values) - 3), len(self.values)))
        more = [self.r.randrange(len(self.values))] if self.r.random() < 0.3 else []
        self.ends = [(at, self.r.choice(["frames", *ENDS])) for at in (len(self.values) - 1, *more)]
        self.stride = lcm(*(value.rate for value in self.values))

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = list(inputs)
        for statement in self.statements:
            values.append(statement(self, values))
        return tuple(ENDS[kind](values[at]) for at, kind in self.ends)

    def _add(self, made: Over, statement: Statement) -> None:
        self.values.append(made)
        self.statements.append(statement)

    def _stride(self, rate: int, *choices: int) -> int:
        return self.r.choice(choices) if rate < 6 else 1

    def _part(self, part: nn.Module) -> int:
        """Its place: a copy of the module has parts of its own."""
        self.parts.append(part)
        return len(self.parts) - 1

    def _convolution(self, at: int) -> None:
        x, r = self.values[at], self.r
        size, apart, stride = r.choice([1, 2, 3, 5]), r.choice([1, 2]), self._stride(x.rate, 1, 1, 2, 3)
        reach = (size - 1) * apart
        padding = min(r.choice([0, 0, 1, reach // 2, reach]), reach)
        channels = r.choice([2, 3])
        part = self._part(nn.Conv1d(x.channels, channels, size, stride, padding, apart))
        frames = (x.frames + 2 * padding - reach - 1) // stride + 1
        self._add(Over(channels, frames, x.rate * stride), lambda net, v: net.parts[part](v[at]))

    def _pad(self, at: int) -> None:
        x, (before, after) = self.values[at], (self.r.choice([0, 1, 3]), self.r.choice([0, 2]))
        number = self.r.choice([0.0, 0.0, 0.7])
        self._add(Over(x.channels, x.frames + before + after, x.rate),
                  lambda net, v: F.pad(v[at], (before, after), value=number))

    def _front(self, at: int) -> None:
        x, cut = self.values[at], self.r.randrange(4)
        self._add(Over(x.channels, x.frames - cut, x.rate), lambda net, v: v[at][..., cut:])

    def _end(self, at: int) -> None:
        x, cut = self.values[at], self.r.randrange(1, 4)
        self._add(Over(x.channels, x.frames - cut, x.rate), lambda net, v: v[at][..., :-cut])

    def _pool(self, at: int) -> None:
        x, r = self.values[at], self.r
        size, padding, ceil, counted = r.choice([2, 3]), r.choice([0, 1]), r.random() < 0.3, r.random() < 0.5
        stride = self._stride(x.rate, 1, size)
        pool = r.choice([nn.MaxPool1d(size, stride, padding, ceil_mode=ceil),
                         nn.AvgPool1d(size, stride, padding, ceil, counted)])
        frames, part = pool(torch.zeros(1, 1, x.frames)).shape[-1], self._part(pool)
        self._add(Over(x.channels, frames, x.rate * stride), lambda net, v: net.parts[part](v[at]))

    def _scale(self, at: int) -> None:
        name = f"weight{len(self.statements)}"
        self.register_parameter(name, nn.Parameter(torch.randn(1, self.values[at].channels, 1)))
        self._add(self.values[at], lambda net, v: torch.tanh(v[at] * getattr(net, name) + 0.3))

    def _windows(self, at: int) -> None:
        x, size, step = self.values[at], self.r.choice([2, 3, 4]), self._stride(self.values[at].rate, 1, 2)
        self._add(Over(x.channels, (x.frames - size) // step + 1, x.rate * step),
                  lambda net, v: v[at].unfold(-1, size, step).amax(-1))

    def _change(self, at: int) -> None:
        x = self.values[at]
        self._add(Over(x.channels, x.frames - 1, x.rate), lambda net, v: v[at].diff(dim=-1))

    def _every_other(self, at: int) -> None:
        x, step = self.values[at], self._stride(self.values[at].rate, 2)
        self._add(Over(x.channels, -(-x.frames // step), x.rate * step), lambda net, v: v[at][..., ::step])

    def _recurrent(self, at: int) -> None:
        x = self.values[at]
        layer = self._part(self.r.choice([nn.GRU, nn.LSTM, nn.RNN])(x.channels, 3, batch_first=True))
        self._add(Over(3, x.frames, x.rate), lambda net, v: net.parts[layer](v[at].transpose(1, 2))[0].transpose(1, 2))

    def _join(self, at: int) -> None:
        """With another value of the same rate: the longer one is cut, in front or at its end."""
        x = self.values[at]
        others = [k for k, y in enumerate(self.values)
                  if y.rate == x.rate and k != at and abs(y.frames - x.frames) < 12]
        if not others:
            return
        other, front, added = self.r.choice(others), self.r.random() < 0.5, self.r.random() < 0.5
        y = self.values[other]
        cut = [max(x.frames - y.frames, 0), max(y.frames - x.frames, 0)]

        def both(v: Values) -> list[torch.Tensor]:
            pair = zip((v[at], v[other]), cut, strict=True)
            return [z if not n else z[..., n:] if front else z[..., :-n] for z, n in pair]

        frames = min(x.frames, y.frames)
        if added and x.channels == y.channels:
            self._add(Over(x.channels, frames, x.rate), lambda net, v: both(v)[0] * 0.5 + both(v)[1])
        else:
            self._add(Over(x.channels + y.channels, frames, x.rate), lambda net, v: torch.cat(both(v), 1))
