"""Models that torch.jit.script takes: with state, loops, dictionaries and decisions."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Filter(nn.Module):
    """State in an attribute, set anew at every call; lists, loops, dictionaries, a method."""

    def __init__(self) -> None:
        super().__init__()
        self.h = torch.ones(1, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.gains = [0.5, 2.0]

    def mixed(self, parts: dict[str, Tensor]) -> Tensor:
        return parts["old"] - parts["new"]

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        old = self.h
        seen: list[Tensor] = []
        for gain in self.gains:
            for layer in self.layers:
                x = torch.tanh(layer(x)) * gain
            seen.append(x)
        self.h = 0.5 * self.h + seen[0]
        return {"h": self.h, "mixed": self.mixed({"old": old, "new": self.h}), "all": torch.cat(seen, 1)}


class Lazy(nn.Module):
    """State that the first call makes: None, an empty tensor, a tuple."""

    h: Tensor | None
    pair: tuple[Tensor, Tensor] | None

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.start = start
        self.h = None
        self.pair = None
        self.empty = torch.zeros(0)
        self.last = 0
        self.cell = nn.GRUCell(3, 5)

    def forward(self, x: Tensor) -> Tensor:
        if self.last != x.shape[1]:
            self.h = None
            self.last = x.shape[1]
        h = self.h
        if h is None:
            h = torch.full([1, 5], self.start)
        h = self.cell(x, h)
        if len(self.empty) == 0:
            self.empty = torch.zeros(1, 5)
        pair = self.pair
        if pair is not None:
            first, second = pair
        else:
            first, second = torch.zeros(1, 5), torch.zeros(1, 5)
        self.pair = (second + h, first * 0.5)
        self.empty = self.empty * 0.9 + h
        self.h = h
        return torch.cat([h, self.empty, first], 1)


class Wave(nn.Module):
    """Written in place: a ring buffer, and an input that stays as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ring", torch.zeros(1, 6))

    def forward(self, x: Tensor, scale: int = 3) -> tuple[Tensor, Tensor]:
        self.ring.copy_(torch.cat([self.ring[:, 2:], x], 1))
        y = x.clone()
        y += scale
        i = 0
        while i < y.shape[1] and scale > 0:
            y[:, i] *= float(i + 1)
            i += 1
        return y, self.ring.sum(1)


class Point(NamedTuple):
    x: Tensor
    y: Tensor


class Points(nn.Module):
    def forward(self, x: Tensor) -> Point:
        parts = torch.chunk(x, 2, 1)
        return Point(parts[0], x.reshape(x.size(0), -1, 2).sum(-1))


class Sizes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        half = x.shape[1] // 2
        y = x.view(x.shape[0], 2, half).mean(1)
        if half > 3:
            y = y * x.shape[0]
        return torch.cat([y, x[:, :half] + torch.arange(half)], dim=-1)


class Gate(nn.Module):
    """Decides by data: with layers in the branches, state that one of them sets, and conditions that are joined."""

    def __init__(self) -> None:
        super().__init__()
        self.high = nn.Linear(4, 4)
        self.low = nn.Linear(4, 4)
        self.level = torch.zeros(1)
        self.peak = torch.zeros(1)

    def raised(self, x: Tensor) -> Tensor:
        self.peak = torch.maximum(self.peak, x.max().reshape(1))
        return self.high(x)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.level = 0.5 * self.level + x.sum()
        if self.level > 0:
            y = self.raised(x)
        elif x.max() > 0.5 and not bool((x[0, 0] < 0).item()):
            y = self.low(x) * 2
        else:
            y = x
        return y, self.peak


class Sum:
    """A class that is no module."""

    def __init__(self, start: float) -> None:
        self.value = start

    def add(self, number: float) -> float:
        self.value += number
        return self.value


class Memory(nn.Module):
    """State in a list and a dictionary, an object of a class, and decisions by data in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.line = [torch.zeros(1, 4), torch.ones(1, 4)]
        self.table = {"slow": torch.zeros(1, 4), "fast": torch.ones(1, 4)}

    def forward(self, x: Tensor) -> tuple[Tensor, dict[str, list[Tensor]]]:
        weight = Sum(0.5)
        for k in range(3):
            weight.add(float(k))
            if k == 1:
                continue
            if x[0, k] > 0:
                x = x * 0.5
            else:
                x = x + float(k)
        self.line.append(x)
        oldest = self.line.pop(0)
        self.table["slow"] = self.table["slow"] * 0.5 + x
        self.table["fast"].add_(x)
        return oldest * weight.value, {key: [value, value + 1] for key, value in self.table.items()}


class Counter(nn.Module):
    """What cannot be compiled: a number that every call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls


class TwoNames(nn.Module):
    """What cannot be compiled: one tensor with two names, written through one and read through the other."""

    level: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("level", torch.zeros(4))
        self.other = self.level

    def forward(self, x: Tensor) -> Tensor:
        self.level += x[0]
        return x * self.other


class Endless(nn.Module):
    """A loop whose length the data decides."""

    def forward(self, x: Tensor) -> Tensor:
        while x.sum() < 10:
            x = x + 1
        return x


class Ragged(nn.Module):
    """Branches of different shapes."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        return x[:, :1]


class Collector(nn.Module):
    """A branch that changes a list."""

    def forward(self, x: Tensor) -> Tensor:
        parts = [x]
        if x.sum() > 0:
            parts[0] = x * 2
        return parts[0]


class Careful(nn.Module):
    """A branch that raises."""

    def forward(self, x: Tensor) -> Tensor:
        if bool((x > 100).any()):
            raise ValueError("too large")
        return x + 1


class Writer(nn.Module):
    """A branch that writes to a tensor from outside."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        if x.sum() > 0:
            y.mul_(2)
        return y


def doubled(x: Tensor) -> Tensor:
    return x * 2


class Forked(nn.Module):
    """A construct that is not supported."""

    def forward(self, x: Tensor) -> Tensor:
        later = torch.jit.fork(doubled, x)
        return torch.jit.wait(later)
