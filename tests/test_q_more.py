"""The integer operators of `q_more_cases`: C against the numpy reference byte for byte, on the host and on every
emulated core, and the reference against the float operator between dequantize and quantize."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pilotlight as pl
from compiled import Library
from pilotlight.ops.q_bicubic import make_qbicubic2d
from pilotlight.ops.q_cumsum import make_qcumsum
from pilotlight.ops.q_div import make_qdiv
from pilotlight.ops.q_log_softmax import make_qlog_softmax
from pilotlight.ops.q_recipe import Affine, Recipe
from pilotlight.ops.q_scale import make_qscale
from poison import Watch
from q_cases import Case, graph_of
from q_more_cases import MAKERS, large
from test_q_ops import BOARDS, assert_near_float, assert_same, rows_of

COUNT = 100


def cases_of(name: str, count: int, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(zlib.crc32(name.encode()) + seed)
    return [MAKERS[name](rng) for _ in range(count)]


@pytest.mark.parametrize("name", MAKERS)
def test_reference_is_near_float(name: str) -> None:
    for seed, case in enumerate(cases_of(name, COUNT)):
        assert_near_float(case, seed)


@pytest.mark.parametrize("case", large(), ids=lambda case: case.recipe.op)
def test_large_sizes(case: Case) -> None:
    assert_near_float(case)
    graph = graph_of([case])
    with pl.compile(graph).open("host", sanitize=True) as running:
        for row in rows_of([case]):
            assert_same(graph, row, running.flat(row))


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
    for row in rows_of(cases, seed=5, more=20):
        assert_same(graph, row, watch.library.run(row))


MUTATIONS = {
    "group_norm": ("inverse.r * 16384", "inverse.r * 16383"),
    "log_softmax": ("-760608807", "-750608807"),
    "lines": ("d < 0 ? below", "d < 1 ? above"),
    "cumsum": ("- zero;", "- zero + 1;"),
    "div": ("under ? under : 1)) + s->c", "under ? under : 1))"),
    "bicubic": ("line = 2", "line = 0"),
    "masked_softmax": ("inverse.r * 16384", "inverse.r * 16383"),
    "biased_attention": ("pl_rhmul(b * s->up", "pl_rhmul(b + 1"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_one_wrong_constant_is_found(name: str, tmp_path: Path) -> None:
    cases = cases_of(name, 24)
    build = pl.compile(graph_of(cases))
    text = build.module.files["net.c"]
    assert isinstance(text, str) and MUTATIONS[name][0] in text
    build.module.files["net.c"] = text.replace(*MUTATIONS[name])
    library = Library(build, tmp_path)
    with pytest.raises(AssertionError, match="y"):
        for row in rows_of(cases, seed=5, more=20):
            assert_same(build.graph, row, library.run(row))


@pytest.mark.parametrize("board", BOARDS)
def test_boards_give_the_same_bytes(board: str) -> None:
    cases = [case for name in MAKERS for case in cases_of(name, 2 if board == "microbit" else 8, seed=7)]
    graph = graph_of(cases)
    build = pl.compile(graph, board=board)
    with build.open(board, count=False) as running:
        for row in rows_of(cases, seed=3):
            assert_same(graph, row, running.flat(row))


CUBIC = {"mode": "bicubic", "out": (4, 4), "align": False, "scale": (0.5, 0.5), "factors": None}
REFUSED: dict[str, Callable[[], Recipe]] = {
    "log_softmax": lambda: make_qlog_softmax(Affine(1.0, 0), Affine(1e-7, 0), 10, 0),
    "scale": lambda: make_qscale(Affine(1e4, 0), Affine(1e-4, 0), (0, 1), np.ones(3), np.ones(3), np.ones(3)),
    "cumsum": lambda: make_qcumsum(Affine(1000.0, 0), Affine(1e-6, 0), (8,), 0),
    "div": lambda: make_qdiv(Affine(1e4, 0), Affine(1e-4, 0), Affine(1e-3, 0)),
    "bicubic": lambda: make_qbicubic2d(Affine(1000.0, 0), Affine(1e-6, 0), (1, 2, 2, 1), CUBIC),
}


@pytest.mark.parametrize("name", REFUSED)
def test_scales_beyond_32_bits_are_refused(name: str) -> None:
    with pytest.raises(pl.PilotlightError) as error:
        REFUSED[name]()
    assert error.value.kind == "overflow" and error.value.hint
