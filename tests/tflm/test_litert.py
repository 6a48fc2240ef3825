"""Files that TFLM cannot run as they are: uint8, 16-bit and sparse weights, integer weights of float layers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.support.tflite_models import GraphSpec, write_model
from tests.support.tflite_random import CASES, random_model
from tests.tflm.compare import compare, compare_file

import pilotlight as pl
from pilotlight.capture.tflite.capture import capture_model
from pilotlight.capture.tflite.interpreters import LITERT, Interpreter
from pilotlight.capture.tflite.lower import lower_tflite
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.capture.tflite.weights import written_out
from pilotlight.errors import PilotlightError
from pilotlight.graph.evaluate import evaluate


@pytest.mark.parametrize(("kind", "name"), [
    (kind, name) for kind in ("UINT8", "HYBRID") for name in sorted(CASES[kind])
])
def test_operators_give_what_a_runtime_gives(kind: str, name: str) -> None:
    found = compare(name, sum(map(ord, name)), kind)
    assert found.outcome == "same", found.why
    assert found.truth == "TFLM" if kind == "HYBRID" or name == "RESHAPE" else "LiteRT"


def test_the_k_largest_are_those_of_litert() -> None:
    for kind in ("INT8", "INT16", "FLOAT32"):
        found = compare("TOPK_V2", 3, kind, "host")
        assert (found.outcome, found.truth) == ("same", "LiteRT"), found.why


@pytest.mark.parametrize("zero", [0, 3, 128, 255])
def test_uint8_filters_may_have_any_zero_point(zero: int) -> None:
    """Exactly: the sums of a linear layer are multiples of the result's step."""
    rng = np.random.default_rng(zero)
    weight = rng.integers(1, 255, (3, 5)).astype(np.uint8)
    g = GraphSpec()
    x = g.input((2, 5), "UINT8", 0.5, 7)
    w = g.constant(weight, 0.25, zero)
    bias = g.constant(np.array([3, -70, 1000], np.int32), 0.125, 0)
    y = g.tensor((2, 3), "UINT8", 0.125 * 1024, 128)
    g.call("FULLY_CONNECTED", [x, w, bias], [y], options="FullyConnectedOptions")
    g.outputs.append(y)
    given = rng.integers(0, 256, (2, 5)).astype(np.uint8)
    sums = (given.astype(np.int64) - 7) @ (weight.astype(np.int64) - zero).T + np.array([3, -70, 1000])
    (got,) = evaluate(lower_tflite(parse_tflite(write_model(g), "uint8.tflite"), "uint8"), [torch.from_numpy(given)])
    assert np.abs(got.numpy().astype(np.int64) - np.clip(np.rint(sums / 1024) + 128, 0, 255)).max() <= 1


def test_a_uint8_file_is_compared_with_litert_within_a_step_for_each_layer(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(random_model("CONV_2D", 4, "UINT8"))
    session = pl.run(str(path), board="host")
    assert session.match and session.compared_with == "LiteRT"
    assert [row.limit for row in session.matches] == [1.0]


def _linear(kind: str, sparse: bool = False) -> tuple[bytes, np.ndarray]:
    g = GraphSpec()
    x = g.input((2, 8), "INT8" if kind == "INT8" else "FLOAT32", *((0.1, 3) if kind == "INT8" else ()))
    rng = np.random.default_rng(5)
    data = rng.integers(-127, 128, (4, 8)) * (rng.random((4, 8)) < 0.4)
    affine = {"scale": [0.02], "zero": [0]} if kind in ("INT8", "HYBRID") else {}
    w = g.constant(data.astype({"FLOAT16": np.float16, "FLOAT32": np.float32}.get(kind, np.int8)), **affine)
    g.tensors[w].sparse = sparse
    y = g.tensor((2, 4), "INT8" if kind == "INT8" else "FLOAT32", *((0.5, -4) if kind == "INT8" else ()))
    wide = w
    if kind == "FLOAT16":
        wide = g.tensor((4, 8), "FLOAT32")
        g.call("DEQUANTIZE", [w], [wide])
    g.call("FULLY_CONNECTED", [x, wide, -1], [y], options="FullyConnectedOptions")
    g.outputs.append(y)
    return write_model(g), data


@pytest.mark.parametrize(("kind", "sparse", "truth"), [
    ("FLOAT16", False, "LiteRT"), ("FLOAT32", True, "TFLM"), ("INT8", True, "TFLM"), ("HYBRID", True, "TFLM"),
    ("HYBRID", False, "TFLM"),
])
def test_weights_are_compared_in_every_form(kind: str, sparse: bool, truth: str) -> None:
    found = compare_file(_linear(kind, sparse)[0], "weights.tflite", board="host")
    assert (found.outcome, found.truth) == ("same", truth), found.why


def test_litert_agrees_about_sparse_weights() -> None:
    model = parse_tflite(_linear("FLOAT32", True)[0], "sparse.tflite")
    x = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
    assert np.array_equal(Interpreter(model, LITERT).run([x])[0], Interpreter(written_out(model), LITERT).run([x])[0])


def test_integer_weights_of_float_layers_stay_integers() -> None:
    data, weight = _linear("HYBRID")
    graph = capture_model(parse_tflite(data, "hybrid.tflite"), "hybrid")
    (node,) = (n for n in graph.nodes if n.op == "wlinear8")
    assert node.inputs[1].data is not None and np.array_equal(node.inputs[1].data, weight)


def test_litert_quantizes_the_inputs_of_such_layers_and_is_near() -> None:
    model = parse_tflite(_linear("HYBRID")[0], "hybrid.tflite")
    x = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
    (coarse,), (fine,) = Interpreter(model, LITERT).run([x]), Interpreter(written_out(model)).run([x])
    assert 0 < np.abs(coarse - fine).max() < 0.02 * np.abs(fine).max()


def test_a_missing_runtime_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ai_edge_litert" else found(name))
    graph = capture_model(parse_tflite(random_model("CONV_2D", 4, "UINT8"), "uint8.tflite"), "uint8")
    with pytest.raises(PilotlightError, match="LiteRT, which might, needs the package ai-edge-litert") as caught:
        graph.truth.in_float32()
    assert caught.value.kind == "missing-tool"
