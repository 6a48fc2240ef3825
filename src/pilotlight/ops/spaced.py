"""Evenly spaced numbers. Computed as eager PyTorch does: its decomposition rounds integers differently."""

from __future__ import annotations

import torch

from pilotlight.graph import Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import lowers, unused


@lowers("linspace.default")
def linspace(b: Builder, start: float, end: float, steps: int, **rest: object) -> Value:
    unused(**rest)
    return b.constant(torch.linspace(start, end, steps, dtype=b.results[0][0].torch), hint="linspace")


@lowers("logspace.default")
def logspace(b: Builder, start: float, end: float, steps: int, base: float = 10.0, **rest: object) -> Value:
    unused(**rest)
    return b.constant(torch.logspace(start, end, steps, base, dtype=b.results[0][0].torch), hint="logspace")
