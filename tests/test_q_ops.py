"""The integer operators: C against the numpy reference byte for byte, on the host and on every emulated core, and
the reference against the float operator between dequantize and quantize."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import pilotlight as pl
from compiled import Library
from pilotlight.ops.q_attention import make_qattention
from pilotlight.ops.q_recipe import Affine, Recipe
from pilotlight.ops.q_recurrent import make_qgru, make_qlstm
from poison import Watch
from q_cases import KINDS, MAKERS, Case, dequantized, expected, graph_of, quantized

BOARDS = ["microbit", "mps2-an385", "mps2-an386", "mps2-an505", "mps3-an547", "riscv32-virt"]


def cases_of(name: str, count: int, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(zlib.crc32(name.encode()) + seed)
    return [MAKERS[name](rng) for _ in range(count)]


def rows_of(cases: list[Case], seed: int = 1) -> list[list[torch.Tensor]]:
    rng = np.random.default_rng(seed)
    return [[x for case in cases for x in case.draw(rng, kind)] for kind in KINDS]


def assert_same(graph: pl.Graph, row: list[torch.Tensor], got: list[torch.Tensor]) -> None:
    for port, want, y in zip(graph.outputs, expected(graph, row), got, strict=True):
        assert y.dtype == want.dtype
        same = y.numpy().tobytes() == want.contiguous().numpy().tobytes()
        assert same, f"{port.name}: {graph.producers()[port.value]}"


@pytest.mark.parametrize("name", MAKERS)
def test_reference_is_near_float(name: str) -> None:
    rng = np.random.default_rng(2)
    for case in cases_of(name, 60):
        for kind in KINDS:
            args = case.draw(rng, kind)
            (y, *_) = expected(graph_of([case]), args)
            for i, affine in enumerate(case.scales):
                args[i] = dequantized(args[i], affine)
            real = case.real(*args)
            if y.dtype == torch.float32:
                torch.testing.assert_close(y, real, rtol=0, atol=0)
                continue
            off = (y.int() - quantized(real, case.out).reshape(y.shape).int()).abs().max()
            assert int(off) <= case.steps, f"{case.recipe}: {int(off)} steps"


@pytest.mark.parametrize("name", MAKERS)
def test_c_is_the_reference(name: str, tmp_path: Path) -> None:
    """Every write is watched, dead bytes are destroyed, and the sanitizers look on."""
    cases = cases_of(name, 24)
    graph = graph_of(cases)
    build = pl.compile(graph)
    watch = Watch(Library(build, tmp_path))
    with build.open("host", sanitize=True) as running:
        for row in rows_of(cases):
            assert_same(graph, row, watch.run(row))
            assert_same(graph, row, running.flat(row))


@pytest.mark.parametrize("board", BOARDS)
def test_boards_give_the_same_bytes(board: str) -> None:
    cases = [case for name in MAKERS for case in cases_of(name, 2 if board == "microbit" else 8, seed=7)]
    graph = graph_of(cases)
    build = pl.compile(graph, board=board)
    with build.open(board, count=False) as running:
        for row in rows_of(cases, seed=3):
            assert_same(graph, row, running.flat(row))


def snr(y: torch.Tensor, real: torch.Tensor) -> float:
    """Signal to noise in dB."""
    noise = (y.double() - real.double()).square().sum()
    return float(10 * torch.log10(real.double().square().sum() / noise))


@pytest.mark.parametrize(("kind", "make"), [("LSTM", make_qlstm), ("GRU", make_qgru)])
def test_recurrent_layers_keep_their_signal(kind: str, make: Callable[..., Recipe]) -> None:
    """Forty steps of a layer of PyTorch's, with the scales its own ranges ask for."""
    torch.manual_seed(1)
    layer = getattr(torch.nn, kind)(16, 32)
    x = torch.randn(40, 3, 16).clamp(-3, 3)
    with torch.no_grad():
        real = layer(x)[0]
    sx, sy = Affine(6 / 255, 0), Affine(float(real.max() - real.min()) / 255, 0)
    weights = [p.detach().numpy() for p in layer.parameters()]
    recipe = make(sx, sy, *weights[:2], np.stack(weights[2:]))
    case = Case(recipe, (tuple(x.shape),), (sx,), sy, torch.clone)
    (y, *_) = expected(graph_of([case]), [quantized(x, sx)])
    assert snr(dequantized(y, sy), real) > 33.0


def test_attention_keeps_its_signal() -> None:
    """Four heads of sixteen numbers over fifty keys."""
    torch.manual_seed(2)
    q, k, v = torch.randn(3, 1, 4, 50, 16).clamp(-3, 3)
    real = F.scaled_dot_product_attention(q, k, v)
    s, sy = Affine(6 / 255, 0), Affine(float(real.abs().max()) / 127, 0)
    case = Case(make_qattention(s, s, s, sy, 16, 50, 0.25), (tuple(q.shape),) * 3, (s,) * 3, sy, torch.clone)
    (y,) = expected(graph_of([case]), [quantized(t, s) for t in (q, k, v)])
    assert snr(dequantized(y, sy), real) > 33.0
