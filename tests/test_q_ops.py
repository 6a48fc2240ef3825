"""The integer operators: C against the numpy reference byte for byte, on the host and on every emulated core, and
the reference against the float operator between dequantize and quantize."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from compiled import Library
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
            if case.scales:
                args = [dequantized(x, s) for x, s in zip(args, case.scales, strict=True)]
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
