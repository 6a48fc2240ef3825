"""Model files written for CPython, imported and run as they are by MicroPython: the same seeds, the same numbers."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import pytest
import torch

from support.micropython_scripts import output

MODELS = Path(__file__).parent / "models"

# (module, how it is made, its input): small enough for seconds, all kinds of layers in it
_CASES = {
    "lenet": ("lenet", "LeNet()", "torch.randn(2, 1, 28, 28)"),
    "alexnet": ("alexnet", "alexnet(num_classes=10, width=0.125)", "torch.randn(1, 3, 96, 96)"),
    "mobilenet_v2": ("mobilenet_v2", "mobilenet_v2(num_classes=10, width_mult=0.35)", "torch.randn(1, 3, 64, 64)"),
    "gpt": ("gpt", "GPT(GPTConfig(vocab_size=40))", "torch.randint(0, 40, (2, 12))"),
    "gpt without sdpa": ("gpt", "GPT(GPTConfig(flash=False, bias=False))", "torch.randint(0, 40, (2, 12))"),
}

_SCRIPT = """
import torch
from {module} import *
from {module} import {name}
torch.manual_seed(1234)
model = {make}
print(model)
print(sum(p.numel() for p in model.parameters()))
for name, value in model.state_dict().items():
    value = value.float().reshape(-1)
    print(name, "#", value.sum().item(), value.abs().sum().item(), value[0].item(), value[-1].item())
model.eval()
with torch.no_grad():
    y = model({data})
y = y[0] if isinstance(y, tuple) else y
print("output", "#", *y.reshape(-1).tolist())
"""


def _cpython(script: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Other tests import models of the same names from elsewhere: each has its own for its own time."""
    names = [path.stem for path in MODELS.glob("*.py")]
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(MODELS))
    try:
        capsys.readouterr()
        exec(compile(script, "script", "exec"), {"__name__": "script"})
        return capsys.readouterr().out
    finally:
        sys.path.remove(str(MODELS))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(others)


def _same(expected: str, got: str, largest: float) -> bool:
    left, _, right = expected.partition(" # ")
    left2, _, right2 = got.partition(" # ")
    numbers, numbers2 = right.split(), right2.split()
    return left == left2 and len(numbers) == len(numbers2) and all(
        math.isclose(float(a), float(b), rel_tol=1e-4, abs_tol=1e-4 * largest)
        for a, b in zip(numbers, numbers2, strict=True)
    )


@pytest.mark.parametrize("case", _CASES)
def test_model_files_give_the_same_numbers(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    module, make, data = _CASES[case]
    script = _SCRIPT.format(module=module, make=make, data=data, name=make.split("(")[0])
    expected = _cpython(script, capsys).splitlines()
    got = output(script, cwd=MODELS).splitlines()
    assert len(expected) == len(got)
    for a, b in zip(expected, got, strict=True):
        numbers = [abs(float(x)) for x in a.partition(" # ")[2].split()]
        assert _same(a, b, max(numbers, default=0.0)), f"{a}\nMicroPython: {b}"


def test_a_state_dict_goes_over_as_bytes(tmp_path: Path) -> None:
    """Weights of CPython in one file; `frombuffer` and `assign=True` use them where they are."""
    sys.path.insert(0, str(MODELS))
    try:
        model = importlib.import_module("lenet").LeNet()
    finally:
        sys.path.remove(str(MODELS))
    model.eval()
    state = model.state_dict()
    (tmp_path / "weights.bin").write_bytes(b"".join(bytes(v.numpy().tobytes()) for v in state.values()))
    table = [(name, tuple(v.shape), v.numel()) for name, v in state.items()]
    image = torch.linspace(-1, 1, 28 * 28).reshape(1, 1, 28, 28)
    script = f"""
import torch
from lenet import LeNet
data = open({str(tmp_path / "weights.bin")!r}, "rb").read()
state, at = {{}}, 0
for name, shape, count in {table!r}:
    state[name] = torch.frombuffer(data, dtype=torch.float32, count=count, offset=at).reshape(shape)
    at += 4 * count
model = LeNet()
print(model.load_state_dict(state, assign=True))
model.eval()
print(*model(torch.linspace(-1, 1, 28 * 28).reshape(1, 1, 28, 28)).reshape(-1).tolist())
"""
    matched, numbers = output(script, cwd=MODELS).splitlines()
    assert matched == "<All keys matched successfully>"
    with torch.no_grad():
        expected = model(image)
    torch.testing.assert_close(torch.tensor([[float(x) for x in numbers.split()]]), expected, rtol=1e-4, atol=1e-5)


def test_gpt_generates_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    script = """
import torch
from gpt import GPT, GPTConfig
torch.manual_seed(7)
model = GPT(GPTConfig(block_size=16, n_layer=1)).eval()
start = torch.zeros((1, 1), dtype=torch.long)
print(model.generate(start, 20, sample=False).tolist())
print(model.generate(start, 20, temperature=0.8, top_k=5).tolist())
logits, loss = model(torch.arange(10).view(1, 10), torch.arange(1, 11).view(1, 10))
print(logits.shape, round(loss.item(), 3))
"""
    assert output(script, cwd=MODELS) == _cpython(script, capsys)
