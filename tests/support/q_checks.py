"""What every family of integer operators is held to: C against the numpy reference byte for byte, on the host and on
every emulated core, and the reference against the float operator."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.ops.spec import NodeSpec
from support.c_compilers import SANITIZERS
from support.compiled import Library
from support.poison import Watch
from support.q_cases import KINDS, Case, dequantized, expected, graph_of, quantized

BOARDS = ["microbit", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547", "riscv32-virt"]
Makers = Mapping[str, Callable[[np.random.Generator], Case]]


def cases_of(makers: Makers, name: str, count: int, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(zlib.crc32(name.encode()) + seed)
    return [makers[name](rng) for _ in range(count)]


def rows_of(cases: list[Case], seed: int = 1, more: int = 0) -> list[list[torch.Tensor]]:
    """One row of inputs per kind, and `more` random ones."""
    rng = np.random.default_rng(seed)
    return [[x for case in cases for x in case.draw(rng, kind)] for kind in (*KINDS, *["random"] * more)]


def assert_same(graph: Graph, row: list[torch.Tensor], got: list[torch.Tensor]) -> None:
    assert_bytes(graph, expected(graph, row), got)


def assert_bytes(graph: Graph, wanted: list[torch.Tensor], got: list[torch.Tensor]) -> None:
    for port, want, y in zip(graph.outputs, wanted, got, strict=True):
        assert y.dtype == want.dtype
        same = y.numpy().tobytes() == want.contiguous().numpy().tobytes()
        assert same, f"{port.name}: {graph.producers()[port.value]}"


def assert_near_float(case: Case, seed: int = 2) -> None:
    """The first output is as many steps from the float operator as the case allows."""
    rng = np.random.default_rng(seed)
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
        assert int(off) <= case.steps, f"{case.spec}: {int(off)} steps with {kind} inputs"


def check_large(case: Case) -> None:
    assert_near_float(case)
    graph = graph_of([case])
    with pl.compile(graph).open("host", sanitize=SANITIZERS) as running:
        for row in rows_of([case]):
            assert_same(graph, row, running.flat(row))


def check_watched(cases: list[Case], folder: Path, more: int = 0) -> None:
    """Every write is watched, dead bytes are destroyed, and the sanitizers look on; then `more` rows without that."""
    graph = graph_of(cases)
    build = pl.compile(graph)
    watch = Watch(Library(build, folder))
    with build.open("host", sanitize=SANITIZERS) as running:
        for row in rows_of(cases):
            assert_same(graph, row, watch.run(row))
            assert_same(graph, row, running.flat(row))
    for row in rows_of(cases, seed=5, more=more) if more else []:
        assert_same(graph, row, watch.library.run(row))


def check_mutation_is_found(cases: list[Case], old: str, new: str, folder: Path) -> None:
    """The C with one piece of text replaced gives other bytes."""
    build = pl.compile(graph_of(cases))
    text = build.module.files["net.c"]
    assert isinstance(text, str) and old in text
    build.module.files["net.c"] = text.replace(old, new)
    library = Library(build, folder)
    with pytest.raises(AssertionError, match="y"):
        for row in rows_of(cases, seed=5, more=20):
            assert_same(build.graph, row, library.run(row))


def check_board(makers: Makers, board: str) -> None:
    """Some cases of every operator in one boot."""
    cases = [case for name in makers for case in cases_of(makers, name, 2 if board == "microbit" else 8, seed=7)]
    graph = graph_of(cases)
    with pl.compile(graph, board=board).open(board, count=False) as running:
        for row in rows_of(cases, seed=3):
            assert_same(graph, row, running.flat(row))


def check_overflow_is_refused(make: Callable[[], NodeSpec]) -> None:
    with pytest.raises(pl.PilotlightError) as error:
        make()
    assert error.value.kind == "overflow" and error.value.hint


def snr(y: torch.Tensor, real: torch.Tensor) -> float:
    """Signal to noise in dB."""
    noise = (y.double() - real.double()).square().sum()
    return float(10 * torch.log10(real.double().square().sum() / noise))
