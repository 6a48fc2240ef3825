"""What `quantize` takes as calibration data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import pilotlight as pl
from pilotlight.quantize.samples import read_samples
from support.command_line import call_error, call_json


class Two(nn.Module):
    """Two inputs and a number."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, shift: torch.Tensor, factor: float) -> torch.Tensor:
        return self.layer(x) * factor + shift


class Nested(nn.Module):
    def forward(self, given: dict[str, Any]) -> torch.Tensor:
        y, many = given["rest"]
        return given["x"] - y + many.sum()


def test_calibration_data_as_people_have_it() -> None:
    """Samples, batches, pairs with labels, dicts in any order, numpy's floats: always the same samples."""
    torch.manual_seed(5)
    a, b, y = torch.randn(6, 4), torch.randn(6, 3), torch.arange(6)
    graph = pl.capture(Two(), (a[:1], b[:1], 2.0), "net")
    whole = [[a[k : k + 1], b[k : k + 1]] for k in range(6)]
    pairs = torch.utils.data.TensorDataset(a, b, y)
    labelled = [((p, q), label) for p, q, label in pairs]
    loader = torch.utils.data.DataLoader
    forms: dict[str, Any] = {
        "samples": whole, "with the number": [(*row, 2.0) for row in whole], "a data set": pairs,
        "batches": loader(pairs, batch_size=4), "inputs, label": loader(labelled, batch_size=3),
        "dicts": [{"y": label, "shift": q, "x": p} for (p, q), label in labelled],
        "numpy": [(p.double().numpy(), q.double().numpy()) for p, q in whole],
    }
    for name, form in forms.items():
        got = read_samples(graph, form, 512)
        assert len(got) == 6 and all(map(torch.equal, tree_leaves(got), tree_leaves(whole))), name
    assert len(read_samples(graph, loader(pairs, batch_size=4), 3)) == 3
    nested = pl.capture(Nested(), ({"x": a[:1], "rest": (a[1:2], y[None, :3])},), "net")
    swapped = {"rest": (a[2:4], torch.zeros(2, 3).long()), "x": a[4:6]}
    rows = read_samples(nested, [(swapped, "label")], 9)
    assert len(rows) == 2 and torch.equal(rows[1][0], a[5:6]) and torch.equal(rows[1][1], a[3:4])
    three = pl.capture(nn.Linear(4, 2), (torch.randn(3, 4),), "net")
    assert len(read_samples(three, loader(a.repeat(2, 1), batch_size=5), 9)) == 2  # 5, 5, 2


UNFIT: list[Any] = [[], [torch.randn(1, 5)], [(torch.randn(1, 4), torch.ones(1, 3).long())], [{}], 3, None]


@pytest.mark.parametrize("data", UNFIT)
def test_calibration_data_that_does_not_fit_is_named(data: Any) -> None:
    graph = pl.capture(Two(), (torch.randn(1, 4), torch.randn(1, 3), 2.0), "net")
    with pytest.raises(pl.PilotlightError, match="calibration") as error:
        read_samples(graph, data, 512)
    assert error.value.kind == "calibration" and error.value.hint


def test_labels_that_are_not_one_a_sample_are_named() -> None:
    samples = [torch.randn(1, 4) for _ in range(4)]
    graph = pl.capture(nn.Linear(4, 2), (samples[0],), "net")
    with pytest.raises(pl.PilotlightError, match="3 labels for 4 calibration samples"):
        pl.quantize(graph, samples, "auto", labels=torch.zeros(3).long())
    found = pl.quantize(graph, samples, "auto", labels=torch.zeros(4).long(), limit=2, max_loss=1.0)
    assert found.quantization is not None and "2 labelled samples" in found.quantization.rule  # type: ignore[attr-defined]


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "nets.py"
    file.write_text("from torch import nn\n\nnet = nn.Linear(64, 3)\n")
    return f"{file}:net"


def test_accuracy_is_that_of_all_labelled_samples(model: str, tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, x=np.random.default_rng(0).standard_normal((40, 1, 64), np.float32), label=np.arange(40) % 3)
    choices = ["--input", "1x64", "--board", "host", "--quantize", "int8", "--calibrate", data]
    figures = call_json("run", model, *choices)
    assert figures["runs"] == figures["accuracy"]["samples"] == 40


def test_groups_of_four_as_documented(model: str) -> None:
    choices = ["--quantize", "weights-int4", "--min-weights", "1", "--group"]
    assert call_json("run", model, "--input", "1x64", "--board", "host", *choices, "4")["match"]
    refused = call_error("inspect", model, "--input", "1x64", *choices, "5")
    assert refused["hint"] == "give a multiple of 32, or 4, 8 or 16"


class _Largest(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].amax() * 2


def test_a_sample_that_the_model_fails_on_is_named() -> None:
    samples = [torch.tensor([1.0, -2.0, 3.0]), torch.tensor([-1.0, -2.0, -3.0])]
    graph = pl.capture(_Largest(), (samples[0],), "net")
    with pytest.raises(pl.PilotlightError, match="fails on calibration sample 1: ") as found:
        pl.quantize(graph, samples)
    assert found.value.kind == "calibration"
