"""Dimensions whose length is given at run time: at every length what eager PyTorch gives, or refused by name."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import pilotlight as pl
from pilotlight.compiler import Running
from pilotlight.errors import UnsupportedError
from pilotlight.graph.lengths import with_lengths
from pilotlight.graph.ports import from_memory, to_memory, visible
from support.c_compilers import SANITIZERS
from support.modules import Forward

MOST = 7
T = Dim("T", min=1, max=MOST)
WEIGHT = torch.randn(8, 4, generator=torch.Generator().manual_seed(2))
TABLE = torch.randn(5, 6, generator=torch.Generator().manual_seed(3))

# Functions of x (T, 4) and ids (T,), which are below 5.
APART: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "pointwise": lambda x, ids: torch.tanh(x) * 2 + x.sigmoid(),
    "linear": lambda x, ids: F.gelu(x @ WEIGHT.t()),
    "rows are normed alone": lambda x, ids: F.layer_norm(x, (4,)).softmax(1),
    "another order of dimensions": lambda x, ids: x.t().unsqueeze(0) + 1,
    "flat": lambda x, ids: x.reshape(-1) * 3,
    "embedding": lambda x, ids: F.embedding(ids, TABLE),
    "number of rows": lambda x, ids: x * x.shape[0] + 1,
    "numbers of rows": lambda x, ids: torch.arange(x.shape[0]) * 2 + ids,
    "compared with the number of rows": lambda x, ids: torch.arange(x.shape[0]) < x.shape[0] - 2,
    "made of zeros": lambda x, ids: torch.zeros(x.shape[0], 3) + x[:, :3],
    "last row": lambda x, ids: x[-1],
    "last rows": lambda x, ids: x[-1:] * 2,
    "row by number": lambda x, ids: x[x.shape[0] - 1] + x[0],
    "columns but the first": lambda x, ids: x[:, 1:],
    "rows by tensors": lambda x, ids: x[torch.tensor([-1, 0])],
    "rows before": lambda x, ids: torch.cat([torch.ones(2, 4), x]),
    "padded before": lambda x, ids: F.pad(x, (0, 0, 1, 0)),
    "sum": lambda x, ids: x.sum(0),
    "sum of all": lambda x, ids: x.sum() + ids.sum(),
    "mean": lambda x, ids: x.mean(0, keepdim=True),
    "extremes": lambda x, ids: x.amax(0) - x.amin(0),
    "largest and its number": lambda x, ids: x.max(0).indices + 1,
    "any": lambda x, ids: (x > 0.5).any(0),
    "all": lambda x, ids: (x > -0.5).all(0),
    "product": lambda x, ids: (x + 2).prod(0),
    "logarithm of a sum": lambda x, ids: x.logsumexp(0),
    "running sums": lambda x, ids: x.cumsum(0),
    "written by number": lambda x, ids: torch.zeros(6, 4).index_copy(0, torch.arange(x.shape[0]) % 6, x),
    "put by number": lambda x, ids: torch.ones(9, 4).index_put((torch.arange(x.shape[0]) + 1,), x),
    "causal convolution": lambda x, ids: F.conv1d(F.pad(x.t()[None], (2, 0)), WEIGHT[:, :, None].repeat(1, 1, 3)),
    "outer": lambda x, ids: x[:, None, :1] * x[None, :, 1:2],
}


class Functions(nn.Module):
    """All of them, in one model."""

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> list[torch.Tensor]:
        return [function(x, ids) for function in APART.values()]


def every_length() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(8)
    for n in range(1, MOST + 1):
        yield torch.randn(n, 4, generator=generator), torch.randint(5, (n,), generator=generator)


def with_garbage(running: Running, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The same with other bytes than zeros in the rows that do not count: NaN, and numbers that are no row's."""
    ports = running.graph.inputs
    full = with_lengths(ports, inputs)
    arrays = []
    for k, port in enumerate(ports):
        array = to_memory(port, full[k]).copy()
        if port.sizes:
            assert port.perm is None
            tail = array[inputs[k].shape[0] :]
            tail[:] = np.nan if array.dtype.kind == "f" else -(2**40)
        arrays.append(array)
    written = running.device.run(arrays, fill=0xA5, entry=running.entry)
    outputs = [from_memory(port, array) for port, array in zip(running.graph.outputs, written, strict=True)]
    return visible(running.graph.outputs, outputs)


@pytest.fixture(scope="module")
def functions() -> Any:
    example = (torch.randn(3, 4), torch.randint(5, (3,)))
    return pl.capture(Functions(), example, "net", dynamic_shapes=({0: T}, {0: T}))


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_every_length_gives_what_pytorch_gives(functions: Any, board: str) -> None:
    build = pl.compile(functions, board, torch_layout=True)
    with build.open(sanitize=SANITIZERS and board == "host", count=False) as running:
        for x, ids in every_length():
            want = Functions()(x, ids)
            for got in (running.flat([x, ids]), with_garbage(running, [x, ids])):
                for name, mine, theirs in zip(APART, got, want, strict=True):
                    assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, (name, len(x))
                    assert torch.allclose(mine.double(), theirs.double(), atol=2e-5, rtol=2e-5), (name, len(x))


# Functions of x (T, 4) whose first rows depend on the rows after them.
MIXED: dict[str, Callable[[torch.Tensor], Any]] = {
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 0),
    "_softmax|softmax": lambda x: x.softmax(0),
    "sort": lambda x: x.sort(0).values,
    "argmax": lambda x: x.argmax(0),
    "median": lambda x: x.median(0).values,
    "var|std": lambda x: x.std(0),
    "cat": lambda x: torch.cat([x, torch.ones(2, 4)]),
    "pad|constant_pad_nd": lambda x: F.pad(x, (0, 0, 0, 1)),
    "mm|matmul": lambda x: x.t() @ x,
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "conv1d|convolution": lambda x: F.conv1d(x.t()[None], torch.ones(1, 4, 3), padding=1),
    "reshape|view|_unsafe_view|clone": lambda x: x.t().reshape(-1),
    "index_add": lambda x: torch.zeros(9, 4).index_add(0, torch.arange(x.shape[0]), x),
    "isin|sort": lambda x: torch.isin(torch.tensor([0.5, 2.0]), x),
    "select_scatter": lambda x: torch.select_scatter(x, torch.ones(4), 0, -1),
    "cond": lambda x: torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y * 2, (x,)),
}


class Mixing(nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [function(x) for function in MIXED.values()]


def test_what_mixes_rows_is_refused_by_name() -> None:
    """Each of them, with its place."""
    with pytest.raises(UnsupportedError) as caught:
        pl.capture(Mixing(), (torch.randn(5, 4),), dynamic_shapes=({0: T},))
    texts = [problem.message for problem in caught.value.problems]
    for name in MIXED:
        assert any(re.search(rf"operator (aten\.)?({name})", text) for text in texts), name
    assert all(problem.where and "test_lengths.py" in problem.where for problem in caught.value.problems)


@pytest.mark.parametrize(("function", "text"), [
    (lambda x: x * x.shape[0] ** 0.5, "not supported"), (lambda x: x[x[:, 0] > 0], "mixes rows"),
    (lambda x: torch.linspace(0, 1, x.shape[0]), "is fixed"), (lambda x: F.avg_pool1d(x.t()[None], 2), "every length"),
])
def test_numbers_and_masks_are_refused(function: Callable[[torch.Tensor], Any], text: str) -> None:
    with pytest.raises(pl.PilotlightError, match=text):
        pl.capture(Forward(function), (torch.randn(5, 4),), dynamic_shapes=(({0: T},),))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.cell(x)[0]
        return y


def test_a_recurrent_layer_is_right_or_refused() -> None:
    with pytest.raises(pl.PilotlightError, match=r"lstm|is fixed"):
        pl.capture(Recurrent(), (torch.randn(5, 4),), dynamic_shapes=({0: T},))


class Lengths(nn.Module):
    """What depends on the length in Python is a constant of the program."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (2.0 if x.shape[0] == 1 else 3.0)


@pytest.mark.parametrize(("module", "example", "shapes", "text"), [
    (Lengths(), 5, {0: T}, "at another length|is fixed"),
    (nn.Linear(4, 2), 1, {0: T}, "fixed at 1: an example of that length"),
    (nn.Linear(4, 2), 5, {0: Dim("T", max=8)}, "may be 0; expected at least 1"),
    (nn.Linear(4, 2), 5, {0: Dim("T", min=1)}, "nothing bounds it"),
    (nn.Linear(4, 2), 6, {0: 2 * Dim("T", min=1, max=8)}, "computed from another dimension"),
], ids=["python", "one", "zero", "unbounded", "derived"])
def test_lengths_that_cannot_be_taken_are_named(module: nn.Module, example: int, shapes: Any, text: str) -> None:
    with pytest.raises(pl.PilotlightError, match=text):
        pl.capture(module, (torch.randn(example, 4),), dynamic_shapes=(shapes,))


class Cached(nn.Module):
    """A cache that is filled by blocks and read as a whole: rows that do not count are never in it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 6)
        self.register_buffer("rows", torch.full((2, size, 3), 0.25))
        self.register_buffer("at", torch.zeros(1, dtype=torch.int64))

    def add(self, x: torch.Tensor) -> torch.Tensor:
        places = self.at + torch.arange(x.shape[0])
        new = self.inner(x).view(-1, 2, 3).transpose(0, 1)
        self.rows.index_copy_(1, places, new)
        self.at += x.shape[0]
        return new[:, -1] + self.rows[:, 0]

    def put(self, x: torch.Tensor) -> torch.Tensor:
        places = self.at + torch.arange(x.shape[0])
        self.rows[:, places] = self.inner(x).view(-1, 2, 3).transpose(0, 1)
        self.at += x.shape[0]
        return self.rows.sum()

    def all(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.rows * 1, self.at * 1


def test_rows_that_do_not_count_are_never_written() -> None:
    """The whole state is compared, also where blocks end at the last row of the cache."""
    torch.manual_seed(2)
    net = Cached(2 * MOST + 1).eval()
    x, shapes = torch.randn(3, 4), ({0: T},)
    program = pl.capture({"add": (net.add, x, {}, shapes), "put": (net.put, x, {}, shapes), "all": (net.all, ())})
    with pl.compile(program).open(sanitize=SANITIZERS) as running, torch.no_grad():
        for n in range(1, MOST + 1):
            module = copy.deepcopy(net)
            running.reset()
            for k, size in enumerate((n, MOST - n + 1, n, MOST - n)):
                if not size:
                    continue
                block, name = torch.randn(size, 4), ("add", "put")[k % 2]
                entry = running.entry(name)
                got = with_garbage(entry, [block])[0] if k < 2 else entry(block)
                assert torch.allclose(got, getattr(module, name)(block), atol=1e-5)
                rows, at = running.entry("all")()
                assert torch.allclose(rows, module.rows, atol=1e-6) and torch.equal(at, module.at), (n, k)


def test_two_lengths_keywords_and_a_batch() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)

        def forward(self, pair: dict[str, torch.Tensor], *, scale: torch.Tensor) -> dict[str, torch.Tensor]:
            images = F.max_pool2d(self.conv(pair["image"]).relu(), 2).mean((2, 3))
            return {"images": images, "rows": pair["rows"].sum(0) * scale, "both": images[:, None] + scale}

    torch.manual_seed(6)
    net = Two().eval()
    batch, count = Dim("batch", min=1, max=3), Dim("count", min=2, max=5)
    example = ({"image": torch.randn(2, 3, 6, 6), "rows": torch.randn(4, 2)},)
    graph = pl.capture(net, example, kwargs={"scale": torch.ones(1)},
                       dynamic_shapes={"pair": {"image": {0: batch}, "rows": {0: count}}, "scale": {}})
    assert [p.limits for p in graph.inputs if p.is_size] == [(1, 3), (2, 5)]
    build = pl.compile(graph)
    assert pl.run(build).match
    with build.open(sanitize=SANITIZERS) as running, torch.no_grad():
        for b in range(1, 4):
            for n in range(2, 6):
                pair, scale = {"image": torch.randn(b, 3, 6, 6), "rows": torch.randn(n, 2)}, torch.randn(1)
                want = net(pair, scale=scale)
                for got, name in zip(running(pair, scale=scale), want, strict=True):
                    assert torch.allclose(got, want[name], atol=1e-5)
        for rows, text in ((torch.randn(1, 2), "has 1 along dimension 0; expected 2 to 5"),
                           (torch.randn(6, 2), "has 6 along dimension 0; expected 2 to 5"),
                           (torch.randn(3, 3), "expected input"), (torch.randn(3), "expected input")):
            with pytest.raises(pl.PilotlightError, match=text):
                running({"image": torch.randn(2, 3, 6, 6), "rows": rows}, scale=torch.ones(1))
    with pytest.raises(pl.PilotlightError, match=r"given at run time .* quantizing it is not supported"):
        pl.quantize(graph, mode="weights-int8")


def test_files_and_programs_with_lengths(tmp_path: Path) -> None:
    """A .pt2 file, samples of an .npz, and the interface in C."""
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).eval()
    program = torch.export.export(net, (torch.randn(3, 4),), dynamic_shapes=({0: T},))
    torch.export.save(program, tmp_path / "net.pt2")
    graph = pl.load(str(tmp_path / "net.pt2"), name="net")
    np.savez(tmp_path / "some.npz", x=np.random.default_rng(0).normal(size=(4, 5, 4)).astype(np.float32))
    session = pl.run(pl.compile(graph), tmp_path / "some.npz")
    assert session.match and session.outputs[0][0].shape == (5, 3)
    header = str(pl.compile(graph).module.files["net.h"])
    assert "... write the length, 1 to 7, to net_input_input_size_0(&model) ..." in header
    assert '"input": float32 (7, 4); the first input_size_0 of dimension 0 count.' in header
