"""Results whose size depends on the data: planned for the largest, cut to what a run gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.errors import PilotlightError
from support.c_compilers import SANITIZERS
from support.compiled import check, rows_of

Function = Callable[..., object]


class Wrapped(nn.Module):
    def __init__(self, function: Function):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> object:
        return self.function(*inputs)


def _rows(x: torch.Tensor) -> torch.Tensor:
    return x[:, 0] > 0


CASES: dict[str, Function] = {
    "nonzero": lambda x: torch.nonzero(x > 0.3),
    "nonzero as tuple": lambda x: torch.nonzero(x > 0, as_tuple=True),
    "argwhere of integers": lambda x: torch.argwhere((x * 1.5).to(torch.int32)),
    "mask": lambda x: x[x > 0],
    "mask of rows": lambda x: x[_rows(x)],
    "mask of columns": lambda x: x[:, x[0] > 0],
    "mask of the middle": lambda x: x.reshape(2, 3, 5)[:, x.reshape(2, 3, 5)[0, :, 0] > 0],
    "masked select": lambda x: torch.masked_select(x, x[:1] > 0) * 2,
    "bool rows": lambda x: (x > 0)[_rows(x)],
    "computed with": lambda x: torch.tanh(x[x > 0]) + 1,
    "rows through a matmul": lambda x: x[_rows(x)] @ x.t(),
    "rows through a softmax": lambda x: x[_rows(x)].softmax(-1),
    "flattened rows": lambda x: x[_rows(x)].flatten(),
    "sum": lambda x: (x[x > 0] + 1).sum(),
    "mean": lambda x: (x[x > -3] * 2).mean(),
    "mean of columns": lambda x: (x[x[:, 0] > -9] + 1).mean(0),
    "any and all": lambda x: ((x[x > -9] > 1).any(), (x[x > -9] > -8).all()),
    "sum over the number": lambda x: x[x > -9].sum() / x[x > -9].shape[0],
    "item": lambda x: x * x[0, 1].item() + x[1, 1].item(),
    "assign a number": lambda x: torch.index_put(x, (x > 0,), torch.tensor(7.0)),
    "assign a row": lambda x: torch.index_put(x, (_rows(x),), torch.arange(5.0)),
    "assign rows": lambda x: torch.index_put(x, (_rows(x),), x[_rows(x)] * 2),
    "masked scatter": lambda x: x.masked_scatter(x > 0, torch.arange(30.0)),
}


@pytest.mark.parametrize("first", range(0, len(CASES), 8))
def test_gives_what_pytorch_gives(first: int) -> None:
    """Eight cases in a build."""
    torch.manual_seed(1)
    functions = list(CASES.values())[first : first + 8]
    check(Wrapped(lambda x: [function(x) for function in functions]), (torch.randn(6, 5),), runs=5)


class Several(nn.Module):
    """Some of the cases at once, for one boot per board."""

    names = ("nonzero", "mask of rows", "mask of columns", "masked select", "mean", "assign rows", "masked scatter")

    def forward(self, x: torch.Tensor) -> list[object]:
        return [CASES[name](x) for name in self.names]


def _endless(x: torch.Tensor) -> torch.Tensor:
    n = x[0, 0].to(torch.int64).item()
    torch._check(n >= 0)
    return x + torch.arange(n).sum()


@pytest.mark.parametrize("board", ["mps2-an386", "riscv32-virt"])
def test_on_boards(board: str) -> None:
    torch.manual_seed(2)
    graph = pl.capture(Several(), (torch.randn(6, 5),), "net")
    with pl.compile(graph, board=board).open() as running:
        for row in rows_of(graph, 3):
            for name, ours, theirs in zip(Several.names, running.flat(row), Several()(*row), strict=True):
                torch.testing.assert_close(ours, theirs, msg=name)


def test_no_element_and_every_element() -> None:
    module = Wrapped(lambda x: (x[x > 0], torch.nonzero(x > 0)))
    build = pl.compile(pl.capture(module, (torch.randn(3, 4),), "net"))
    with build.open("host", sanitize=SANITIZERS) as running:
        for x in (torch.ones(3, 4), -torch.ones(3, 4)):
            chosen, places = running(x)
            assert torch.equal(chosen, x[x > 0])
            assert torch.equal(places, torch.nonzero(x > 0))


def test_the_c_interface_says_how_many() -> None:
    build = pl.compile(pl.capture(Wrapped(lambda x: x[x > 0]), (torch.randn(6),), "net"))
    outputs = build.module.metadata["outputs"]
    assert [(o["name"], o["shape"], o["dtype"]) for o in outputs] == [
        ("0", [6], "float32"), ("0_size_0", [], "int64"),
    ]


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda x: x[_rows(x)].softmax(0), "softmax"),
        (lambda x: torch.cat([x[x > 0], torch.zeros(3)]).sum(), "cat"),
        (lambda x: x[x > 0].sort()[0], "sort"),
        (_endless, "nothing bounds it"),
    ],
)
def test_what_mixes_rows_is_refused_by_name(function: Function, word: str) -> None:
    with pytest.raises(PilotlightError, match=word):
        pl.capture(Wrapped(function), (torch.randn(6, 5),), "net")
