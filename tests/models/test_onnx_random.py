"""A few of the models of `make fuzz-onnx-models`, and that it can tell right from wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotlight.capture.onnx import registry
from pilotlight.capture.onnx.operators import find
from support.fuzz_onnx_models import float_outcome, quantized_outcome
from support.random_onnx import float_model


def test_random_chains_give_what_onnx_runtime_gives(tmp_path: Path) -> None:
    assert {float_outcome(seed, tmp_path, False) for seed in range(20)} == {"imported"}


def test_random_quantized_networks_are_a_step_a_layer_from_onnx_runtime(tmp_path: Path) -> None:
    outcome = quantized_outcome(6, tmp_path, [])
    assert "steps off" in outcome and not outcome.startswith("wrong")


def test_a_wrong_operator_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = next(k for k in range(50) if any(n.op_type == "Transpose" for n in float_model(k).graph.node))
    monkeypatch.setitem(registry.OPERATORS, ("", "Transpose"), find("", "Identity"))
    assert not float_outcome(seed, tmp_path, False).startswith("imported")
