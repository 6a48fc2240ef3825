"""Control flow, recurrent layers and quantized models in ONNX files, against ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

import pilotlight as pl
from pilotlight.capture.onnx import registry
from pilotlight.cli import main
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate_runs
from support import onnx_models as make

node = make.node


def load(net: onnx.ModelProto, folder: Path) -> Graph:
    graph = pl.load(make.save(net, folder))
    assert isinstance(graph, Graph)
    return graph


def ports(*names: str, kind: int = TensorProto.FLOAT, shape: list[int] | None = None) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, kind, shape if shape is not None else [3]) for name in names]


def test_branches_and_loops_run_on_the_board(tmp_path: Path) -> None:
    """A branch by the data, a loop that ends by the data, one that stacks, and a scan that goes backward."""
    then = helper.make_graph([node("Mul", ["x", "two"], ["t"])], "then", [], ports("t"))
    otherwise = helper.make_graph([node("Sub", ["x", "one"], ["e"])], "otherwise", [], ports("e"))
    scalar: list[int] = []
    until = helper.make_graph(
        [node("Add", ["v", "one"], ["w"]), node("ReduceSum", ["w"], ["s"], keepdims=0),
         node("Less", ["s", "limit"], ["going"])],
        "until", [*ports("i", kind=TensorProto.INT64, shape=scalar), *ports("c", kind=TensorProto.BOOL, shape=scalar),
                  *ports("v")],
        [*ports("going", kind=TensorProto.BOOL, shape=scalar), *ports("w")])
    stacks = helper.make_graph(
        [node("Identity", ["c2"], ["go"]), node("Cast", ["i2"], ["f"], to=1), node("Add", ["v2", "f"], ["w2"]),
         node("Mul", ["w2", "x"], ["row"])],
        "stacks",
        [*ports("i2", kind=TensorProto.INT64, shape=scalar), *ports("c2", kind=TensorProto.BOOL, shape=scalar),
         *ports("v2")],
        [*ports("go", kind=TensorProto.BOOL, shape=scalar), *ports("w2", "row")])
    step = helper.make_graph([node("Add", ["h", "r"], ["h2"]), node("Tanh", ["h2"], ["o"])], "step", ports("h", "r"),
                             ports("h2", "o"))
    nodes = [
        node("ReduceSum", ["x"], ["total"], keepdims=0), node("Greater", ["total", "zero"], ["positive"]),
        node("If", ["positive"], ["a"], then_branch=then, else_branch=otherwise),
        node("Loop", ["", "yes", "a"], ["b"], body=until),
        node("Loop", ["four", "yes", "x"], ["last", "rows"], body=stacks),
        node("Scan", ["b", "rows"], ["end", "outs"], body=step, num_scan_inputs=1, scan_input_directions=[1]),
    ]
    constants = {"one": np.ones(3, np.float32), "two": np.full(3, 2, np.float32), "zero": np.float32(0).reshape(()),
                 "limit": np.array(9.0, np.float32), "yes": np.array(True), "four": np.array(4)}
    graph = load(make.model(nodes, {"x": [3]}, {"end": [3], "outs": [4, 3], "last": [3]}, constants), tmp_path)
    assert {"cond", "while", "scan"} <= {n.op for n in graph.nodes}
    assert pl.compile(graph).session().match
    for sign in (1.0, -1.0):
        row = [torch.tensor([0.5, 1.5, 0.25]) * sign]
        for got, want in zip(evaluate_runs(graph, [row])[0], graph.truth.in_float32()(*row), strict=True):
            assert torch.allclose(got, want, atol=1e-5)


def test_recurrent_layers_are_layers(tmp_path: Path) -> None:
    """Both directions, and a GRU that PyTorch does not have, which is a loop; nothing is unrolled."""
    h, x = 3, 5
    constants = {
        "w": make.noise(0, 2, 4 * h, x), "r": make.noise(1, 2, 4 * h, h), "b": make.noise(2, 2, 8 * h),
        "gw": make.noise(3, 1, 3 * h, x), "gr": make.noise(4, 1, 3 * h, h), "gb": make.noise(5, 1, 6 * h),
    }
    nodes = [
        node("LSTM", ["x", "w", "r", "b"], ["y", "", "c"], hidden_size=h, direction="bidirectional"),
        node("GRU", ["x", "gw", "gr", "gb"], ["g", "gh"], hidden_size=h, direction="reverse"),
        node("GRU", ["x", "gw", "gr", "gb"], ["l"], hidden_size=h, direction="reverse", linear_before_reset=1),
    ]
    outputs = {"y": [7, 2, 1, h], "c": [2, 1, h], "g": [7, 1, 1, h], "gh": [1, 1, h], "l": [7, 1, 1, h]}
    graph = load(make.model(nodes, {"x": [7, 1, x]}, outputs, constants), tmp_path)
    ops = [n.op for n in graph.nodes]
    assert ops.count("lstm") == 2 and "gru" in ops and ops.count("scan") == 1, ops
    assert pl.compile(graph).session().match


def network() -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4, strides=[2, 2]), node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1] * 4, group=8), node("Clip", ["c2", "lo", "hi"], ["r2"]),
        node("Conv", ["r2", "w3", "b3"], ["c3"]), node("Add", ["c3", "r1"], ["a"]), node("Relu", ["a"], ["r3"]),
        node("GlobalAveragePool", ["r3"], ["g"]), node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "w4", "b4"], ["y"], transB=1),
    ]
    constants = {
        "w1": make.noise(0, 8, 3, 3, 3), "b1": make.noise(1, 8), "w2": make.noise(2, 8, 1, 3, 3) * 2,
        "b2": make.noise(3, 8), "w3": make.noise(4, 8, 8, 1, 1), "b3": make.noise(5, 8), "w4": make.noise(6, 10, 8),
        "b4": make.noise(7, 10), "lo": np.float32(0).reshape(()), "hi": np.array(6.0, np.float32),
    }
    return make.model(nodes, {"x": [1, 3, 16, 16]}, {"y": [1, 10]}, constants, opset=17)


class Samples(CalibrationDataReader):
    def __init__(self) -> None:
        self.left = iter(range(8))

    def get_next(self) -> dict[str, np.ndarray] | None:
        k = next(self.left, None)
        return None if k is None else {"x": make.noise(100 + k, 1, 3, 16, 16) * 4}


@pytest.mark.parametrize("activations", ["QInt8", "QUInt8"])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
def test_quantized_networks_are_integers_and_a_step_from_onnx_runtime(
    tmp_path: Path, form: str, activations: str
) -> None:
    file = tmp_path / "quantized.onnx"
    quantize_static(make.save(network(), tmp_path), file, Samples(), quant_format=QuantFormat[form],
                    activation_type=QuantType[activations], weight_type=QuantType.QInt8, per_channel=form == "QDQ")
    graph = pl.load(str(file))
    assert isinstance(graph, Graph)
    build = pl.compile(graph, "mps2-an386")
    assert [n.op for n in build.lowered.nodes] == [
        "qconv2d", "qconv2d", "qconv2d", "qadd", "qmean", "reshape", "qlinear"]
    step = build.lowered.outputs[0].value.quant
    assert step is not None
    rows = [[torch.from_numpy(make.noise(100 + k, 1, 3, 16, 16) * 4)] for k in range(12)]
    truth = graph.truth.in_float32()
    for row, (got,) in zip(rows, evaluate_runs(build.lowered, rows), strict=True):
        assert float((got - truth(*row)[0]).abs().max()) <= 1.01 * step.scale
    if activations == "QUInt8" and form == "QDQ":
        session = build.session()
        assert session.match and session.compared_with == "the integer reference"


def test_quantized_weights_keep_their_integers(tmp_path: Path) -> None:
    """Scales for each column of MatMul's weights, in int4; a zero point that is not the middle is refused."""
    nodes = [
        node("QuantizeLinear", ["x", "xs", "xz"], ["q"]), node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
        node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=1), node("MatMul", ["d", "dw"], ["m"]),
        node("QuantizeLinear", ["m", "ys", "xz"], ["qm"]), node("DequantizeLinear", ["qm", "ys", "xz"], ["y"]),
    ]
    weights = np.random.default_rng(0).integers(-7, 8, (6, 4))
    constants = {"xs": np.array(0.05, np.float32), "xz": np.array(3, np.int8), "ys": np.array(0.02, np.float32),
                 "ws": np.array([0.1, 0.02, 0.03, 0.04], np.float32), "wz": np.zeros(4, np.int8)}
    net = make.model(nodes, {"x": [2, 6]}, {"y": [2, 4]}, constants)
    net.graph.initializer.append(helper.make_tensor("w", TensorProto.INT4, [6, 4], weights.reshape(-1).tolist()))
    zeros = next(t for t in net.graph.initializer if t.name == "wz")
    zeros.CopyFrom(helper.make_tensor("wz", TensorProto.INT4, [4], [0] * 4))
    build = pl.compile(load(net, tmp_path))
    (layer,) = [n for n in build.lowered.nodes if n.op == "qlinear"]
    kept = [v.data for v in layer.inputs if v.data is not None and v.data.dtype == np.int8]
    assert np.array_equal(np.sort(kept[0].reshape(-1)), np.sort(weights.reshape(-1)))
    uneven = make.model(nodes, {"x": [2, 6]}, {"y": [2, 4]}, {
        **constants, "w": np.array([[-128, 127] * 2] * 6, np.int8), "wz": np.array([5] * 4, np.int8)})
    with pytest.raises(PilotlightError, match="zero point 5"):
        load(uneven, tmp_path)


def test_an_import_that_differs_from_onnx_runtime_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = make.model([node("Relu", ["x"], ["y"])], {"x": [8]}, {"y": [8]})
    monkeypatch.setitem(registry.OPERATORS, ("", "Relu"), registry.OPERATORS["", "Abs"])
    with pytest.raises(PilotlightError, match="not what ONNX Runtime"):
        load(net, tmp_path)


def test_inspect_lists_the_operators_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Unique", ["b"], ["y"])]
    with pytest.raises(SystemExit) as ended:
        main(["inspect", make.save(make.model(nodes, {"x": [4]}, {"y": ["n"]}), tmp_path)])
    shown = capsys.readouterr()
    assert ended.value.code == 2 and "Unique" in shown.out and "no function computes it yet" in shown.out
    assert "Neg" in shown.out and "supported" in shown.out and "node Unique_2" in shown.err
    good = make.save(make.model(nodes[:1], {"x": [4]}, {"a": [4]}), tmp_path)
    with pytest.raises(SystemExit):
        main(["inspect", good, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["file_operators"] == [{"operator": "Neg", "nodes": 1, "supported": True, "problem": None}]
