"""Infinities, NaN, both zeros, huge and tiny numbers: functions of one number do what PyTorch does to a vector."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

import pilotlight as pl
from support.modules import Forward

INF, NAN, MOST, LEAST = float("inf"), float("nan"), 3.4028235e38, 1.4e-45
VALUES = [INF, -INF, NAN, 0.0, -0.0, MOST, -MOST, 1e20, -1e20, 1e5, -1e5, 104.0, -104.0, 88.5, -88.5, 20.0, -20.0, 3.0,
          -3.0, 1.0, -1.0, 0.5, -0.5, 1e-10, -1e-10, 1.1754944e-38, -1.1754944e-38, 1e-40, -1e-40, LEAST, -LEAST, 0.9]
NAMES = """abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc exp exp2 expm1 floor frac lgamma log
log10 log1p log2 logit neg reciprocal relu
round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc nan_to_num"""
LAYERS = """gelu silu mish softplus hardswish hardsigmoid hardtanh relu6 elu selu celu leaky_relu logsigmoid softsign
tanhshrink hardshrink softshrink"""
# Where PyTorch's vectors overflow on the way to the right number, on some processors.
BETTER = {"gelu": [MOST, float("inf")], "hardswish": [MOST]}

Unary = Callable[[torch.Tensor], torch.Tensor]


def functions() -> dict[str, Unary]:
    found: dict[str, Unary] = {name: getattr(torch, name) for name in NAMES.split()}
    found |= {name: getattr(F, name) for name in LAYERS.split()}
    found["gelu of tanh"] = lambda x: F.gelu(x, approximate="tanh")
    found |= {f"to the power of {p}": lambda x, p=p: torch.pow(x, p) for p in (0.5, 2, 3, -1, 0, 2.5)}  # type: ignore[misc]
    return found


def test_functions_of_one_number() -> None:
    x, tried = torch.tensor(VALUES), functions()
    module = Forward(lambda x: tuple(f(x) for f in tried.values()))
    got = pl.compile(pl.capture(module, (x,), "net")).run(x, on="host")
    wrong = []
    for (name, function), y in zip(tried.items(), got, strict=True):
        want = function(x)
        same = torch.isclose(y, want, rtol=2e-5, atol=1e-6, equal_nan=True)
        same |= torch.isin(x, torch.tensor(BETTER.get(name, [])))
        bad = zip(x[~same], y[~same], want[~same], strict=True)
        wrong += [f"{name}({v:g}) is {a:g}; PyTorch: {b:g}" for v, a, b in bad]
    assert wrong == []


def test_the_first_of_two_zeros() -> None:
    a, b = torch.tensor([0.0, -0.0] * 16), torch.tensor([-0.0, 0.0] * 16)
    module = Forward(lambda a, b: (torch.fmax(a, b), torch.fmin(a, b)))
    got = pl.compile(pl.capture(module, (a, b))).run(a, b, on="host")
    assert [torch.signbit(y).tolist() for y in got] == [torch.signbit(a).tolist()] * 2
