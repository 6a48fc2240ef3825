"""int8 and int4 weights in float layers: near the sum PyTorch computes in float64, the same bits on every core."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
import zoo
from pilotlight import ops
from pilotlight.capture.reference import variations
from pilotlight.graph import FLOAT32, Graph, Node, Port
from pilotlight.kernels import pack_weights
from pilotlight.passes.weights import keep_integer_weights
from pilotlight.quantize.weights import Steps, int4_steps, int8_steps
from pilotlight.session import run_session
from support.command_line import NETS, call_error, call_json
from support.portable_kernels import call

EPS = 2.0**-24
SHAPES = [(1, 256, 64), (3, 203, 151), (2, 7, 5), (1, 1, 1), (4, 32, 4), (1, 33, 6), (2, 300, 3), (5, 64, 130)]


def layer(w: np.ndarray, steps: Steps, rows: int) -> Node:
    """A linear layer that keeps the integers of its weight."""
    graph = Graph("layer")
    outputs, inputs = w.shape
    bias = np.random.default_rng(1).normal(size=outputs).astype(np.float32)
    attrs = {"weight_scale": steps.scale} | ({"weight_group": steps.group} if steps.scale.ndim == 2 else {})
    x, y = graph.fresh("x", FLOAT32, (rows, inputs)), graph.fresh("y", FLOAT32, (rows, outputs))
    constants = [graph.constant(steps.real, "w"), graph.constant(bias, "b")]
    graph.nodes.append(Node("linear", [x, *constants], [y], attrs))
    graph.outputs.append(Port("0", y, y.shape))
    return keep_integer_weights(graph).nodes[0]


def run(node: Node, x: np.ndarray) -> np.ndarray:
    """The kernel of a layer, called in this process."""
    rows, inputs = x.shape
    data = [np.asarray(v.data) for v in node.inputs[1:]]
    y = np.empty((rows, data[-1].size), np.float32)
    fields = {"n": rows, "i": inputs, "o": y.shape[1], "width": pack_weights.width(inputs)}
    end = {"reverse": 0, "act": 0, "lo": 0.0, "hi": 0.0}
    scratch = np.zeros(2 * inputs + 64, np.float32)
    if node.op == "wlinear8":
        call("pl_linear_w8", fields | end, x, pack_weights.pack_w8(data[0]), data[1], data[2], y, scratch)
        return y
    grid = pack_weights.Grid(inputs, node.attrs["group"])
    fields |= {"chunk": grid.chunk, "per": grid.group // grid.chunk, "groups": grid.groups,
               "bits": node.attrs["bits"], "room": grid.room}
    words, steps = pack_weights.pack_w4(data[0]), pack_weights.pack_steps(data[1])
    call("pl_linear_w4", fields | end, x, words, steps, data[2], data[3], y, scratch)
    return y


def reference(node: Node, x: np.ndarray) -> np.ndarray:
    args = [torch.from_numpy(x), *(torch.from_numpy(np.asarray(v.data)) for v in node.inputs[1:])]
    y = ops.get(node.op).reference(node, args)
    assert isinstance(y, torch.Tensor)
    return y.numpy()


def made(mode: str, w: np.ndarray) -> Steps:
    return int8_steps(w) if mode == "int8" else int4_steps(w, int(mode.removeprefix("int4/")))


@pytest.mark.parametrize("mode", ["int8", "int4/32", "int4/8", "int4/64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_kernel_is_near_float64_and_is_its_reference(mode: str, shape: tuple[int, int, int]) -> None:
    rows, inputs, outputs = shape
    rng = np.random.default_rng(inputs)
    w = rng.normal(size=(outputs, inputs)).astype(np.float32)
    steps = made(mode, w)
    node = layer(w, steps, rows)
    assert node.op == ("wlinear8" if mode == "int8" else "wlinear4")
    for spread in (0.0, 2.0):  # inputs of one size, and of sizes far apart
        x = (rng.normal(size=(rows, inputs)) * np.exp(spread * rng.normal(size=(rows, inputs)))).astype(np.float32)
        y = run(node, x)
        bias = np.asarray(node.inputs[-1].data)
        exact = x.astype(np.float64) @ steps.real.astype(np.float64).T + bias
        terms = np.abs(x).astype(np.float64) @ np.abs(steps.real).astype(np.float64).T + np.abs(bias)
        assert np.all(np.abs(y - exact) <= (8 + 2 * inputs**0.5) * EPS * terms)
        assert y.tobytes() == reference(node, x).tobytes()


@pytest.mark.parametrize("mode", ["int8", "int4/32"])
def test_numbers_at_the_ends(mode: str) -> None:
    """Zeros, the smallest and the largest floats, and sums that reach their bound."""
    w = np.full((6, 96), -1.0, np.float32)
    node = layer(w, made(mode, w), 1)
    bias = np.asarray(node.inputs[-1].data)
    apart = np.r_[1e30, np.full(95, 1e-30)]
    for row in (np.zeros(96), np.full(96, -1.9999999), np.full(96, 1e-42), np.full(96, 3e38), apart):
        x = row.astype(np.float32)[None]
        y = run(node, x)
        assert y.tobytes() == reference(node, x).tobytes()
        with np.errstate(over="ignore"):
            want = (bias - x.astype(np.float64).sum()).astype(np.float32)
        np.testing.assert_allclose(y[0], want, rtol=1e-6)


@pytest.mark.parametrize("mode", ["int8", "int4/32"])
def test_infinity_and_nan_go_through(mode: str) -> None:
    w = np.random.default_rng(0).normal(size=(9, 70)).astype(np.float32)
    steps = made(mode, w)
    node = layer(w, steps, 4)
    x = np.random.default_rng(1).normal(size=(4, 70)).astype(np.float32)
    x[1, 3], x[2, 5] = np.inf, np.nan
    want = F.linear(torch.from_numpy(x), torch.from_numpy(steps.real), torch.from_numpy(node.inputs[-1].data)).numpy()
    y = run(node, x)
    assert np.array_equal(np.isfinite(y), np.isfinite(want)) and np.array_equal(np.isnan(y), np.isnan(want))
    np.testing.assert_allclose(y[[0, 3]], want[[0, 3]], rtol=1e-4, atol=1e-4)


def test_int4_beats_rounding_to_the_largest() -> None:
    """The scale of a group is the best of a few candidates."""
    w = np.random.default_rng(0).normal(size=(16, 64)).astype(np.float32)
    plain = np.abs(w.reshape(16, 2, 32)).max(axis=2, keepdims=True) / 7
    naive = (np.clip(np.rint(w.reshape(16, 2, 32) / plain), -8, 7) * plain).reshape(16, 64)
    assert ((int4_steps(w, 32).real - w) ** 2).sum() < 0.95 * ((naive - w) ** 2).sum()


class Net(nn.Module):
    """Linear layers with and without an activation, a 1x1 convolution with batch norm, and a small layer."""

    def __init__(self) -> None:
        super().__init__()
        self.point, self.norm = nn.Conv2d(24, 50, 1), nn.BatchNorm2d(50)
        self.one, self.two, self.last = nn.Linear(50, 101), nn.Linear(101, 38), nn.Linear(38, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.point(x))).mean((2, 3))
        return self.last(torch.tanh(self.two(F.relu6(self.one(x)))))


def net() -> Graph:
    torch.manual_seed(0)
    model = Net().eval()
    with torch.no_grad():
        model.norm.running_mean.uniform_(-0.2, 0.2)
        model.norm.running_var.uniform_(0.5, 2.0)
    return pl.capture(model, (torch.randn(2, 24, 3, 3),), "net")


@pytest.mark.parametrize("mode", ["weights-int8", "weights-int4"])
def test_the_same_bits_on_every_core(mode: str) -> None:
    graph = pl.quantize(net(), mode=mode)
    example = graph.truth.example
    rows = [example, *variations(example, 2)]
    results = []
    for board in ("host", "mps2-an386", "mps2-an385", "microbit", "riscv32-virt"):
        build = pl.compile(graph, board=board)
        session = run_session(build, rows, count=False)
        assert session.match and session.snr_db is not None and session.snr_db[0] is not None
        assert session.snr_db[0] > (30 if mode == "weights-int8" else 12)
        results.append(session.outputs[0][0])
    kinds = [node.op for node in build.lowered.nodes]
    assert kinds.count("wlinear8" if mode == "weights-int8" else "wlinear4") == 3
    assert kinds.count("linear") == 1 and "fused" not in kinds  # the small layer; batch norm and relu went in
    assert all(float((r - results[0]).abs().max()) < 1e-6 for r in results)


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_gpt_end_to_end(board: str) -> None:
    model, inputs = zoo.load("gpt")
    graph = pl.capture(model, inputs, "gpt")
    plain = pl.compile(graph, board=board).module.metadata["weights_bytes"]
    for mode, times in (("weights-int8", 3.0), ("weights-int4", 5.5)):
        build = pl.compile(pl.quantize(graph, mode=mode), board=board)
        assert build.module.metadata["weights_bytes"] * times < plain
        session = run_session(build, count=False)
        assert session.match and session.snr_db is not None and min(s or 99.0 for s in session.snr_db) > 15


class Tied(nn.Module):
    """A table that is an embedding and the last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.middle = nn.Embedding(131, 36), nn.Linear(36, 36)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return F.linear(torch.tanh(self.middle(self.table(ids))), self.table.weight)


@pytest.mark.parametrize(("mode", "stored"), [("weights-int8", 132 * 36), ("weights-int4", 132 * (18 + 4))])
def test_a_table_that_is_embedding_and_layer_is_stored_once(mode: str, stored: int) -> None:
    torch.manual_seed(0)
    graph = pl.capture(Tied().eval(), (torch.tensor([3, 130, 0, -0, 77]),), "tied")
    build = pl.compile(pl.quantize(graph, mode=mode))
    kinds = [node.op for node in build.lowered.nodes]
    bits = mode[-1]
    assert f"wtake{bits}" in kinds and kinds.count(f"wlinear{bits}") == 2 and not build.lowered.fallbacks
    assert build.module.metadata["weights_bytes"] < 1.5 * stored + 4 * (2 * 131 + 4 * 36) + 64
    assert run_session(build).match


@pytest.mark.parametrize("bits", [8, 4])
def test_weights_quantized_by_torchao_stay_integers(bits: int) -> None:
    from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig, quantize_

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 47)).eval()
    quantize_(model, Int8WeightOnlyConfig() if bits == 8 else IntxWeightOnlyConfig(weight_dtype=torch.int4))
    build = pl.compile(pl.capture(model, (torch.randn(2, 64),), "net"))
    assert [node.op for node in build.lowered.nodes] == [f"wlinear{bits}", f"wlinear{bits}"]
    assert run_session(build).match


def test_options_choose_layers_and_groups() -> None:
    graph = net()
    every = pl.compile(pl.quantize(graph, mode="weights-int8", min_weights=1))
    assert [n.op for n in every.lowered.nodes].count("wlinear8") == 4
    none = pl.compile(pl.quantize(graph, mode="weights-int8", min_weights=10**6))
    assert not [n for n in none.lowered.nodes if n.op == "wlinear8"]
    fine, coarse = (pl.compile(pl.quantize(graph, mode="weights-int4", group=g)) for g in (16, 128))
    assert coarse.module.metadata["weights_bytes"] < fine.module.metadata["weights_bytes"]
    with pytest.raises(pl.PilotlightError, match="groups of 12"):
        pl.quantize(graph, mode="weights-int4", group=12)
    with pytest.raises(pl.PilotlightError, match="unknown quantization"):
        pl.quantize(graph, mode="weights-int3")


def test_command_line_without_calibration() -> None:
    result = call_json("run", f"{NETS}:net", "--board", "host", "--quantize", "weights-int8", "--min-weights", "8")
    assert result["match"] and result["snr_db"] is not None
    assert "group" in call_error("run", f"{NETS}:net", "--quantize", "weights-int4", "--group", "9")["message"]
