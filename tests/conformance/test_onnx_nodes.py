"""Some of ONNX's own tests, and that the run over all of them can tell right from wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from conformance.onnx.__main__ import judge
from conformance.onnx.cases import BAKED, RUN_TIME, make_case
from conformance.onnx.judge import OnnxTruth
from conformance.onnx.tests import OnnxTest, node_tests
from conformance.results import totals
from support import onnx_models as make

EACH = 47


def test_some_of_the_node_tests_pass(tmp_path: Path) -> None:
    chosen = node_tests()[::EACH]
    operators = judge(chosen, list(dict.fromkeys(test.operator for test in chosen)), tmp_path)
    found = totals(operators)
    problems = [f"{o.name} {outcome}: {reason}" for o in operators for _, _, outcome, reason in o.problems()]
    assert found["wrong"] == 0 and sum(found.values()) == len(chosen), problems
    assert found["pass"] >= 0.7 * len(chosen), problems


def axes_test(expected: np.ndarray) -> OnnxTest:
    x = make.noise(0, 2, 3)
    net = make.model([make.node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)], {"x": [2, 3], "axes": (7, [1])},
                     {"y": [3]})
    return OnnxTest("axes", "node", "ReduceSum", net, [x, np.array([0])], [expected], 1e-3, 1e-7)


def test_only_what_must_be_known_is_baked() -> None:
    case = make_case(axes_test(make.noise(0, 2, 3).sum(0)), 0)
    assert case.baked == ("axes",) and case.dtype == BAKED
    assert [x.shape for x in case.inputs()] == [(2, 3)]
    add = next(test for test in node_tests() if test.name == "test_add")
    assert make_case(add, 0).dtype == RUN_TIME and len(make_case(add, 0).inputs()) == 2


def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    right = axes_test(make.noise(0, 2, 3).sum(0))
    wrong = replace(right, outputs=[right.outputs[0] * 1.01], operator="Other")
    outcomes = {o.name: o for o in judge([right, wrong], ["ReduceSum", "Other"], tmp_path)}
    assert outcomes["ReduceSum"].count("pass") == 1 and outcomes["Other"].count("wrong") == 1


def test_the_judge_wants_shape_type_and_numbers() -> None:
    truth = OnnxTruth(make_case(axes_test(np.array([1.0, 2.0, np.nan], np.float32)), 0))
    right = torch.tensor([1.0, 2.0, torch.nan])
    assert truth.differs([right]) is None and truth.differs([right * 1.0005]) is None
    assert truth.differs([right * 1.002]) is not None
    assert truth.differs([right.double()]) is not None and truth.differs([right[:2]]) is not None
    assert truth.differs([torch.tensor([1.0, 2.0, 0.0])]) is not None
