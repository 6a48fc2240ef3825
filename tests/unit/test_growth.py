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
from pilotlight.capture.reference import functionalize
from pilotlight.emit import module
from pilotlight.quantize.flat import flat_module
from pilotlight.quantize.quantizer import Int8Quantizer
from pilotlight.session import run_session

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


def test_growth_is_linear() -> None:
    """Annotating for int8, and compiling in float and int8: passes, plan and C."""
    example = (torch.randn(1, 2, 4, 4, generator=torch.Generator().manual_seed(0)),)
    counts: dict[str, list[int]] = {"quantize": [], "float": [], "int8": []}
    for blocks in (4, 8, 12):
        real = capture_exported(export(nn.Sequential(*[Residual() for _ in range(blocks)]), example), "net")
        functional = functionalize(real.torch_program)
        counts["quantize"].append(lines(lambda f=functional: Int8Quantizer().annotate(flat_module(f)))[0])
        quantized = pl.quantize(real, calibration=[example])
        for mode, graph in (("float", real), ("int8", quantized)):
            counts[mode].append(lines(lambda graph=graph: pl.compile(graph, board="mps2-an386"))[0])
    assert {stage: is_linear(found) for stage, found in counts.items()} == dict.fromkeys(counts, True), counts


class ComputedWeight(nn.Module):
    """Every sum doubles the paths from the input to the weight of a linear layer."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = x
        for _ in range(16):
            weight = weight + torch.tanh(weight)
        return nn.functional.linear(x, weight)


def test_a_computed_weight_is_looked_at_once() -> None:
    program = export(ComputedWeight(), (torch.ones(2, 2),))
    count, graph = lines(lambda: capture_exported(program, "net"), limit=100_000)
    assert [node.op for node in graph.nodes].count("add") == 16, count


def test_many_steps_are_several_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answer, profile and stack bound from parts of two steps as from one function."""
    monkeypatch.setattr(module, "PART", 2)
    net = nn.Sequential(*[Residual() for _ in range(2)], nn.Flatten(), nn.Linear(32, 3), nn.Softmax(1))
    build = pl.compile(pl.capture(net, (torch.randn(1, 2, 4, 4),), "net"), board="mps2-an386")
    text = str(build.module.files["net.c"])
    steps = [part.count("PL_STEP(") for part in text[text.index("PL_PART net_part_0") :].split("PL_PART")[1:]]
    assert steps == [2] * (len(build.plan.steps) // 2) + [1] * (len(build.plan.steps) % 2)
    session = run_session(build)
    assert session.match and session.profile is not None
    assert [row.instructions > 0 for row in session.profile.rows] == [True] * len(build.plan.steps)
    assert session.painted_stack is not None and 0 <= session.figures["ram"]["stack"] - session.painted_stack <= 64


def test_pytorch_traces_only_what_is_written_in_place_or_has_no_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracing is most of the time that quantizing takes."""
    traced: list[str] = []
    once = torch.export.ExportedProgram.run_decompositions

    def counted(program: torch.export.ExportedProgram, *args: Any, **kwargs: Any) -> torch.export.ExportedProgram:
        traced.append("again")
        return once(program, *args, **kwargs)

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", counted)
    x = torch.randn(1, 2, 4, 4)
    pl.quantize(pl.capture(Residual().eval(), (x,), "plain"), calibration=[x])
    assert traced == []

    class Writes(Residual):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x).add_(x)

    pl.capture(Writes().eval(), (x,), "writes")
    assert traced == ["again"]
