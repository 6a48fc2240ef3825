"""The operators of 16-bit activations: C against the numpy reference byte for byte, on the host and on every emulated
core, and the reference against the float operator between dequantize and quantize."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.graph import Quant
from pilotlight.ops.matmul.int16 import make_qmatmul16
from pilotlight.ops.norm.int16 import make_qnorm16
from pilotlight.ops.pointwise.int16 import make_qadd16, make_qmul16
from pilotlight.ops.pointwise.table_int16 import make_qtable16
from pilotlight.ops.reduce.int16 import make_qmean16
from pilotlight.ops.requantize import make_rescale
from pilotlight.ops.spec import NodeSpec
from support.compiled import Library
from support.q16_cases import MAKERS
from support.q_cases import KINDS, dequantized, expected, graph_of
from support.q_checks import (
    BOARDS,
    assert_same,
    cases_of,
    check_board,
    check_mutation_is_found,
    check_overflow_is_refused,
    check_watched,
    rows_of,
)


@pytest.mark.parametrize("name", MAKERS)
def test_reference_is_near_float(name: str) -> None:
    for seed, case in enumerate(cases_of(MAKERS, name, 60)):
        rng = np.random.default_rng(seed)
        for kind in KINDS:
            args = case.draw(rng, kind)
            (y,) = expected(graph_of([case]), args)
            real = case.real(*(dequantized(x, s) for x, s in zip(args, case.scales, strict=True))).double()
            limits = torch.iinfo(y.dtype)
            want = (real / case.out.scale).round().add(case.out.zero_point).clamp(limits.min, limits.max)
            off = int((y.double() - want.reshape(y.shape)).abs().max())
            assert off <= case.steps, f"{case.spec}: {off} steps with {kind} inputs"


@pytest.mark.parametrize("name", MAKERS)
def test_c_is_the_reference(name: str, tmp_path: Path) -> None:
    cases = cases_of(MAKERS, name, 120)
    graph = graph_of(cases)
    library = Library(pl.compile(graph), tmp_path)
    for row in rows_of(cases, more=2):
        assert_same(graph, row, library.run(row))


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_touched_that_should_not_be(name: str, tmp_path: Path) -> None:
    check_watched(cases_of(MAKERS, name, 16, seed=1), tmp_path)


def test_accumulators_of_both_widths_are_tried() -> None:
    attrs = [case.spec.attrs for name in ("linear", "conv") for case in cases_of(MAKERS, name, 100)]
    assert sum(a["down"] > 0 for a in attrs) >= 20 and sum(a["down"] == 0 for a in attrs) >= 20
    assert sum(a["narrow"] for a in attrs) >= 20 and sum(a["shift"] > 0 for a in attrs) >= 5


MUTATIONS = {
    "conv": ("(i == 1) ? 2", "(i == 1) ? 1"),
    "linear": ("t * w[(at) + 4]", "t * w[(at) + 3]"),
    "matmul": ("(uint32_t)bits >> 31", "(uint32_t)bits >> 31 & 0u"),
    "add": ("(uint32_t)fraction) >> 1", "(uint32_t)fraction) >> 2"),
    "table": ("* (v & mask)) + half", "* (v & mask))"),
    "softmax": ("inverse.r * 16384", "inverse.r * 16383"),
    "norm": ("inverse.r * 16384", "inverse.r * 16383"),
    "resize": ("2048 - t", "2047 - t"),
    "mean": ("(uint32_t)acc <<", "(uint32_t)(acc + 1) <<"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_one_wrong_constant_is_found(name: str, tmp_path: Path) -> None:
    check_mutation_is_found(cases_of(MAKERS, name, 24), *MUTATIONS[name], tmp_path)


@pytest.mark.parametrize("board", BOARDS)
def test_boards_give_the_same_bytes(board: str) -> None:
    check_board(MAKERS, board)


REFUSED: dict[str, Callable[[], NodeSpec]] = {
    "add": lambda: make_qadd16(Quant(100.0, 0), Quant(1.0, 0), Quant(0.0001, 0)),
    "mul": lambda: make_qmul16(Quant(1.0, 0), Quant(1.0, 0), Quant(1.0, 0)),
    "mean": lambda: make_qmean16(Quant(1000.0, 0), Quant(1e-6, 0), (1, 4), (1,)),
    "matmul": lambda: make_qmatmul16(Quant(1.0, 0), Quant(1.0, 0), Quant(1e-7, 0), 4096),
    "norm": lambda: make_qnorm16(Quant(1.0, 0), Quant(1e-12, 0), 16, 1e-5),
    "requantize": lambda: make_rescale(Quant(100.0, 0), Quant(0.001, 0), 16),
}


@pytest.mark.parametrize("name", REFUSED)
def test_scales_beyond_32_bits_are_refused(name: str) -> None:
    check_overflow_is_refused(REFUSED[name])


def test_a_function_that_jumps_has_no_table() -> None:
    assert make_qtable16(Quant(1e-3, 0), Quant(1e-3, 0), torch.floor) is None
    smooth = make_qtable16(Quant(1e-4, 0), Quant(1 / 32768, 0), torch.sigmoid)
    far = make_qtable16(Quant(1e-2, 0), Quant(1 / 32768, 0), torch.sigmoid)
    assert smooth is not None and far is not None
    assert (len(smooth.constants[0]), len(far.constants[0])) == (513, 4097)
