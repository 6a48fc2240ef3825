"""16-bit activations in whole models and single layers: the bytes of the reference, more signal than int8, nothing
silent; and the search for the fewest wider layers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from pilotlight import fixed
from pilotlight.graph import INT8, INT16, Graph, Node, Place, Port, Quant
from pilotlight.graph.builder import Builder
from pilotlight.graph.evaluate import evaluate
from pilotlight.ops.dense.int16 import make_dense
from pilotlight.ops.quantize import make_dequantize, make_quantize
from pilotlight.passes.pipeline import optimize
from pilotlight.quantize import quantize
from pilotlight.session import Session, run_session
from support.c_compilers import SANITIZERS
from support.command_line import call, call_json
from support.modules import Forward, outlier

Samples = list[list[torch.Tensor]]


class Cnn(nn.Module):
    """Convolutions, depthwise and grouped too, a residual, pooling, a resize, a concatenation, functions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depth = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.grouped = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2)
        self.last = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.first(x))
        y = F.hardswish(self.depth(x)) + torch.sigmoid(self.grouped(x)) * x
        half = F.interpolate(F.avg_pool2d(y, 2), scale_factor=2, mode="bilinear")
        both = torch.cat([F.max_pool2d(half, 2), F.max_pool2d(F.leaky_relu(x), 2)], 1)
        return self.last(both.mean((2, 3)))


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(20, 32), nn.LayerNorm(32), nn.Linear(32, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.b(F.gelu(self.norm(self.a(x)))))


class Attend(nn.Module):
    """Attention written out: products of activations and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(12, 12) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        return scores.softmax(-1) @ self.v(x)


MODELS: dict[str, tuple[type[nn.Module], tuple[int, ...]]] = {
    "cnn": (Cnn, (1, 3, 16, 16)), "mlp": (Mlp, (3, 20)), "attend": (Attend, (1, 7, 12)),
}


def captured(name: str) -> tuple[Graph, Samples]:
    torch.manual_seed(4)
    kind, shape = MODELS[name]
    samples = [[torch.randn(shape)] for _ in range(8)]
    return pl.capture(kind().eval(), samples[0], name), samples


def session_of(graph: Graph, samples: Samples, mode: str, board: str = "host", **choices: object) -> Session:
    return run_session(pl.compile(quantize(graph, samples, mode, **choices), board=board), samples)


@pytest.mark.parametrize("name", MODELS)
def test_a_whole_model_matches_and_keeps_more_signal(name: str) -> None:
    graph, samples = captured(name)
    narrow = session_of(graph, samples, "int8")
    wide = session_of(graph, samples, "int16x8", "mps2-an386")
    assert wide.match and not wide.build.lowered.fallbacks
    assert all(v.dtype.name != "int8" or v.is_constant for v in wide.build.lowered.values())
    assert narrow.snr_db and wide.snr_db and narrow.snr_db[0] and wide.snr_db[0]
    assert wide.snr_db[0] > narrow.snr_db[0] + 5  # what is left is mostly the weights' noise
    (port,) = wide.build.module.metadata["inputs"]
    assert port["dtype"] == "int16"


@pytest.mark.parametrize("names", [["first"], ["grouped"], ["x"], ["depth", "last"]], ids=", ".join)
def test_single_layers_may_be_wide(names: list[str]) -> None:
    graph, samples = captured("cnn")
    session = session_of(graph, samples, "int8", wide=names)
    kinds = {node.op for node in session.build.lowered.nodes}
    assert session.match and not session.build.lowered.fallbacks
    assert any(op.endswith("_s16") for op in kinds) and kinds & {"qconv2d", "qlinear"}
    macs = session.figures["quantization"]["macs"]
    assert macs["int16x8"] and macs["int8"] and not macs["float"]


@pytest.mark.parametrize("bits", [8, 16])
def test_a_clamp_after_a_concatenation_holds(bits: int) -> None:
    """Parts of other scales and of the result's own, limited on their way."""
    graph = Graph("limited")
    b = Builder(graph)
    parts = []
    for k, s in enumerate((0.5, 0.25)):
        value = graph.fresh(f"x{k}", INT8 if bits == 8 else INT16, (2, 3))
        graph.inputs.append(Port(value.name, value, value.shape))
        parts.append(make_dequantize(Quant(s, 0)).build(b, value)[0])
    joined = b.node("clamp_min", [b.node("concat", parts, axis=1), b.constant(np.float32(-1.0))])
    (out,) = make_quantize(Quant(0.5, 0), bits).build(b, joined)
    graph.outputs.append(Port("y", out, out.shape))
    rows = [torch.tensor([[-8, 4, 6], [10, -2, 0]], dtype=torch.int8 if bits == 8 else torch.int16)] * 2
    want = torch.cat([rows[0], (rows[1] * 0.25 / 0.5).round()], 1).clamp(min=-2)
    lowered = optimize(graph)
    assert not any(node.op in ("quantize", "dequantize", "clamp_min") for node in lowered.nodes)
    assert torch.equal(evaluate(lowered, rows)[0].double(), want.double())


def test_an_unknown_layer_is_named() -> None:
    graph, samples = captured("cnn")
    with pytest.raises(pl.PilotlightError, match="did you mean 'grouped'") as error:
        quantize(graph, samples, wide=["groupd"])
    assert error.value.kind == "usage" and "first" in str(error.value.hint)


class Odd(nn.Module):
    """Operators without a 16-bit form beside some that have one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.GRU(6, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.last(self.layer(x)[0])
        return F.scaled_dot_product_attention(y, y, y) + torch.floor(y)


def test_what_has_no_wide_form_is_named() -> None:
    torch.manual_seed(2)
    samples = [[torch.randn(1, 5, 6)] for _ in range(6)]
    session = session_of(pl.capture(Odd().eval(), samples[0], "odd"), samples, "int16x8", "host")
    reasons = {f.node.op: f.reason for f in session.build.lowered.fallbacks}
    assert session.match
    assert {"gru", "attention", "floor"} <= set(reasons)
    assert reasons["attention"] == "attention has no 16-bit form"


def test_scales_that_overflow_the_contract_name_layer_and_range() -> None:
    weight, bias = np.full((2, 3, 3, 64), 1.0), np.zeros(2)
    node = Node("conv2d", [], [], {}, Place("blocks.3.conv", "net.py:7"))
    with pytest.raises(pl.PilotlightError, match=r"output channel 0 can reach .* steps") as error:
        make_dense(node, 1.0, 1e-7, weight, np.full(2, 1 / 127), bias)
    assert error.value.kind == "overflow" and error.value.where == "blocks.3.conv, net.py:7"


@pytest.mark.parametrize("mode", ["int8", "int16x8"])
def test_a_layer_whose_range_was_never_seen_stays_float(mode: str) -> None:
    """Calibration that shows nothing but the smallest outputs, for which an accumulator would overflow."""

    class Tiny(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(256, 3, bias=False)
            nn.init.ones_(self.inner.weight)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

    pairs = torch.randn(128)
    x = torch.cat([pairs, -pairs])  # cancels out: the output is nothing but rounding
    graph = pl.capture(Tiny(), [x[None]], "tiny")
    (fallback,) = optimize(quantize(graph, [[x[None]], [x.flip(0)[None]]], mode)).fallbacks
    assert fallback.node.place.module == "inner" and "output channel" in fallback.reason


@pytest.mark.parametrize("mode", ["int8", "int16x8"])
def test_a_difference_too_small_for_its_inputs_stays_float(mode: str) -> None:
    class Difference(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x - y

    x = torch.randn(1, 40)
    rows = [[x, x + 1e-8 * torch.randn(1, 40).sign()]] * 2
    (fallback,) = optimize(quantize(pl.capture(Difference(), rows[0], "difference"), rows, mode)).fallbacks
    assert fallback.node.op == "sub" and "times finer than its inputs" in fallback.reason


def test_accumulators_of_64_bits_only_where_they_are_needed() -> None:
    small, large = fixed.wide_multiplier(0.001, 2**30), fixed.wide_multiplier(0.001, 2**36)
    assert (small.shift, small.down) == (0, 0) and (large.shift, large.down) == (0, 6)
    acc = np.array([2**36 - 1, -(2**36), 12345678901])
    exact = [math.floor(float(a) * 0.001 + 0.5) for a in acc]
    got = fixed.requantize(acc, large, 0, (-(2**31), 2**31 - 1), np.int64)
    assert np.abs(got - exact).max() <= 2**36 * 2.0**-33 * 0.5 + 1


@pytest.mark.parametrize("labelled", [True, False])
def test_auto_widens_the_one_layer_that_loses(labelled: bool) -> None:
    model, samples, labels = outlier()
    graph = pl.capture(model, samples[0], "outlier")
    quantized = quantize(graph, samples, "auto", labels=labels if labelled else None, max_loss=0.05)
    found = quantized.quantization.as_dict()
    assert [(row["as"], row["module"]) for row in found["wider"]] == [("int16x8", "b")]
    assert found["loss"] <= 0.05 < found["int8_loss"]
    assert ("labelled" in found["rule"]) == labelled
    session = run_session(pl.compile(quantized), samples)
    assert session.match
    assert session.figures["quantization"]["cost"]["arena"] > 0


def test_auto_leaves_int8_where_it_holds() -> None:
    graph, samples = captured("mlp")
    quantized = quantize(graph, samples, "auto", max_loss=0.2)
    assert quantized.quantization.as_dict()["wider"] == []
    assert {v.dtype.name for v in optimize(quantized).values()} <= {"int8", "int32", "float32"}


MODEL = '''
import torch
from torch import nn
from support.modules import Forward, outlier
net, samples, _ = outlier()
example = tuple(samples[0])
'''


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    _, samples, labels = outlier()
    np.savez(tmp_path / "data.npz", x=torch.cat([s[0] for s in samples]).numpy(), label=labels.numpy())
    (tmp_path / "net.py").write_text(MODEL)
    return tmp_path / "net.py", tmp_path / "data.npz"


def test_command_line(files: tuple[Path, Path]) -> None:
    net, data = files
    common = ("run", f"{net}:net", "--input", "1x8", "--board", "host", "--calibrate", data)
    wide = call_json(*common, "--quantize", "int16x8")
    assert wide["match"] and wide["quantization"]["macs"]["int8"] == 0
    one = call_json(*common, "--quantize", "int8", "--wide", "b", "--max-loss", "5%")
    assert one["match"] and one["quantization"]["macs"]["int16x8"]
    call_json(*common, "--quantize", "int8", "--max-loss", "5%", exit_code=1)
    text = call(*common, "--quantize", "auto", "--max-loss", "5%").output
    assert "wider" in text and "linear at b" in text and "allowed 5.00%" in text and "cost" in text


def test_a_loss_that_cannot_be_held_is_told_with_its_figures(files: tuple[Path, Path]) -> None:
    net, data = files
    np.savez(data, x=np.load(data)["x"])
    common = ("inspect", f"{net}:net", "--input", "1x8", "--board", "host", "--calibrate", data)
    error = call_json(*common, "--quantize", "auto", "--max-loss", "0.0000001", exit_code=1)["error"]
    assert error["kind"] == "loss" and "in int16x8" in error["message"] and "in int8" in error["message"]


def test_a_number_without_dimensions_stays_one() -> None:
    net = Forward(lambda x: torch.addcdiv(x, x.min(), x.min().abs() + 1))
    samples = [torch.randn(3, generator=torch.Generator().manual_seed(k)) for k in range(8)]
    build = pl.compile(quantize(pl.capture(net, (samples[0],), "net"), samples, "int16x8"), float_io=True)
    with build.open("host", sanitize=SANITIZERS) as running:
        for x in samples:
            (want,) = evaluate(build.lowered, [x])
            assert torch.equal(running.flat([x])[0], want) and float((want - net(x)).abs().max()) < 0.01
