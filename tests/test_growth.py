"""Compiling takes time in proportion to the model: counted in lines of Pilotlight that run, never in seconds."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.capture.exported import capture_exported, export

SOURCES = str(Path(pl.__file__).parent)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv(x)


def lines(work: Callable[[], Any], limit: int = 1_000_000) -> tuple[int, Any]:
    """How many lines of Pilotlight run, and the result. Work that grows exponentially is ended at `limit`."""
    count = 0

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        if count > limit:
            raise AssertionError(f"more than {limit} lines ran, in {frame.f_code.co_qualname}")
        return local

    def each(frame: FrameType, _: str, __: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(SOURCES) else None

    sys.settrace(each)
    try:
        result = work()
    finally:
        sys.settrace(None)
    return count, result


def is_linear(counts: list[int]) -> bool:
    """Counts of evenly spaced sizes: the second step adds what the first did; squares would add 1.67 times as much."""
    first, second = (b - a for a, b in itertools.pairwise(counts))
    return second <= 1.15 * first


@pytest.mark.parametrize("mode", ["int8"])
def test_growth_is_linear(mode: str) -> None:
    example = (torch.randn(1, 2, 4, 4, generator=torch.Generator().manual_seed(0)),)
    counts: dict[str, list[int]] = {}
    for blocks in (4, 8, 12):
        graph = capture_exported(export(nn.Sequential(*[Residual() for _ in range(blocks)]), example), "net")
        count, graph = lines(lambda graph=graph: pl.quantize(graph, calibration=[example], mode=mode))
        counts.setdefault("quantize", []).append(count)
    assert {stage: is_linear(found) for stage, found in counts.items()} == dict.fromkeys(counts, True), counts
