"""The files of docs/operator-template, which people copy to add an operator: they compile, and do what they say."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.graph import Quant
from pilotlight.graph.evaluate import evaluate
from pilotlight.kernels import text
from support.c_compilers import SANITIZERS
from support.modules import Forward
from support.paths import ROOT
from support.q_cases import Case, scale
from support.q_checks import assert_near_float, check_board, snr

FOLDER = ROOT / "docs" / "operator-template"


@torch.library.custom_op("template::peak", mutates_args=())
def peak(x: torch.Tensor) -> torch.Tensor:
    return x / x.abs().amax(-1, keepdim=True).clamp_min(1e-12)


@peak.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@pytest.fixture(scope="module")
def template() -> ModuleType:
    """The operator, registered once."""
    if "operator_template" not in sys.modules:
        spec = importlib.util.spec_from_file_location("operator_template", FOLDER / "operator.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["operator_template"] = module
        spec.loader.exec_module(module)
    return sys.modules["operator_template"]


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "FOLDERS", (*text.FOLDERS, FOLDER))


def test_float_is_eager(template: ModuleType) -> None:
    x = torch.randn(2, 3, 10, generator=torch.Generator().manual_seed(0))
    x[0, 0] = 0.0
    with pl.compile(pl.capture(Forward(lambda v: peak(v)), (x,), "net")).open("host", sanitize=SANITIZERS) as running:
        torch.testing.assert_close(running.flat([x])[0], peak(x), rtol=1e-6, atol=0)


def test_integers_are_near_float_and_the_same_on_a_board(template: ModuleType) -> None:
    def make(rng: np.random.Generator) -> Case:
        shape = (int(rng.integers(1, 4)), int(rng.choice([1, 4, 7, 20])))
        x, y = scale(rng), Quant(1 / 128, int(rng.integers(-20, 20)))
        return Case(template.make_qpeak(x, y), (shape,), (x,), y, lambda v: peak(v.double()))

    for seed in range(50):
        assert_near_float(make(np.random.default_rng(seed)), seed)
    for board in ("host", "mps2-an386"):
        check_board({"peak": make}, board)


def test_the_faster_kernel_is_taken(template: ModuleType) -> None:
    net, samples = Forward(lambda x: peak(torch.relu(x))), [torch.randn(2, 8) for _ in range(8)]
    build = pl.compile(pl.quantize(pl.capture(net, (samples[0],), "net"), samples), board="mps2-an386", float_io=True)
    assert not build.lowered.fallbacks and "pl_q_peak_extremes(" in str(build.module.files["net.c"])
    wanted = [evaluate(build.lowered, [x])[0] for x in samples]
    assert snr(torch.cat(wanted), torch.cat([net(x) for x in samples])) > 30
