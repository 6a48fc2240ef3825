"""The float transform of real rows on cores with an FPU: simulated, and on boards against its C twin and PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.codegen.target import Target
from pilotlight.kernels.fpu import fft
from pilotlight.kernels.fpu.rfft_f32 import estimate
from pilotlight.kernels.fpu.simulator import FpuSimulator
from pilotlight.kernels.layers import TransformLayer
from pilotlight.kernels.portable.fft_f32 import stage_factors, turns
from pilotlight.kernels.registry import candidates
from support.compiled import Library, assert_matches, rows_of

X, WINDOW, Y, FACTORS, TURNS = 0x100000, 0x200000, 0x300000, 0x400000, 0x500000


def simulated(x: np.ndarray, window: np.ndarray | None, fused: bool) -> tuple[np.ndarray, int]:
    """One row by the steps of assembly, and how many instructions they execute."""
    points = len(x) // 2
    radices = [2] * (points.bit_length() % 2 == 0) + [4] * ((points.bit_length() - 1) // 2)
    factors = stage_factors(radices, first=False).astype(np.float32)
    y, executed = np.zeros(len(x) + 2, np.float32), 0

    def call(function: fft.Function, *arguments: int) -> None:
        nonlocal y, executed
        simulator = FpuSimulator()
        arrays = {X: x, WINDOW: x if window is None else window, Y: y, FACTORS: factors, TURNS: turns(len(x))}
        for address, values in arrays.items():
            simulator.place(address, values.astype(np.float32))
        simulator.call(function, *arguments)
        y, executed = simulator.floats(Y), executed + simulator.executed

    call(fft.first(radices[0], window is not None, fused), X, WINDOW, Y, points)
    span, at = radices[0], FACTORS
    while span < points:
        call(fft.stage4(fused), Y, at, points, span)
        at, span = at + 24 * span, 4 * span
    call(fft.split(fused), Y, TURNS, points)
    return y.reshape(-1, 2), executed


@pytest.mark.parametrize("fused", [False, True], ids=["separate", "fused"])
@pytest.mark.parametrize("n", [32, 64])
@pytest.mark.parametrize("windowed", [False, True])
def test_simulated_steps_are_near_float64(n: int, windowed: bool, fused: bool) -> None:
    rng = np.random.default_rng(n)
    window = rng.uniform(0, 1, n).astype(np.float32) if windowed else None
    for x in (rng.standard_normal(n), np.eye(n)[3], np.ones(n)):
        row = x.astype(np.float32)
        got, executed = simulated(row, window, fused)
        want = np.fft.rfft(row.astype(np.float64) * (1.0 if window is None else window))
        bound = 2e-7 * np.log2(n) * np.abs(row).sum()
        assert np.abs(got[:, 0] + 1j * got[:, 1] - want).max() < bound
    stages = (n // 2).bit_length() // 2
    assert abs(executed / estimate(n // 2, stages, 4 if n == 32 else 2, windowed, fused) - 1) < 0.25


class Spectra(nn.Module):
    """Overlapping frames of several lengths, with windows and without."""

    def __init__(self) -> None:
        super().__init__()
        for n in (32, 64, 256):
            self.register_buffer(f"window{n}", torch.hann_window(n))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        plain = [torch.fft.rfft(x[:, :n]) for n in (32, 64, 128, 512)]
        framed = [torch.fft.rfft(x.unfold(-1, n, n // 2) * self.get_buffer(f"window{n}")) for n in (32, 64, 256)]
        return [torch.view_as_real(y) for y in plain + framed]


@pytest.mark.parametrize("board", ["mps2-an386", "mps2-an500", "mps3-an547"])
def test_boards_agree_with_pytorch_and_with_c(board: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    graph = pl.capture(Spectra().eval(), (torch.randn(2, 512),), "net")
    build = pl.compile(graph, board=board)
    assert {c.candidate.name for c in build.selection.values()} == {"fpu.rfft"}
    rows = rows_of(graph, 1)
    with build.open(board, count=False) as running:
        outputs = [running.flat(row) for row in rows]
    assert_matches(graph, rows, outputs)
    twin = Library(build, tmp_path).run(rows[0])
    for y, by_c in zip(outputs[0], twin, strict=True):
        if board == "mps2-an386":
            assert y.numpy().tobytes() == by_c.numpy().tobytes()
        else:
            torch.testing.assert_close(y, by_c, rtol=1e-5, atol=1e-4)


def test_other_rows_are_left_to_portable_c() -> None:
    """Another length, a gap between points, a factor without a window, the inverse."""

    def first(kind: str, n: int, isa: frozenset[str] = frozenset({"thumb2", "fpu32"}), **more: Any) -> str:
        return candidates(TransformLayer(kind, n, n // 2 + 1, **more), Target(isa))[0].name

    assert first("rfft", 64) == first("rfft", 4096) == first("rfft", 64, scale=2.0, window=np.ones(64)) == "fpu.rfft"
    assert first("rfft", 64, frozenset({"thumb2"})) == "portable.rfft"
    assert first("rfft", 48) == first("rfft", 16) == first("rfft", 64, x_point=2) == "portable.rfft"
    assert first("rfft", 64, scale=0.125) == "portable.rfft"
    assert first("irfft", 64) == "portable.irfft"
