"""What a model may take and give besides fresh tensors: inputs as outputs, views, constants, nothing, numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import pilotlight as pl
from conformance.build import run_strictly

X = torch.arange(12, dtype=torch.float32).reshape(3, 4)
Function = Callable[..., Any]

CASES: dict[str, tuple[Function, tuple[torch.Tensor, ...]]] = {
    "an output that is an input": (lambda x: x, (X,)),
    "an input and what is computed from it": (lambda x: (x, x + 1), (X,)),
    "inputs in another order": (lambda x, y: (y, x), (X, X + 1)),
    "a view of an input": (lambda x: (x[1:], x.t(), x[:, ::2], x.reshape(2, 6)), (X,)),
    "a view of an input that is also an output": (lambda x: (x, x[1]), (X,)),
    "a constant": (lambda x: (torch.ones(2, 3), x * 2), (X,)),
    "only a constant": (lambda x: torch.arange(4), (X,)),
    "the same output twice": (lambda x: (x + 1,) * 2, (X,)),
    "an output and a view of it": (lambda x: ((y := x * 3), y.flatten(), y[0]), (X,)),
    "an input that nothing reads": (lambda x, y: x + 1, (X, X)),
    "one tensor passed twice": (lambda x, y: (x + y, y), (X, X)),
    "an input that is not contiguous": (lambda x, y: (x * 2, y + 1), (X.t(), X[:, 1:3])),
    "an expanded input": (lambda x: x + 1, (torch.ones(1, 3).expand(4, 3),)),
    "an empty input": (lambda x, y: (x, x.sum(), y + 1), (torch.zeros(0, 3), X)),
    "only empty tensors": (lambda x: x * 2, (torch.zeros(2, 0),)),
    "a tensor without dimensions": (lambda x: (x, x + 1, x.reshape(1)), (torch.tensor(3.0),)),
    "integers and masks": (lambda x, m: (m, x[0], ~m, x), (torch.arange(6).view(2, 3), torch.tensor([True, False]))),
}


class Model(torch.nn.Module):
    def __init__(self, function: Function):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


@pytest.mark.parametrize("what", CASES)
def test_borders(what: str, tmp_path: Path) -> None:
    function, inputs = CASES[what]
    graph = pl.capture(Model(function), inputs, "border")
    outputs = run_strictly(pl.compile(graph), list(inputs), tmp_path / "model")
    expected = function(*inputs)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    assert len(outputs) == len(expected)
    for got, want in zip(outputs, expected, strict=True):
        assert got.dtype == want.dtype
        assert torch.equal(got, want)


def test_results_that_are_no_tensors() -> None:
    build = pl.compile(pl.capture(Model(lambda x: (3, x + 1, None, x.shape[1], 2.5)), (X,), "numbers"))
    three, tensor, nothing, size, number = build.run(X)
    assert (three, nothing, size, number) == (3, None, 4, 2.5)
    assert torch.equal(tensor, X + 1)
