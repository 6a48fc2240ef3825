"""Modules made from functions, and what the passes make of a module."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.passes.pipeline import optimize

IMAGE = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))
SERIES = torch.randn(1, 3, 16, generator=torch.Generator().manual_seed(0))


class Forward(nn.Module):
    """A module from a function, so that a case is one line."""

    def __init__(self, function: Any, **parts: nn.Module):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Each(nn.Module):
    """A function of x and of some layers."""

    def __init__(self, function: Any, *layers: nn.Module):
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, *x: torch.Tensor) -> Any:
        return self.function(*self.layers, *x)


def lowered(net: nn.Module, *inputs: torch.Tensor) -> Graph:
    return optimize(pl.capture(net.eval(), inputs, "net"), check=True)


class Outlier(nn.Module):
    """One result of which a single channel, that nobody needs, is 300 times as large as the others."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((8, 16), (16, 16), (16, 12), (12, 5))
        self.a, self.b, self.c, self.d = (nn.Linear(i, o, bias=False) for i, o in sizes)
        with torch.no_grad():
            self.b.weight[0] *= 300
            self.c.weight[:, 0] = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.d(F.relu(self.c(F.relu(self.b(F.relu(self.a(x)))))))


def outlier() -> tuple[nn.Module, list[list[torch.Tensor]], torch.Tensor]:
    torch.manual_seed(0)
    model = Outlier().eval()
    samples = [[torch.randn(1, 8)] for _ in range(60)]
    with torch.no_grad():
        return model, samples, torch.tensor([int(model(*s).argmax()) for s in samples])
