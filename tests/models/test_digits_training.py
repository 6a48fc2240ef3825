"""The demo's data and network: the split is what it says; old and new weights are good."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest
import torch

from pilotlight import demo
from support.paths import EXAMPLES


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(EXAMPLES / "digits"))
    return {name: importlib.import_module(name) for name in ("dataset", "train")}


def test_split_is_disjoint_and_has_360_held_out(digits: dict[str, ModuleType]) -> None:
    (train_x, train_y), (test_x, test_y) = digits["dataset"].splits()
    assert test_x.shape == (360, 1, 8, 8) and len(train_x) == len(train_y) == 1797 - 360
    assert train_x.min() >= 0 and train_x.max() == 1
    assert test_y.bincount().min() >= 35
    assert all(map(torch.equal, demo.held_out(), (test_x, test_y)))
    nearest = torch.cdist(test_x.flatten(1), train_x.flatten(1)).min()
    assert nearest > 0


def test_committed_weights(digits: dict[str, ModuleType]) -> None:
    net, (example,) = demo.digits()
    _, held_out = digits["dataset"].splits()
    assert example.shape == held_out[0][:1].shape
    assert digits["train"].accuracy(net, *held_out) >= 0.975


def test_training_again(digits: dict[str, ModuleType]) -> None:
    train_set, held_out = digits["dataset"].splits()
    with torch.random.fork_rng(devices=[]):
        net = digits["train"].train(*train_set)
    assert digits["train"].accuracy(net, *held_out) >= 0.975
