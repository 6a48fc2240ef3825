"""Functions and layers as modules, compiled for the host and compared with PyTorch's own result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import pilotlight as pl
from support.c_compilers import SANITIZERS

CLOSE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5}  # two units in the last place of a half


def flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [t for item in value for t in flat(item)]


class Module(nn.Module):
    """A function, and the layers it uses, as a module with a flat tuple of outputs."""

    def __init__(self, function: Callable[..., Any], *layers: nn.Module):
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(flat(self.function(*self.layers, *inputs)))


def check(module: nn.Module, *inputs: torch.Tensor, sanitize: bool = True) -> pl.compiler.Build:
    """Types and shapes as PyTorch's, integers equal, floats close."""
    build = pl.compile(pl.capture(module.eval(), inputs, "net"))
    with torch.no_grad():
        wanted = flat(module(*inputs))
    got = flat(build.run(*inputs, on="host", sanitize=sanitize and SANITIZERS))
    assert len(got) == len(wanted)
    for number, (y, truth) in enumerate(zip(got, wanted, strict=True)):
        limit = CLOSE.get(truth.dtype, 0.0)
        assert y.dtype == truth.dtype and y.shape == truth.shape, f"output {number}"
        close = torch.isclose(y.double(), truth.double(), rtol=limit, atol=limit / 2, equal_nan=True)
        assert bool(close.all()), f"output {number}: {y[~close]} instead of {truth[~close]}"
    return build
