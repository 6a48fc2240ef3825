"""TensorFlow Lite files: random models against TFLM, what a file may have, and what is wrong with some."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.support.tflite_models import GraphSpec, write_model
from tests.support.tflite_random import CASES, random_model
from tests.tflm.compare import compare, compare_file
from tests.tflm.fuzz import fuzz
from tests.tflm.numerics import TIE_FILTER, TIE_ROW, TIE_SCALES

import pilotlight as pl
from pilotlight.capture.source import file_operators
from pilotlight.capture.tflite.lower import operator_problems
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.errors import PilotlightError, UnsupportedError


@pytest.mark.parametrize(("kind", "name"), [
    (kind, name) for kind in ("INT8", "INT16") for name in sorted(CASES[kind])
])
def test_every_operator_gives_the_bytes_of_tflm(kind: str, name: str) -> None:
    found = compare(name, sum(map(ord, name)), kind)
    assert found.outcome == "same", found.why


@pytest.mark.parametrize(("name", "kind"), [("CHAIN", "INT8"), ("CHAIN", "FLOAT32"), ("QUANTIZE", "INT8")])
def test_a_compiled_model_gives_them_too(name: str, kind: str) -> None:
    found = compare(name, 3, kind, "host")
    assert found.outcome == "same", found.why


def _file(folder: Path, data: bytes, name: str = "model.tflite") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def _relu(**more: object) -> bytes:
    g = GraphSpec()
    x = g.input((1, 4), "INT8", 0.1, 3, name="serving_default_x:0", signature=(-1, 4))
    y = g.tensor((1, 4), "INT8", 0.1, 3, name="model/relu/Relu;model/dense")
    g.call("RELU", [x], [y])
    g.outputs.append(y)
    return write_model(g, **more)


def test_a_file_is_loaded_run_and_compared_with_tflm(tmp_path: Path) -> None:
    session = pl.run(_file(tmp_path, random_model("CHAIN", 1)), board="host")
    assert session.match
    assert session.compared_with == "TFLM"


def test_names_come_from_signatures(tmp_path: Path) -> None:
    graph = pl.load(_file(tmp_path, _relu(signatures=[("serving_default", 0, {"photo": 0}, {"class": 1})])))
    assert [p.name for p in (*graph.inputs, *graph.outputs)] == ["photo", "class"]
    plain = pl.load(_file(tmp_path, _relu()))
    assert [p.name for p in (*plain.inputs, *plain.outputs)] == ["x", "Relu"]


def test_the_header_has_scales_and_zero_points(tmp_path: Path) -> None:
    build = pl.compile(pl.load(_file(tmp_path, _relu())))
    header = build.module.files["model.h"]
    assert "#define MODEL_INPUT_X_SCALE 0.1f" in header
    assert "#define MODEL_INPUT_X_ZERO_POINT (3)" in header
    assert "model_quantize_x" in header


def test_labels_in_the_file_reach_the_header(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("labels.txt", "cat\ndog */\n")
    build = pl.compile(pl.load(_file(tmp_path, _relu(description="Pets.") + archive.getvalue())))
    header = build.module.files["model.h"]
    assert " * description: Pets." in header and " * labels: cat, dog" in header and "dog */" not in header
    assert "a TensorFlow Lite model" in header
    assert build.session().as_dict()["notes"] == {"description": "Pets.", "labels": "cat, dog */"}


def test_files_before_2020_name_operators_in_the_older_field(tmp_path: Path) -> None:
    found = operator_problems(parse_tflite(_relu(old_codes=True), "old.tflite"))
    assert [row.operator.name for row in found] == ["RELU"]


def _counter() -> bytes:
    """A variable that begins as CALL_ONCE says and grows by the input with every call."""
    once = GraphSpec("once")
    handle = once.tensor((), "RESOURCE")
    once.call("VAR_HANDLE", [], [handle], options="VarHandleOptions", Container="", SharedName="total")
    once.call("ASSIGN_VARIABLE", [handle, once.constant(np.full((1, 3), 7, np.int8), 0.5, 0)], [],
              options="AssignVariableOptions")
    g = GraphSpec()
    x = g.input((1, 3), "INT8", 0.5, 0)
    handle = g.tensor((), "RESOURCE")
    before, after = g.tensor((1, 3), "INT8", 0.5, 0), g.tensor((1, 3), "INT8", 0.5, 0)
    g.call("CALL_ONCE", [], [], options="CallOnceOptions", InitSubgraphIndex=1)
    g.call("VAR_HANDLE", [], [handle], options="VarHandleOptions", Container="", SharedName="total")
    g.call("READ_VARIABLE", [handle], [before], options="ReadVariableOptions")
    g.call("ADD", [before, x], [after], options="AddOptions")
    g.call("ASSIGN_VARIABLE", [handle, after], [], options="AssignVariableOptions")
    g.outputs.append(after)
    return write_model(g, once)


def test_resource_variables_are_states() -> None:
    assert compare_file(_counter(), "counter.tflite", board="host").outcome == "same"


def _branches() -> bytes:
    """IF the first input: twice x, else x as it is; WHILE the sum is small: add."""
    g = GraphSpec()
    chosen = g.input((1,), "BOOL")
    x = g.input((2,), "FLOAT32")
    y = g.tensor((2,), "FLOAT32")
    g.call("IF", [chosen, x], [y], options="IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    g.outputs.append(y)
    parts = [GraphSpec("then"), GraphSpec("otherwise")]
    for part, name in zip(parts, ("ADD", "MUL"), strict=True):
        a, b = part.input((2,), "FLOAT32"), part.tensor((2,), "FLOAT32")
        part.call(name, [a, a], [b], options=f"{name.title()}Options")
        part.outputs.append(b)
    return write_model(g, *parts)


def test_branches_are_subgraphs() -> None:
    found = compare_file(_branches(), "branches.tflite", board="host")
    assert found.outcome == "same", found.why


def test_weights_of_16_bits_are_widened() -> None:
    g = GraphSpec()
    x = g.input((1, 3), "FLOAT32")
    half = g.constant(np.arange(6, dtype=np.float16).reshape(2, 3))
    wide, y = g.tensor((2, 3), "FLOAT32"), g.tensor((1, 2), "FLOAT32")
    g.call("DEQUANTIZE", [half], [wide])
    g.call("FULLY_CONNECTED", [x, wide, -1], [y], options="FullyConnectedOptions")
    g.outputs.append(y)
    from pilotlight.capture.tflite.lower import lower_tflite
    from pilotlight.graph.evaluate import evaluate

    graph = lower_tflite(parse_tflite(write_model(g), "half.tflite"), "half")
    (got,) = evaluate(graph, [torch.tensor([[1.0, 2.0, 3.0]])])
    assert got.tolist() == [[8.0, 26.0]]


def test_what_is_missing_is_named_all_at_once(tmp_path: Path) -> None:
    g = GraphSpec("main")
    x = g.input((1, 4), "FLOAT32", name="x")
    y, z = g.tensor((1, 4), "FLOAT32", name="y"), g.tensor((1, 4), "FLOAT32", name="z")
    g.call("MyOperator", [x], [y])
    g.call("UNIQUE", [y], [z])
    g.outputs.append(z)
    with pytest.raises(UnsupportedError) as caught:
        pl.load(_file(tmp_path, write_model(g)))
    text = str(caught.value)
    assert "custom operator MyOperator" in text and "UNIQUE is not supported" in text
    assert "operator 1 of subgraph 0 (main)" in text and "z: FLOAT32[1, 4]" in text


@pytest.mark.parametrize(("cut", "words"), [
    (lambda data: data[:6], "it has 6 bytes"),
    (lambda data: data[:4] + b"TFL2" + data[8:], "not b'TFL3'"),
    (lambda data: data[: len(data) // 2], "would be at byte"),
    (lambda data: b"\xff\xff\xff\x7f" + data[4:], "would be at byte"),
])
def test_damaged_files_are_refused(tmp_path: Path, cut: object, words: str) -> None:
    with pytest.raises(PilotlightError, match=words) as caught:
        pl.load(_file(tmp_path, cut(_relu())))  # type: ignore[operator]
    assert caught.value.kind == "broken-file"


def test_operators_out_of_order_are_refused(tmp_path: Path) -> None:
    g = GraphSpec()
    x = g.input((4,), "FLOAT32")
    y, z = g.tensor((4,), "FLOAT32", name="late"), g.tensor((4,), "FLOAT32")
    g.call("NEG", [y], [z])
    g.call("NEG", [x], [y])
    g.outputs.append(z)
    with pytest.raises(PilotlightError, match="reads late: FLOAT32\\[4\\], which nothing has written before it"):
        pl.load(_file(tmp_path, write_model(g)))


def test_options_that_a_file_cannot_take_are_refused(tmp_path: Path) -> None:
    file = _file(tmp_path, _relu())
    with pytest.raises(PilotlightError, match="is a TensorFlow Lite model with shapes of its own"):
        pl.load(file, ["1x4"])
    with pytest.raises(PilotlightError, match="does not come from PyTorch"):
        pl.quantize(pl.load(file), [torch.zeros(1, 4)])


def test_layers_are_compared_with_those_of_tflm(tmp_path: Path) -> None:
    comparison = pl.compile(pl.load(_file(tmp_path, random_model("CHAIN", 5)))).compare()
    assert comparison.match
    against = [row.against for row in comparison.layers]
    assert against.count("TFLM") >= 4 and set(against) <= {"TFLM", "the graph"}  # a mean takes several steps


def test_inspect_says_what_is_not_supported(tmp_path: Path) -> None:
    rows = file_operators(_file(tmp_path, random_model("CHAIN", 5)))
    assert {row.operator for row in rows} >= {"CONV_2D", "SOFTMAX"} and not any(row.problem for row in rows)
    g = GraphSpec()
    x = g.input((1, 2, 2, 1), "INT8", 0.1, 0)
    y = g.tensor((1, 2, 2, 1), "INT8", 0.2, 0)
    g.call("MAX_POOL_2D", [x], [y], options="Pool2DOptions", Padding=0, StrideH=1, StrideW=1, FilterHeight=1,
           FilterWidth=1)
    g.outputs.append(y)
    (row,) = file_operators(_file(tmp_path, write_model(g)))
    assert row.problem is not None and "several scales" in row.problem


def test_mutated_files_are_read_or_refused() -> None:
    assert sum(fuzz(400, 7_000_000, say=False).values()) == 400


def test_a_missing_package_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    with pytest.raises(PilotlightError, match="needs the package tflite, which is not installed"):
        pl.load(_file(tmp_path, _relu()))


@pytest.mark.parametrize("bias", [True, False])
def test_the_factor_of_a_linear_layer_is_a_product_of_float64(bias: bool) -> None:
    """A sum next to a tie of both roundings, where a product of float32 would round to another step."""
    scales = TIE_SCALES  # of x, the filter and y
    g = GraphSpec()
    x = g.input((1, 8), "INT8", scales[0], 0)
    filters = np.zeros((1, 8), np.int8)
    if not bias:
        filters[0] = TIE_FILTER
    sums = g.constant(np.array([-88337 if bias else 0], np.int32), np.float32(scales[0]) * np.float32(scales[1]), 0)
    y = g.tensor((1, 1), "INT8", scales[2], 96)
    g.call("FULLY_CONNECTED", [x, g.constant(filters, scales[1], 0), sums], [y], options="FullyConnectedOptions")
    g.outputs.append(y)
    from pilotlight.capture.tflite.capture import capture_model
    from pilotlight.graph.evaluate import evaluate

    graph = capture_model(parse_tflite(write_model(g), "tie.tflite"), "tie")
    row = [torch.tensor([TIE_ROW], dtype=torch.int8)]
    assert bias or int(row[0][0].long() @ torch.from_numpy(filters[0]).long()) == -88337
    assert evaluate(graph, row)[0].tolist() == graph.truth.in_float32()(*row)[0].tolist()
