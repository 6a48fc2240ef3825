"""`numerics="tflm"`: PyTorch networks that give TFLM's bytes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.support.tflite_from_graph import as_tflite
from tests.tflm.numerics import TIE_FILTER, TIE_ROW, TIE_SCALES, RandomNet, compare_numerics, integers, quantized
from torch import nn
from torch.nn import functional as F

import pilotlight as pl
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.capture.tflite.reference import FileAnswers
from pilotlight.errors import PilotlightError
from pilotlight.fixed import PILOTLIGHT, TFLM
from pilotlight.graph.evaluate import evaluate
from support.command_line import call_error, call_json


class EveryOperator(nn.Module):
    """Convolutions of all kinds, both poolings, sums, products, constants, concatenation, mean, softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.pointwise, self.narrow = nn.Conv2d(8, 8, 1), nn.Conv2d(8, 4, 1)
        self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)
        self.head = nn.Linear(12, 10)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.first(x)
        y = self.pointwise(F.relu6(self.depthwise(x))) + F.max_pool2d(x, 2)
        narrow = torch.tanh(self.narrow(y.relu()))
        y = torch.cat([F.avg_pool2d(y.relu() * 1.5 - 0.25, 2), F.avg_pool2d(narrow, 3, 2, 1)], 1)
        gate = torch.sigmoid(F.adaptive_avg_pool2d(y, 1))
        return self.head((y * gate).mean((2, 3))).softmax(-1), F.leaky_relu(self.up(narrow), 0.1)


class OneOutput(nn.Module):
    """A linear layer with one filter, which has one scale, and functions."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.one = nn.Linear(9, 6), nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.one(F.hardswish(self.wide(x)).abs())


def test_a_network_of_every_operator_gives_the_bytes_of_tflm() -> None:
    torch.manual_seed(3)
    graph = quantized(EveryOperator(), [(1, 3, 12, 12)])
    assert graph.numerics == TFLM
    found = compare_numerics(graph, ["host", "mps2-an386", "microbit"], count=5)
    assert found.compared > 2000 and not any(found.different.values()), found.different
    wanted = {"tflm_sum", "tflm_mul", "tflm_avg_pool2d", "tflm_softmax", "tflm_mean", "qmax_pool2d"}
    assert wanted <= set(found.operators)


def test_one_filter_and_functions_give_the_bytes_of_tflm() -> None:
    torch.manual_seed(4)
    found = compare_numerics(quantized(OneOutput(), [(1, 9)]), [])
    assert found.compared and not any(found.different.values()), found.different


def test_the_factor_of_a_linear_layer_is_a_product_of_float64() -> None:
    graph = quantized(nn.Linear(8, 1, bias=False), [(1, 8)])
    x_scale, filter_scale, y_scale = TIE_SCALES
    rounded = [node for node in graph.nodes if node.op in ("quantize", "dequantize")]
    for node, scale, zero in zip(rounded, (x_scale, x_scale, y_scale, y_scale), (0, 0, 96, 96), strict=True):
        node.attrs |= {"scale": scale, "zero": zero}
    (layer,) = (node for node in graph.nodes if node.op == "linear")
    layer.attrs["weight_scale"] = np.array([filter_scale])
    layer.inputs[1].data = np.array([TIE_FILTER], np.float32) * np.float32(filter_scale)
    lowered = pl.compile(graph, board="host").lowered
    (found,) = evaluate(lowered, [torch.tensor([TIE_ROW]) * x_scale])
    (want,) = FileAnswers(parse_tflite(as_tflite(graph), "tie.tflite"))(torch.tensor([TIE_ROW], dtype=torch.int8))
    assert integers(lowered.outputs[0], found).tolist() == want.reshape(-1).tolist()


def test_a_random_network_does_and_under_the_other_contract_it_does_not() -> None:
    """What is compared tells the two apart."""
    net = RandomNet(5)
    graph = quantized(net, [net.shape])
    found = compare_numerics(graph, [])
    assert found.compared > 1000 and not any(found.different.values()), found.different
    graph.numerics = PILOTLIGHT
    assert any(compare_numerics(graph, []).different.values())


@pytest.mark.parametrize(("module", "shape", "words"), [
    (nn.LSTM(4, 3), (5, 1, 4), "TFLM has no int8 form of lstm"),
    (nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), (2, 4), "TFLM has no int8 form of layer_norm"),
    (nn.Sequential(nn.Linear(4, 4), nn.GELU()), (2, 4), "TFLM has no int8 form of gelu"),
    (nn.Sequential(nn.Conv2d(2, 2, 1), nn.AvgPool2d(2, divisor_override=3)), (1, 2, 4, 4),
     "TFLM has no int8 form of avg_pool2d with these arguments"),
])
def test_what_tflm_has_no_form_of_is_refused(module: nn.Module, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(PilotlightError, match=words) as caught:
        pl.compile(quantized(module, [shape]), board="host")
    assert "numerics of TFLM" in str(caught.value)


@pytest.mark.parametrize(("mode", "more", "words"), [
    ("int16x8", {}, "not for int16x8"), ("auto", {}, "not for auto"), ("weights-int8", {}, "not for weights-int8"),
    ("int8", {"wide": ["0"]}, "not for wide modules"), ("int8", {"numerics": "gemmlowp"}, "unknown numerics"),
])
def test_modes_that_tflm_has_not_are_refused(mode: str, more: dict[str, object], words: str) -> None:
    graph = pl.capture(nn.Sequential(nn.Linear(4, 4)), (torch.zeros(1, 4),))
    with pytest.raises(PilotlightError, match=words):
        pl.quantize(graph, [torch.ones(1, 4)], mode, **{"numerics": TFLM, **more})


def test_float_inputs_are_refused() -> None:
    graph = quantized(nn.Sequential(nn.Linear(4, 4)), [(1, 4)])
    with pytest.raises(PilotlightError, match="inputs and outputs are integers"):
        pl.compile(graph, board="host", float_io=True)


def test_the_command_line_takes_numerics(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\ntorch.manual_seed(0)\nnet = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU())\n")
    np.savez(tmp_path / "data.npz", x=np.random.default_rng(0).standard_normal((8, 1, 6)).astype(np.float32))
    model, data = str(tmp_path / "net.py:net"), str(tmp_path / "data.npz")
    options = ["--input", "1x6", "--quantize", "int8", "--calibrate", data, "--numerics", "tflm"]
    done = call_json("run", model, "--board", "host", *options)
    assert done["match"] and done["quantization"]["numerics"] == "tflm"
    error = call_error("run", model, "--input", "1x6", "--numerics", "tflm")
    assert "--numerics does nothing in a float model" in error["message"]
