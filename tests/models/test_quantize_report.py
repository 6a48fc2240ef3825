"""What `run --quantize` tells: where a quantized model loses, what stays float and its cost, errors in a sentence."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from rich.console import Console
from torch import nn

import pilotlight as pl
from pilotlight.figures.build import widths
from pilotlight.ops.describe import describe_node, describe_op, describe_type
from pilotlight.ops.forms import REPLACES
from pilotlight.quantize.fallbacks import fallback_costs
from pilotlight.quantize.layers import worst_layers
from pilotlight.report.html import render_report
from pilotlight.report.summary import summary_table
from pilotlight.session import run_session, snr_db
from support.command_line import NETS, call, call_error, call_json


class Mixed(nn.Module):
    """Two layers, and between them an operator that has no integer form."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(12, 20), nn.Linear(20, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return self.last(torch.atan2(x, x.flip(1)))


def mixed() -> tuple[pl.Graph, pl.Graph, list[list[torch.Tensor]]]:
    torch.manual_seed(0)
    samples = [[torch.randn(2, 12)] for _ in range(6)]
    graph = pl.capture(Mixed().eval(), samples[0], "mixed")
    return graph, pl.quantize(graph, samples), samples


def test_what_stays_float_has_a_reason_and_a_cost() -> None:
    _, quantized, samples = mixed()
    build = pl.compile(quantized)
    (row,) = fallback_costs(build.lowered)
    assert row["op"] == "atan2" and "no integer form" in row["reason"] and "test_quantize_report.py" in row["where"]
    assert (row["macs"], row["weights_bytes"], row["tensor_bytes"]) == (0, 0, 2 * 20 * 4)
    session = run_session(build, samples)
    assert session.match and session.as_dict()["fallbacks"] == [row]
    page = render_report(session.as_dict())
    assert "What stays float" in page and row["reason"] in page


def test_macs_of_float_layers_have_their_share() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 64, 1)).eval()
    graph = pl.capture(model, (torch.randn(1, 8, 6, 6),), "net")
    build = pl.compile(pl.quantize(graph, mode="weights-int8", min_weights=512))
    rows = {row["op"]: row for row in fallback_costs(build.lowered)}
    assert set(rows) == {"conv2d"} and "wlinear8" in {n.op for n in build.lowered.nodes}
    assert rows["conv2d"]["macs"] == 36 * 8 * 8 * 9 and rows["conv2d"]["weights_bytes"] == 4 * (8 * 8 * 9 + 8)
    assert rows["conv2d"]["share"] == pytest.approx(9 * 8 / (9 * 8 + 64))
    assert rows["conv2d"]["tensor_bytes"] == 4 * 8 * 36


def test_small_layers_say_that_they_are_small() -> None:
    model = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 4)).eval()
    graph = pl.capture(model, (torch.randn(1, 64),), "net")
    (row,) = fallback_costs(pl.compile(pl.quantize(graph, mode="weights-int4")).lowered)
    assert row["op"] == "linear" and "128 weights" in row["reason"] and "1,024" in row["reason"]


@pytest.mark.parametrize("mode", ["int8", "weights-int8", "weights-int4"])
def test_the_worst_layers_come_first(mode: str) -> None:
    graph, _, samples = mixed()
    quantized = pl.quantize(graph, samples, mode, min_weights=1)
    rows = worst_layers(graph, quantized, samples)
    assert [row.snr_db for row in rows] == sorted(row.snr_db for row in rows)
    assert {row.module for row in rows} == {"first", "last"} and all(row.source for row in rows)


def data(path: Path, x: np.ndarray, **more: Any) -> Path:
    np.savez(path / "data.npz", x=x, **more)
    return path / "data.npz"


def shape() -> tuple[int, ...]:
    return pl.load(f"{NETS}:net").inputs[0].shape


def test_command_line_names_the_worst_layers(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((4, *shape())).astype(np.float32)
    arguments = ("run", f"{NETS}:net", "--board", "host", "--quantize", "int8", "--calibrate", data(tmp_path, x))
    result = call_json(*arguments)
    assert 1 <= len(result["worst_layers"]) <= 5 and result["fallbacks"] == []
    assert all(set(row) == {"op", "module", "source", "snr_db"} for row in result["worst_layers"])
    assert "loses most" in call(*arguments).output


def test_loss_above_the_limit_ends_with_1_and_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss that is made up, and no labels at all."""
    x = np.random.default_rng(0).standard_normal((4, *shape())).astype(np.float32)
    arguments = ("run", f"{NETS}:net", "--board", "host", "--quantize", "int8")
    unlabelled = call(*arguments, "--calibrate", data(tmp_path, x), "--max-loss", "0.5%")
    assert unlabelled.exit_code == 1 and "no labels" in unlabelled.output
    label = np.zeros(4, np.int64)
    fine = call(*arguments, "--calibrate", data(tmp_path, x, label=label), "--max-loss", "100%")
    assert fine.exit_code == 0
    monkeypatch.setattr("pilotlight.session.Accuracy.loss", 0.02)
    worse = call(*arguments, "--calibrate", data(tmp_path, x, label=label), "--max-loss", "1%")
    assert worse.exit_code == 1 and "above --max-loss" in worse.output and "allowed 1.00%" in worse.output


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x[:, ..., :-1], "expected"),
        (lambda x: x[:0], "0"),
        (lambda x: np.full_like(x, np.nan), "NaN"),
        (lambda x: np.ones_like(x), "same value"),
    ],
    ids=["shape", "empty", "nan", "constant"],
)
def test_bad_calibration_files_get_a_sentence(tmp_path: Path, change: Any, words: str) -> None:
    x = np.random.default_rng(0).standard_normal((4, *shape())).astype(np.float32)
    error = call_error("run", f"{NETS}:net", "--board", "host", "--quantize", "int8", "--calibrate",
                       data(tmp_path, np.ascontiguousarray(change(x))))
    assert words in error["message"]


class Lopsided(nn.Module):
    """One channel hides the others, which int8 turns into zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.register_buffer("scale", torch.tensor([1e4] + [1e-2] * 15))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y = torch.relu(self.first(x)) * self.scale
        return y, y[:, 1:], y.argmax(1)


def test_a_quantized_match_is_about_bytes_and_tells_the_noise() -> None:
    torch.manual_seed(0)
    samples = [[torch.randn(1, 8)] for _ in range(8)]
    build = pl.compile(pl.quantize(pl.capture(Lopsided(), samples[0], "net"), samples))
    session = run_session(build, samples)
    result = session.as_dict()
    assert session.match and result["compared_with"] == "the integer reference"
    assert result["snr_db"][0] > 30 and result["snr_db"][1] < 1 and result["snr_db"][2] is None
    assert result["agreement"][:2] == [None, None] and 0 <= result["agreement"][2] <= 1
    (low,) = [text for text in result["warnings"] if "dB" in text]
    assert "output 1" in low and "less than 10 dB" in low and "loses most" in low and "test_quantize_report.py" in low
    page = " ".join(render_report(session.as_dict()).split())
    assert "bytes equal the integer reference" in page and "matches PyTorch" not in page and low in page
    shown = Console(width=200, file=io.StringIO())
    shown.print(summary_table(result))
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "bytes equal the integer reference; 0.0 dB against the float model" in text and "PyTorch" not in text
    assert "the same against the float model" in text and low.split(";")[0] in text


def test_noise_without_signal_is_not_silence() -> None:
    """An output that is zero in the float model and something else on the board."""
    torch.manual_seed(0)
    samples = [[torch.randn(1, 8)] for _ in range(4)]
    build = pl.compile(pl.quantize(pl.capture(nn.Sequential(nn.Linear(8, 4)), samples[0], "net"), samples))
    session = run_session(build, samples)
    for row in session.truth.exact:
        row[0].zero_()
    assert snr_db(session.truth, session.outputs) == [-200.0]
    for row in session.outputs:
        row[0].fill_(float("nan"))
    assert snr_db(session.truth, session.outputs) == [-200.0]


class Image(nn.Sequential):
    """Layers that have an integer form each."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU6(), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU(),
            nn.Hardswish(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4), nn.Softmax(1),
        )


@pytest.mark.parametrize(("mode", "kind"), [("int8", "int8"), ("int16x8", "int16")])
def test_integer_operators_are_described_as_float_ones(mode: str, kind: str) -> None:
    torch.manual_seed(0)
    samples = [[torch.randn(1, 3, 32, 32)] for _ in range(4)]
    graph = pl.capture(Image().eval(), samples[0], "net")
    steps = pl.compile(pl.quantize(graph, samples, mode)).plan.steps
    words = [describe_op(node) for node in steps if node.place.module]
    assert words == ["conv2d 3x3 stride 2 + relu6", "depthwise conv2d 3x3 + relu", "hardswish", "max_pool2d", "mean",
                     "linear", "softmax"]
    assert {describe_type(node) for node in steps} == {kind}
    assert f"relu6, {kind}, (32, 32, 3)" in describe_node(steps[0])


def test_integer_macs_inside_patches_are_integer_macs() -> None:
    torch.manual_seed(0)
    samples = [[torch.randn(1, 3, 24, 24)] for _ in range(2)]
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3, padding=1)).eval()
    quantized = pl.quantize(pl.capture(model, samples[0], "net"), samples)
    build = pl.compile(quantized, optimize="ram")
    assert any(node.op == "patches" for node in build.lowered.nodes)
    found = widths(build)
    assert found is not None
    whole = build.module.metadata["macs_executed"]
    assert found["macs"] == {"int8": whole, "int16x8": 0, "float": 0} and whole > 0


class Layers(nn.Module):
    """One of each kind of layer that has an integer form of another name."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.depth = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up, self.norm = nn.ConvTranspose2d(8, 8, 3, 2), nn.GroupNorm(2, 8)
        self.linear, self.rows = nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.norm(self.up(F.relu6(self.depth(F.relu(self.conv(x))))))
        x = F.max_pool2d(x, 3, 2) - F.avg_pool2d(x, 3, 2)
        x = F.adaptive_max_pool2d(x, 2) * F.interpolate(F.adaptive_avg_pool2d(x, 1), (2, 2), mode="bilinear")
        x = self.rows(self.linear(x.mean((2, 3))))
        return torch.log_softmax(x, 1), torch.softmax(x, 1), x.cumsum(1)


def test_integer_layers_read_as_float_ones_do() -> None:
    samples = [torch.randn(1, 3, 16, 16) for _ in range(4)]
    graph = pl.capture(Layers().eval(), (samples[0],), "net")
    found = [n for n in pl.lower(pl.quantize(graph, samples)).nodes if REPLACES in n.attrs]
    real = [n for n in pl.lower(graph).nodes if n.op in {n.attrs[REPLACES] for n in found}]
    assert [describe_op(n) for n in found] == [describe_op(n) for n in real] and len(found) > 14
