"""Operators under TFLM's contract: the reference against TFLM itself, the C against the reference, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.q_cases import KINDS, expected, graph_of
from support.q_checks import cases_of, check_board, check_mutation_is_found, check_watched
from support.tflm_cases import MAKERS


@pytest.mark.parametrize("name", MAKERS)
def test_reference_is_tflm(name: str) -> None:
    rng = np.random.default_rng(0)
    for case in cases_of(MAKERS, name, 12):
        graph = graph_of([case])
        for kind in KINDS[1:]:
            args = case.draw(rng, kind)
            want = case.real(*args)
            assert np.array_equal(expected(graph, args)[0].numpy(), want.numpy()), case.spec


def test_c_is_the_reference(tmp_path: Path) -> None:
    check_watched([case for name in MAKERS for case in cases_of(MAKERS, name, 6)], tmp_path)


@pytest.mark.parametrize(("name", "op"), [("add", "tflm_sum"), ("sub", "tflm_sum"), ("steep", "tflm_add")])
def test_sums_of_int8_are_linear_where_32_bits_hold_them(name: str, op: str) -> None:
    assert {case.spec.op for case in cases_of(MAKERS, name, 12)} == {op}


MUTATIONS = {
    "add": ("(b * x1[0]), shift)", "(b * x1[0]), shift + 1)"),
    "add_s16": ("(mask >> 1) + ((v < 0) ? 1u : 0u)", "(mask >> 1) + 9u"),
    "mul": ("((low >> 30) + 1u) >> 1", "(low >> 31)"),
    "average_pool": ("+ half", "+ 0u"),
    "softmax_s16": ("i < 3", "i < 1"),
    "conv_s16": ("one << (total - 1u)", "one << (total - 2u)"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_one_wrong_constant_is_found(name: str, tmp_path: Path) -> None:
    check_mutation_is_found(cases_of(MAKERS, name, 24), *MUTATIONS[name], tmp_path)


@pytest.mark.parametrize("board", ["microbit", "mps2-an386", "mps3-an547", "riscv32-virt"])
def test_boards_give_the_same_bytes(board: str) -> None:
    check_board(MAKERS, board)
