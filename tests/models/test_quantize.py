"""int8 through PT2E: the same bytes as the integer reference, close to float, nothing silent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
import zoo
from pilotlight import fixed, ops
from pilotlight.capture.reference import ExportedAnswers, functionalize, variations
from pilotlight.graph.evaluate import evaluate
from pilotlight.passes.constant_channels import drop_constant_channels
from pilotlight.passes.pipeline import optimize, passes
from pilotlight.quantize import quantize
from pilotlight.quantize.layers import layer_snr
from pilotlight.session import run_session
from support.command_line import NETS, call_error, call_json


class Small(nn.Module):
    """Convolutions with and without padding, depthwise, a residual, pooling, a linear layer, softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.depth = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 8, 1)
        self.last = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.first(F.pad(x, (0, 1, 0, 1)))))
        x = F.relu6(x + self.point(F.hardswish(self.depth(x))))
        return self.last(F.avg_pool2d(x, 4).mean((2, 3))).softmax(1)


def small() -> tuple[nn.Module, list[list[torch.Tensor]]]:
    torch.manual_seed(3)
    model = Small().eval()
    with torch.no_grad():
        model.norm.running_mean.uniform_(-0.2, 0.2)
        model.norm.running_var.uniform_(0.5, 2.0)
    return model, [[torch.randn(1, 3, 16, 16)] for _ in range(8)]


@pytest.fixture(scope="module")
def quantized() -> tuple[pl.Build, list[list[torch.Tensor]]]:
    model, samples = small()
    graph = pl.capture(model, samples[0], "small")
    return pl.compile(quantize(graph, samples), board="mps2-an386"), samples


def test_board_has_the_bytes_of_the_reference(quantized: tuple[pl.Build, list[list[torch.Tensor]]]) -> None:
    build, samples = quantized
    session = run_session(build, samples, labels=torch.zeros(len(samples), dtype=torch.int64))
    assert session.match
    assert session.snr_db is not None and session.snr_db[0] is not None and session.snr_db[0] > 20
    assert not build.lowered.fallbacks
    assert session.accuracy is not None and session.accuracy.pt2e is not None


def test_ports_are_int8_with_their_scale_in_the_header(quantized: tuple[pl.Build, list[list[torch.Tensor]]]) -> None:
    build, _ = quantized
    (port,) = build.module.metadata["inputs"]
    header = build.module.files["small.h"]
    assert isinstance(header, str)
    assert port["dtype"] == "int8" and "int8_t *small_input_x" in header
    assert "SMALL_INPUT_X_SCALE" in header and "SMALL_OUTPUT_0_ZERO_POINT (-128)" in header


def test_float_ports_on_request(quantized: tuple[pl.Build, list[list[torch.Tensor]]]) -> None:
    build, samples = quantized
    real = pl.compile(build.graph, board="host", float_io=True)
    assert real.module.metadata["inputs"][0]["dtype"] == "float32"
    assert torch.equal(real.run(*samples[1]), build.run(*samples[1], on="host"))


@pytest.mark.parametrize("name", ["kws", "ic", "mobilenet_v3", "unet", "cnn1d", "tcn", "lstm", "gru", "encoder", "gpt"])
def test_zoo_in_int8_is_exact_and_close(name: str) -> None:
    model, inputs = zoo.load(name)
    graph = pl.capture(model, inputs, name)
    example = graph.truth.example
    samples = [example, *variations(example, 3)]
    session = run_session(pl.compile(quantize(graph, samples), board="host"), samples)
    assert session.match
    assert session.snr_db is not None
    assert min(s for s in session.snr_db if s is not None) > 12


def test_a_step_from_pt2e_at_most_one_in_a_single_layer() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(6, 10, 3, padding=1, stride=2), nn.ReLU()).eval()
    samples = [[torch.randn(1, 6, 9, 9) * 2] for _ in range(20)]
    graph = quantize(pl.capture(model, samples[0], "layer"), samples)
    reference = ExportedAnswers(functionalize(graph.quantization.program))
    lowered = optimize(graph.clone())
    step = lowered.outputs[0].quant
    assert step is not None
    for sample in samples:
        apart = (evaluate(lowered, sample)[0] - reference(*sample)[0]).abs().max()
        assert float(apart) <= 1.001 * step.scale


class Dead(nn.Module):
    """Filters too small for a scale of their own, with a bias that matters."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(4, 12, 1), nn.Conv2d(12, 12, 3, padding=1, groups=12), nn.Conv2d(12, 6, 1)
        with torch.no_grad():
            self.a.weight[3:9] *= 1e-31
            self.a.bias[3:6] = -1.0  # always below zero: constant at the padding's own number
            self.a.bias[6:9] = 0.7

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(F.relu(self.b(F.relu(self.a(x)))))


def test_constant_channels_go_without_changing_a_bit() -> None:
    torch.manual_seed(1)
    samples = [[torch.randn(1, 4, 8, 8)] for _ in range(6)]
    graph = quantize(pl.capture(Dead().eval(), samples[0], "dead"), samples).clone()
    for name, step in passes():
        if name == "drop constant channels":
            break
        graph = step(graph)
    before = [evaluate(graph, s)[0] for s in samples]
    macs = sum(ops.get(n.op).macs(n) for n in graph.nodes)
    graph = drop_constant_channels(graph)
    assert all(torch.equal(evaluate(graph, s)[0], b) for s, b in zip(samples, before, strict=True))
    assert sum(ops.get(n.op).macs(n) for n in graph.nodes) < 0.8 * macs


def test_a_depthwise_layer_may_keep_one_channel() -> None:
    """Its one group left is not taken for a layer that sums channels."""
    torch.manual_seed(2)
    model = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ReLU(), nn.Conv2d(3, 3, 3, groups=3), nn.ReLU(), nn.Conv2d(3, 4, 1))
    with torch.no_grad():
        model[0].bias[:2] = -50.0  # type: ignore[index, operator]
    samples = [[torch.randn(1, 2, 5, 5)] for _ in range(4)]
    graph = optimize(quantize(pl.capture(model.eval(), samples[0], "one"), samples))
    depthwise = [node for node in graph.nodes if node.op == "qconv2d" and node.attrs["kernel"] == (3, 3)]
    assert depthwise[0].inputs[0].shape[-1] == 1
    largest = max(float(model(*s).abs().max()) for s in samples)
    build = pl.compile(graph)
    for s in samples:
        assert float((build.run(*s, on="host") - model(*s)).abs().max()) < 0.05 * largest


def test_rounded_high_multiply_is_what_it_says() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-(2**31), 2**31, 1000), rng.integers(0, 2**31, 1000)
    exact = [(int(x) * int(y) + 2**31) // 2**32 for x, y in zip(a, b, strict=True)]
    assert fixed.rhmul(a, b).tolist() == exact
    m = fixed.multiplier(np.array([0.3, 0.8, 1.7]))
    assert m.shift == 2 and np.all(m.value < 2**31)


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([], "empty"),
        ([[torch.full((1, 3, 16, 16), float("nan"))]], "NaN"),
        ([[torch.ones(1, 3, 16, 16)]], "same value"),
        ([[torch.randn(1, 3, 8, 8)]], "expected"),
    ],
)
def test_bad_calibration_gets_a_sentence(samples: list[list[torch.Tensor]], words: str) -> None:
    model, good = small()
    with pytest.raises(pl.PilotlightError, match=words):
        quantize(pl.capture(model, good[0], "small"), samples)


@pytest.mark.parametrize("observer", ["moving-average", "percentile", "mse"])
def test_other_observers(observer: str) -> None:
    model, samples = small()
    graph = quantize(pl.capture(model, samples[0], "small"), samples, observer=observer)
    got, want = evaluate(optimize(graph), samples[0])[0], model(*samples[0])
    assert float((got - want).abs().max()) < 0.1


def test_layers_are_compared_worst_first() -> None:
    model, samples = small()
    graph = pl.capture(model, samples[0], "small")
    rows = layer_snr(graph, quantize(graph, samples), samples[:4])
    words = [row.op for row in rows]
    assert {"linear", "softmax"} <= set(words) and any(text.startswith("conv2d 3x3") for text in words)
    assert [row.snr_db for row in rows] == sorted(row.snr_db for row in rows)


def test_what_stays_float_is_named() -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cumprod(F.relu(x), 1)

    samples = [[torch.randn(1, 8)] for _ in range(4)]
    build = pl.compile(quantize(pl.capture(Odd(), samples[0], "odd"), samples))
    assert [f.node.op for f in build.lowered.fallbacks] == ["cumprod"]
    assert run_session(build, samples).match


def test_command_line(tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    shape = pl.load(f"{NETS}:net").inputs[0].shape
    x = np.random.default_rng(0).standard_normal((6, *shape)).astype(np.float32)
    np.savez(data, x=x, label=np.zeros(6, np.int64))
    result = call_json("run", f"{NETS}:net", "--board", "host", "--quantize", "int8", "--calibrate", data)
    assert result["match"] and result["snr_db"][0] > 15
    assert set(result["accuracy"]) >= {"float", "pt2e", "board"}
    layers = call_json("compare", f"{NETS}:net", "--quantize", "int8", "--calibrate", data)["layers"]
    assert layers and all(row["module"] or row["source"] for row in layers)
    assert "--calibrate" in call_error("run", f"{NETS}:net", "--board", "host", "--quantize", "int8")["hint"]


def test_a_model_quantized_elsewhere_with_pt2e_compiles_as_it_is(tmp_path: Path) -> None:
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from pilotlight.quantize.quantizer import Int8Quantizer

    model, samples = small()
    prepared = prepare_pt2e(torch.export.export(model, tuple(samples[0])).module(), Int8Quantizer())
    for sample in samples:
        prepared(*sample)
    converted = convert_pt2e(prepared)
    torch.export.save(torch.export.export(converted, tuple(samples[0])), tmp_path / "small.pt2")
    build = pl.compile(pl.load(str(tmp_path / "small.pt2")))
    assert {"qconv2d", "qlinear", "qsoftmax"} <= {node.op for node in build.lowered.nodes}
    assert not build.lowered.fallbacks
    session = run_session(build, samples)
    assert session.match
    assert float((session.outputs[0][0] - converted(*samples[0])).abs().max()) < 0.03


def test_a_batch_norm_of_its_own_is_not_looked_for_in_trained_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """PT2E would export a hundred patterns of quantization-aware training, whatever the size of the model."""
    from torchao.quantization.pt2e import qat_utils

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a pattern was exported")

    monkeypatch.setattr(qat_utils, "_get_aten_graph_module_for_pattern", forbidden)
    net = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 3)).eval()
    samples = [torch.randn(1, 3, 8, 8) for _ in range(4)]
    quantized = pl.quantize(pl.capture(net, (samples[0],)), samples)
    assert quantized.quantization is not None
