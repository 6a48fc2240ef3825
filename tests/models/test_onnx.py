"""ONNX files through the whole compiler, against ONNX Runtime."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

import pilotlight as pl
from pilotlight.cli import main
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from support import onnx_models as make


def refused(model: str, *inputs: str, bake: dict[str, object] | None = None) -> PilotlightError:
    with pytest.raises(PilotlightError) as caught:
        pl.load(model, inputs, bake=bake or {})
    return caught.value


def test_a_file_runs_on_a_board_and_matches_onnx_runtime(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make.save(make.small_net(), tmp_path)
    options = ["--board", "mps2-an386", "--input", "x=1x3x16x16", "--bake", "axes=[2,3]", "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["run", file, *options])
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["match"] and found["compared_with"].startswith("ONNX Runtime")
    assert found["operators"][0]["module"] == "stem/conv" and found["operators"][0]["source"] == "net.onnx"


def test_the_truth_is_not_our_own_module(tmp_path: Path) -> None:
    """A file that says something else than what was compiled does not match."""
    graph = pl.load(make.save(make.small_net(), tmp_path), ["1x3x16x16"], bake={"axes": [2, 3]})
    other = make.small_net()
    other.graph.node[1].op_type = "Abs"
    changed = pl.load(make.save(other, tmp_path, "other.onnx"), ["1x3x16x16"], bake={"axes": [2, 3]})
    assert isinstance(graph, Graph) and isinstance(changed, Graph)
    assert pl.compile(graph).session().match
    graph.reference = changed.reference
    assert not pl.compile(graph).session().match


def test_floats_are_held_to_float64(tmp_path: Path) -> None:
    graph = pl.load(make.save(make.small_net(), tmp_path), ["1x3x16x16"], bake={"axes": [2, 3]})
    assert isinstance(graph, Graph)
    (wide,) = graph.truth.in_float64()
    (got,), (want,) = (answers(*graph.truth.example) for answers in (wide, graph.truth.in_float32()))
    assert got.dtype == torch.float64 and 0 < float((got - want.double()).abs().max()) < 1e-6


def test_names_and_shapes_come_from_the_file(tmp_path: Path) -> None:
    net = make.model([make.node("Neg", ["in.put:0"], ["the output"])], {"in.put:0": [2, 3]}, ["the output"])
    graph = pl.load(make.save(net, tmp_path))
    assert isinstance(graph, Graph)
    assert [(p.name, p.shape) for p in graph.inputs] == [("in_put_0", (2, 3))]
    assert [p.name for p in graph.outputs] == ["the output"]


def test_constants_and_shapes_are_folded(tmp_path: Path) -> None:
    """As exporters write `x.view(x.shape[0], -1)`."""
    nodes = [
        make.node("Shape", ["x"], ["s"]), make.node("Gather", ["s", "zero"], ["n"]),
        make.node("Unsqueeze", ["n", "axis"], ["n1"]), make.node("Concat", ["n1", "rest"], ["to"], axis=0),
        make.node("Reshape", ["x", "to"], ["y"]),
    ]
    constants = {"zero": np.array(0), "axis": np.array([0]), "rest": np.array([-1])}
    graph = pl.load(make.save(make.model(nodes, {"x": [2, 3, 4]}, ["y"], constants), tmp_path))
    assert isinstance(graph, Graph)
    assert graph.outputs[0].shape == (2, 12) and all(n.op == "reshape" for n in graph.nodes)


@pytest.mark.parametrize("opset", [7, 11, 13, 18, 21])
def test_older_operator_sets_are_converted(tmp_path: Path, opset: int) -> None:
    """ReduceSum has its axes in an attribute before 13, Unsqueeze and Softmax changed as well."""
    axes = {"axes": [1]} if opset < 13 else {}
    inputs = ["x"] if opset < 13 else ["x", "one"]
    nodes = [make.node("ReduceSum", inputs, ["s"], keepdims=0, **axes),
             make.node("Unsqueeze", ["s", *inputs[1:]], ["u"], **axes), make.node("Softmax", ["x"], ["p"], axis=1),
             make.node("Mul", ["u", "p"], ["y"])]
    net = make.model(nodes, {"x": [2, 3]}, ["y"], {"one": np.array([1])} if opset >= 13 else {}, opset)
    graph = pl.load(make.save(net, tmp_path))
    assert isinstance(graph, Graph) and pl.compile(graph).session().match


def test_what_a_file_says_about_itself_reaches_header_and_metadata(tmp_path: Path) -> None:
    net = make.model([make.node("Relu", ["x"], ["y"])], {"x": [4]}, {"y": [4]}, producer_name="trainer")
    for key, value in (("labels", "cat, dog */ int x;"), ("date", "2026")):
        net.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))
    graph = pl.load(make.save(net, tmp_path))
    assert isinstance(graph, Graph)
    assert graph.notes == {"producer": "trainer", "labels": "cat, dog */ int x;", "date": "2026"}
    module = pl.compile(graph).module
    assert " * labels: cat, dog * / int x;\n" in str(module.files["net.h"])
    assert module.metadata["notes"]["date"] == "2026"
    plain = pl.load(make.save(make.small_net(), tmp_path), ["1x3x8x8"], bake={"axes": [2, 3]})
    assert isinstance(plain, Graph) and "notes" not in pl.compile(plain).module.metadata


def test_quantize_starts_from_an_onnx_file(tmp_path: Path) -> None:
    graph = pl.load(make.save(make.small_net(), tmp_path), ["1x3x16x16"], bake={"axes": [2, 3]})
    assert isinstance(graph, Graph)
    samples = [[torch.from_numpy(make.noise(k, 1, 3, 16, 16))] for k in range(4)]
    session = pl.compile(pl.quantize(graph, samples, "int8")).session()
    assert session.match and session.compared_with == "the integer reference"


def test_what_a_file_lacks_is_asked_for(tmp_path: Path) -> None:
    file = make.save(make.small_net(), tmp_path)
    problem = refused(file)
    assert problem.kind == "dynamic-shape" and "'x' is Nx3xHxW" in problem.message
    assert problem.hint is not None and "--input x=1x3x1x1" in problem.hint
    problem = refused(file, "x=1x3x16x16", "axes=2")
    assert problem.kind == "dynamic-shape" and "--bake axes=VALUE" in str(problem) and "pool" in str(problem)
    assert "'x' is Nx3xHxW in the file; --input says 1x4x16x16" in refused(file, "x=1x4x16x16").message
    assert "has no input 'z'" in refused(file, "z=1").message
    assert "has no input 'z'" in refused(file, bake={"z": 1}).message
    assert "expected int64" in refused(file, "x=1x3x8x8", bake={"axes": [0.5]}).message


def test_all_unknown_operators_are_listed(tmp_path: Path) -> None:
    nodes = [make.node("Sinh", ["x"], ["a"]), make.node("Nonsense", ["a"], ["b"], "first", domain="my.own"),
             make.node("RandomNormalLike", ["b"], ["c"], "noise"), make.node("Add", ["b", "c"], ["y"])]
    net = make.model(nodes, {"x": [2]}, {"y": [2]})
    net.opset_import.append(onnx.helper.make_opsetid("my.own", 1))
    problem = refused(make.save(net, tmp_path))
    assert problem.kind == "unsupported"
    assert "my.own.Nonsense" in str(problem) and "node first" in str(problem) and "custom operator" in str(problem)
    assert "RandomNormalLike" in str(problem) and "random numbers" in str(problem)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    problem = refused(make.save(make.small_net(), tmp_path))
    assert problem.kind == "missing-tool" and "pip install 'pilotlight[onnx]'" in str(problem)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    whole = make.small_net().SerializeToString()
    for name, data in (("cut", whole[: len(whole) // 2]), ("text", b"hello, this is no model"), ("empty", b"")):
        (tmp_path / f"{name}.onnx").write_bytes(data)
        assert refused(str(tmp_path / f"{name}.onnx"), "x=1x3x8x8", bake={"axes": [2, 3]}).kind == "broken-file"
    assert refused(str(tmp_path / "missing.onnx")).kind == "no-file"


def test_cycles_and_types_are_refused(tmp_path: Path) -> None:
    around = [make.node("Add", ["x", "b"], ["a"]), make.node("Neg", ["a"], ["b"])]
    problem = refused(make.save(make.model(around, {"x": [2]}, {"b": [2]}), tmp_path))
    assert problem.kind == "broken-file" and "sorted" in problem.message
    wide = make.model([make.node("Neg", ["x"], ["y"])], {"x": (onnx.TensorProto.DOUBLE, [2])},
                      {"y": (onnx.TensorProto.DOUBLE, [2])})
    assert refused(make.save(wide, tmp_path)).kind == "dtype"
    text = make.model([make.node("Identity", ["x"], ["y"])], {"x": (onnx.TensorProto.STRING, [2])},
                      {"y": (onnx.TensorProto.STRING, [2])})
    assert "string" in refused(make.save(text, tmp_path)).message


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    data = make.model([make.node("Relu", ["x"], ["y"], name="rectified")], {"x": [2]}, {"y": [2]}).SerializeToString()
    assert b"rectified" in data
    (tmp_path / "net.onnx").write_bytes(data.replace(b"rectified", b"rect\xff\xfe\xfded"))
    problem = refused(str(tmp_path / "net.onnx"))
    assert problem.kind == "broken-file" and "not UTF-8" in problem.message


def test_weights_next_to_the_file_are_read_and_others_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    onnx.save_model(make.small_net(), folder / "net.onnx", save_as_external_data=True, location="net.data",
                    size_threshold=0)
    graph = pl.load(str(folder / "net.onnx"), ["x=1x3x8x8"], bake={"axes": [2, 3]})
    assert isinstance(graph, Graph) and pl.compile(graph).session().match
    (folder / "net.data").rename(tmp_path / "net.data")
    assert refused(str(folder / "net.onnx"), "x=1x3x8x8").kind == "no-file"
    outside = onnx.load(folder / "net.onnx", load_external_data=False)
    for tensor in outside.graph.initializer:
        tensor.external_data[0].value = "../net.data"
    problem = refused(make.save(outside, folder, "outside.onnx"), "x=1x3x8x8")
    assert problem.kind == "broken-file" and "outside the folder" in problem.message
