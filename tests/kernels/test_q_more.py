"""The integer operators of `q_more_cases`: C against the numpy reference byte for byte, on the host and on every
emulated core, and the reference against the float operator between dequantize and quantize."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pilotlight.graph import Quant
from pilotlight.ops.pointwise.div_int8 import make_qdiv
from pilotlight.ops.pointwise.scale_int8 import make_qscale
from pilotlight.ops.resize.bicubic_int8 import make_qbicubic2d
from pilotlight.ops.scan.int8 import make_qcumsum
from pilotlight.ops.softmax.log_int8 import make_qlog_softmax
from pilotlight.ops.spec import NodeSpec
from support.q_cases import Case
from support.q_checks import (
    BOARDS,
    assert_near_float,
    cases_of,
    check_board,
    check_large,
    check_mutation_is_found,
    check_overflow_is_refused,
    check_watched,
)
from support.q_more_cases import MAKERS, large

COUNT = 100


@pytest.mark.parametrize("name", MAKERS)
def test_reference_is_near_float(name: str) -> None:
    for seed, case in enumerate(cases_of(MAKERS, name, COUNT)):
        assert_near_float(case, seed)


@pytest.mark.parametrize("case", large(), ids=lambda case: case.spec.op)
def test_large_sizes(case: Case) -> None:
    check_large(case)


@pytest.mark.parametrize("name", MAKERS)
def test_c_is_the_reference(name: str, tmp_path: Path) -> None:
    check_watched(cases_of(MAKERS, name, 24), tmp_path, more=20)


MUTATIONS = {
    "group_norm": ("inverse.r * 16384", "inverse.r * 16383"),
    "log_softmax": ("-760608807", "-750608807"),
    "lines": ("d < 0 ? below", "d < 1 ? above"),
    "cumsum": ("- zero;", "- zero + 1;"),
    "div": ("under ? under : 1)) + s->c", "under ? under : 1))"),
    "bicubic": ("line = 2", "line = 0"),
    "masked_softmax": ("inverse.r * 16384", "inverse.r * 16383"),
    "biased_attention": ("pl_rhmul(b * s->up", "pl_rhmul(b + 1"),
    "cosine_similarity": ("zz += b * b", "zz += a * b"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_one_wrong_constant_is_found(name: str, tmp_path: Path) -> None:
    check_mutation_is_found(cases_of(MAKERS, name, 24), *MUTATIONS[name], tmp_path)


@pytest.mark.parametrize("board", BOARDS)
def test_boards_give_the_same_bytes(board: str) -> None:
    check_board(MAKERS, board)


CUBIC = {"mode": "bicubic", "out": (4, 4), "align": False, "scale": (0.5, 0.5), "factors": None}
REFUSED: dict[str, Callable[[], NodeSpec]] = {
    "log_softmax": lambda: make_qlog_softmax(Quant(1.0, 0), Quant(1e-7, 0), 10, 0),
    "scale": lambda: make_qscale(Quant(1e4, 0), Quant(1e-4, 0), (0, 1), np.ones(3), np.ones(3), np.ones(3)),
    "cumsum": lambda: make_qcumsum(Quant(1000.0, 0), Quant(1e-6, 0), (8,), 0),
    "div": lambda: make_qdiv(Quant(1e4, 0), Quant(1e-4, 0), Quant(1e-3, 0)),
    "bicubic": lambda: make_qbicubic2d(Quant(1000.0, 0), Quant(1e-6, 0), (1, 2, 2, 1), CUBIC),
}


@pytest.mark.parametrize("name", REFUSED)
def test_scales_beyond_32_bits_are_refused(name: str) -> None:
    check_overflow_is_refused(REFUSED[name])
