"""torch.jit.load under MicroPython: the archive's own code gives what PyTorch's run of the archive gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import nn

from support import scripted_models
from support.micropython_jit import agree, saved
from support.micropython_scripts import output
from zoo import ZOO, load

SCRIPTED, TRACED = "script", "trace"
FEW = [("mlp", SCRIPTED), ("lstm", SCRIPTED), ("gru", TRACED), ("encoder", SCRIPTED), ("encoder", TRACED),
       ("tcn", SCRIPTED), ("gpt", SCRIPTED), ("cnn1d", TRACED)]
NOT_SCRIPTED = ("shufflenet", "bert_tiny", "convnext")  # torch.jit.script does not take them
ALL = [(name, how) for name in ZOO if name != "alexnet" for how in (SCRIPTED, TRACED)
       if how == TRACED or name not in NOT_SCRIPTED]  # make torchscript-micropython


@pytest.mark.parametrize(("name", "how"), ALL if os.environ.get("PILOTLIGHT_ALL_MODELS") else FEW)
def test_models_of_the_zoo(tmp_path: Path, name: str, how: str) -> None:
    module, inputs = load(name)
    path = saved(module, tmp_path / "m.pt", *(inputs if how == TRACED else ()))
    torch.save(list(inputs), tmp_path / "inputs.pt")
    given = f"*[x if x.dtype == torch.int64 else x * {{}} for x in torch.load({str(tmp_path / 'inputs.pt')!r})]"
    agree(path, [f"m({given.format(factor)})" for factor in (1.0, -0.5, 1.25)], tolerance=1e-5)


ROWS = [f"torch.tensor([[{', '.join(map(str, row))}]])" for row in (
    (0.5, -1.0, 2.0, 0.25), (-3.0, 0.5, 0.0, 1.0), (1.0, 1.5, -0.5, 0.75), (0.125, 0.25, 4.0, -2.0),
)]


@pytest.mark.parametrize("name", [
    "Filter", "Gate", "Memory", "Counter", "Endless", "Ragged", "Collector", "Careful", "Writer", "Forked",
])
def test_state_loops_dictionaries_and_decisions(tmp_path: Path, name: str) -> None:
    torch.manual_seed(0)
    agree(saved(getattr(scripted_models, name)(), tmp_path / "m.pt"), [f"m({row})" for row in ROWS * 2])


def test_state_that_the_first_call_makes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls = [f"m({row}[:, :3])" for row in ROWS]
    agree(saved(scripted_models.Lazy(0.25), tmp_path / "m.pt"), [*calls, "m.h", "m.pair", "m.last", "m.empty"])


def test_writes_in_place_named_tuples_and_sizes(tmp_path: Path) -> None:
    agree(saved(scripted_models.Wave(), tmp_path / "w.pt"), [f"m({row}[:, 1:3], 2)" for row in ROWS] + ["m.ring"])
    x = "torch.arange(16.).view(2, 8)"
    agree(saved(scripted_models.Points(), tmp_path / "p.pt"), [f"m({x})", f"m({x}).x"])
    agree(saved(scripted_models.Sizes(), tmp_path / "s.pt"), [f"m({x})", "m(torch.ones(1, 4))"])


def test_a_module_as_the_user_sees_it(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.ReLU())
    net.add_module("tied", nn.Linear(3, 2))
    net.tied.weight = net[0].weight  # type: ignore[union-attr]
    path = saved(nn.Sequential(net[0], net[1]), tmp_path / "m.pt")
    x = "torch.arange(6.).view(2, 3)"
    agree(path, [
        "list(m.state_dict())", "[(n, p) for n, p in m.named_parameters()]", "[n for n, _ in m.named_buffers()]",
        "[n for n, _ in m.named_modules()]", "len(list(m.parameters()))", "getattr(m, '0').weight", "str(m)",
        "m.training", "m.train().training", f"m({x})", "getattr(m, '1').running_mean", "m.eval().training",
        "getattr(m, '1').training", "isinstance(m, torch.nn.Module)", "m.original_name", "m.nothing",
        "str(m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}))", f"m({x})",
        f"m.forward({x})", "getattr(m, '0').forward(torch.ones(3))", "m.half() is m",
        "getattr(m, '0').weight.dtype == torch.float16", f"m.float()({x})",
    ])


def test_it_says_so_where_an_operator_is_missing(tmp_path: Path) -> None:
    class Spectrum(nn.Module):
        def forward(self, x: torch.Tensor, now: bool) -> torch.Tensor:
            if now:
                x = torch.fft.rfft(x).abs()
            return x

    path = saved(Spectrum(), tmp_path / "m.pt")
    said = output("""
import torch
m = torch.jit.load('m.pt')
print(m(torch.ones(2), False).tolist())
try:
    m(torch.ones(2), True)
except RuntimeError as error:
    print(error)
""", cwd=path.parent).splitlines()
    assert said[0] == "[1.0, 1.0]"
    assert said[1].startswith("torch.fft_rfft is not in this build of torch; forward (code/__torch__/")
    assert said[1].endswith("test_jit.py:10) uses it")
