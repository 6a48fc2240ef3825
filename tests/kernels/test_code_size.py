"""Only what a model uses is in its code: the bytes of single operators on a Cortex-M4, as the linker counts them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import pilotlight as pl

X = torch.randn(3, 7)


class Single(nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def code_bytes(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> int:
    build = pl.compile(pl.capture(Single(function), inputs, "net"), board="mps2-an386", toolchain="gcc")
    code = build.info.sizes.code
    assert code is not None
    return code


POINTWISE: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "add": (torch.add, (X, X)),
    "broadcast": (torch.mul, (X, X[:, :1])),
    "relu": (torch.relu, (X,)),
    "int64": (lambda a: a * a + 1, (torch.arange(21),)),
    "compare": (torch.gt, (X, X.flip(0))),
    "hardswish": (nn.functional.hardswish, (X,)),
    "exp": (torch.exp, (X,)),
    "log": (torch.log, (X.abs(),)),
    "tanh": (torch.tanh, (X,)),
    "sigmoid": (torch.sigmoid, (X,)),
}


@pytest.mark.parametrize("name", POINTWISE)
def test_a_pointwise_operator_takes_less_than_400_bytes(name: str) -> None:
    function, inputs = POINTWISE[name]
    assert code_bytes(function, *inputs) < 400


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_takes_less_than_1200_bytes(dim: int) -> None:
    assert code_bytes(lambda x: x.softmax(dim), X) < 1200
