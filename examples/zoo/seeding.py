"""Random weights that come out the same every time and make a network worth comparing.

Fresh PyTorch layers are too polite for a test: batch norm with mean 0 and variance 1 does nothing, so that
a wrong folding goes unseen, and a deep stack of default layers shrinks everything to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import nn

Model = tuple[nn.Module, tuple[torch.Tensor, ...]]
Entries = dict[str, tuple[Any, ...]]  # entry points of one module: what to call, its inputs, and how they may vary

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
NORMS = (*BATCH_NORMS, nn.LayerNorm, nn.GroupNorm)


def seeded(build: Callable[[], Model]) -> Callable[[], Model]:
    """Run `build` with a fixed seed, without touching the caller's random state, and switch to eval mode."""

    @wraps(build)
    def wrapper() -> Model:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(2024)
            module, inputs = build()
        return module.eval(), inputs

    return wrapper


@torch.no_grad()
def settle(net: nn.Module, *batch: torch.Tensor) -> nn.Module:
    """Give norms a scale and shift of their own, and batch norms the statistics of `batch`, a bit off."""
    for layer in net.modules():
        if isinstance(layer, NORMS):
            layer.weight.uniform_(0.6, 1.4)
            layer.bias.normal_(0.0, 0.2)
        if isinstance(layer, BATCH_NORMS):
            layer.momentum = 1.0  # take over the batch's statistics whole
    if batch:
        net.train()
        net(*batch)
    for layer in net.modules():
        if isinstance(layer, BATCH_NORMS):
            layer.momentum = 0.1
            spread = layer.running_var.sqrt()
            layer.running_mean.add_(0.1 * spread * torch.randn_like(spread))
            layer.running_var.mul_(torch.empty_like(spread).uniform_(0.8, 1.25))
    return net.eval()
