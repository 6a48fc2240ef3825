"""Small models of every operator with an integer form: nothing stays float, C gives the bytes of the reference, and the
signal is kept. Many share one model, each with inputs of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._pytree import tree_leaves

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate
from pilotlight.quantize import quantize
from support.c_compilers import SANITIZERS

Part = tuple[Callable[..., Any], Sequence[tuple[int, ...]]]
ROWS, IMAGE = (2, 5, 8), (1, 8, 6, 6)
HEADS = (1, 2, 5, 8)


def of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Part:
    return function, shapes or (ROWS,)


attend = F.scaled_dot_product_attention


def assigned(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.index_copy(1, torch.tensor([1, 2]), y)


def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 1:3] = y
    x[:, 4, 2:] = y[:, 0, 2:]
    x[:, 0] *= 0.5
    x[:, 3].add_(0.25)
    return x * 2


def rotated(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions."""
    angles = torch.arange(8.0)
    return x * angles.cos() + torch.cat([-x[..., 4:], x[..., :4]], -1) * angles.sin()


def by_hand(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, kind: str) -> torch.Tensor:
    """Attention as it is often written, with a causal mask."""
    scores, hidden = q @ k.transpose(-1, -2) / 8**0.5, torch.ones(5, 5).triu(1).bool()
    if kind == "fill":
        scores = scores.masked_fill(hidden, float("-inf"))
    elif kind == "where":
        scores = torch.where(~hidden, scores, torch.tensor(-1e9))
    else:
        scores = scores + torch.zeros(5, 5).masked_fill(hidden, -1e9)
    return scores.softmax(-1) @ v


DECODER = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()  # its packed weights are taken apart

FUNCTIONS: dict[str, Part] = {
    "elu": of(F.elu), "selu": of(F.selu), "celu": of(F.celu), "softplus": of(F.softplus), "mish": of(F.mish),
    "log_sigmoid": of(F.logsigmoid), "softsign": of(F.softsign), "hardshrink": of(F.hardshrink),
    "softshrink": of(F.softshrink), "tanhshrink": of(F.tanhshrink), "threshold": of(lambda x: F.threshold(x, 0.1, 0.0)),
    "neg": of(torch.neg), "abs": of(torch.abs), "square": of(torch.square), "cube": of(lambda x: x**3),
    "root": of(lambda x: x.abs().sqrt()), "inverse root": of(lambda x: (x.abs() + 0.5).rsqrt()), "sin": of(torch.sin),
    "exp": of(torch.exp), "log": of(lambda x: (x.abs() + 1).log()), "erf": of(torch.erf),
    "less a number": of(lambda x: x - 0.5), "a number less": of(lambda x: 1 - x), "by a number": of(lambda x: x / 3),
    "power": of(lambda x: x.abs() ** 1.5), "hard swish by hand": of(lambda x: x * (x + 3).clamp(0, 6) / 6),
    "swish by hand": of(lambda x: x * x.sigmoid()), "where": of(lambda x: torch.where(x > 0.3, x, x * x)),
    "fill": of(lambda x: x.masked_fill(x > 0.5, 0.0)), "prelu": of(nn.PReLU(), IMAGE),
    "prelu per channel": of(nn.PReLU(8, 0.2), IMAGE), "batch norm alone": of(nn.BatchNorm2d(8).eval(), IMAGE),
    "batch norm, relu": of(lambda x: F.relu(F.batch_norm(x, torch.ones(8) / 3, torch.ones(8) * 2)), IMAGE),
}
TWO: dict[str, Part] = {
    "sub": of(torch.sub, ROWS, ROWS), "div": of(lambda x, y: x / (y.abs() + 1), ROWS, ROWS),
    "minimum": of(torch.minimum, ROWS, ROWS), "maximum": of(torch.maximum, ROWS, ROWS),
    "maximum with a constant": of(lambda x: torch.maximum(x, torch.linspace(-1, 1, 8))),
    "clamp": of(lambda x, y: torch.clamp(x, y - 0.5, y + 0.5), ROWS, ROWS),
    "where": of(lambda x, y: torch.where(x > y, x, y), ROWS, ROWS),
    "where by a constant": of(lambda x, y: torch.where(torch.arange(8) < 4, x, y), ROWS, ROWS),
    "einsum": of(lambda x, y: torch.einsum("bihd,bjhd->bhij", x, y), (1, 5, 2, 8), (1, 5, 2, 8)),
    "constant matrix": of(lambda x: x @ torch.linspace(-1, 1, 64).reshape(8, 8)), "glu": of(F.glu),
    "matrix and bias": of(lambda x: torch.addmm(torch.ones(8), x, torch.linspace(-1, 1, 64).reshape(8, 8)), (5, 8)),
    "unit length": of(lambda x: F.normalize(x, dim=-1)), "decoder": of(DECODER, ROWS, ROWS),
    "mm": of(lambda x: torch.mm(x, x.t()), (5, 8)), "matrix and vector": of(torch.matmul, (5, 8), (8,)),
    "index copy": of(assigned, ROWS, (2, 2, 8)), "written parts": of(written, ROWS, (2, 2, 8)),
    "stack": of(lambda x, y: torch.stack([x, y], 1), ROWS, ROWS),
    "rotary": of(rotated), "tril": of(torch.tril, (5, 5)),
}
MOVES: dict[str, Part] = {
    "pixel shuffle": of(lambda x: F.pixel_shuffle(x, 2), IMAGE), "roll": of(lambda x: x.roll(2, 1)),
    "pixel unshuffle": of(lambda x: F.pixel_unshuffle(x, 2), IMAGE), "flip": of(lambda x: x.flip(1)),
    "repeat": of(lambda x: x.repeat(1, 2, 1)), "interleave": of(lambda x: x.repeat_interleave(2, 1)),
    "split": of(lambda x: x.split(4, -1)[1]), "unbind": of(lambda x: x.unbind(1)[2]), "cut": of(lambda x: x[:, 1:4:2]),
    "chunks": of(lambda x: torch.cat([a.relu() for a in x.chunk(2, -1)], 1)), "unfold": of(lambda x: x.unfold(1, 3, 1)),
    "select": of(lambda x: x[:, torch.tensor([0, 3])]), "reflect": of(lambda x: F.pad(x, (1, 1), mode="reflect")),
    "pad with ones": of(lambda x: F.pad(x, (1, 1), value=1.0)), "im2col": of(lambda x: F.unfold(x, 3), IMAGE),
}
WHOLE: dict[str, Part] = {
    "group norm": of(nn.GroupNorm(2, 8), IMAGE), "instance norm": of(nn.InstanceNorm2d(8, affine=True), IMAGE),
    "log-softmax": of(lambda x: F.log_softmax(x, 1)), "amax": of(lambda x: x.amax(1)), "amin": of(lambda x: x.amin(1)),
    "max": of(lambda x: x.max(1).values), "sum": of(lambda x: x.sum(1)), "sum of all": of(torch.sum),
    "mean of all": of(torch.mean), "cumsum": of(lambda x: x.cumsum(1)),
    "bicubic": of(lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), IMAGE),
    "linear": of(lambda x: F.interpolate(x, scale_factor=2, mode="linear")),
    "nearest": of(lambda x: F.interpolate(x, scale_factor=2, mode="nearest")),
    **{f"by hand, {k}": of(partial(by_hand, kind=k), *[HEADS] * 3) for k in ("fill", "where", "add")},
    "bool mask": of(lambda q, k, v: attend(q, k, v, torch.ones(5, 5).tril().bool()), *[HEADS] * 3),
    "mask": of(lambda q, k, v: attend(q, k, v, torch.ones(5, 5).triu(1) * -1e9), *[HEADS] * 3),
    "alibi": of(lambda q, k, v: attend(q, k, v, -0.3 * (torch.arange(5.0)[:, None] - torch.arange(5.0)).abs()),
                *[HEADS] * 3),
    "given mask": of(lambda q, k, v, m: attend(q, k, v, m, scale=0.3), *[HEADS] * 3, (5, 5)),
    "shared keys": of(lambda q, k, v: attend(q, k, v, is_causal=True, enable_gqa=True), (1, 4, 5, 8), HEADS, HEADS),
}


class Recur(nn.Module):
    """A recurrent layer from given states, which come back with the output."""

    def __init__(self, kind: str, cell: bool = False):
        super().__init__()
        self.layer = getattr(nn, kind + "Cell" * cell)(8, 6)

    def forward(self, x: torch.Tensor, *states: torch.Tensor) -> Any:
        given = tuple(s.tanh() for s in states)
        return self.layer(x, given if len(given) == 2 else given[0])


STATES: dict[str, Part] = {
    "lstm": of(Recur("LSTM"), ROWS, (1, 5, 6), (1, 5, 6)), "gru": of(Recur("GRU"), ROWS, (1, 5, 6)),
    "lstm cell": of(Recur("LSTM", True), (2, 8), (2, 6), (2, 6)), "gru cell": of(Recur("GRU", True), (2, 8), (2, 6)),
}
GROUPS = {"functions": FUNCTIONS, "two": TWO, "moves": MOVES, "whole": WHOLE, "states": STATES}


class Many(nn.Module):
    """Parts side by side."""

    def __init__(self, parts: Sequence[Part]):
        super().__init__()
        self.parts = parts
        self.modules_of = nn.ModuleList(f for f, _ in parts if isinstance(f, nn.Module))

    def forward(self, *inputs: torch.Tensor) -> list[Any]:
        rest, results = list(inputs), []
        for function, shapes in self.parts:
            results.append(function(*rest[: len(shapes)]))
            rest = rest[len(shapes) :]
        return results


@cache
def quantized(group: str) -> tuple[nn.Module, Graph, list[list[torch.Tensor]]]:
    torch.manual_seed(11)
    parts = list(GROUPS[group].values())
    model = Many(parts).eval()
    samples = [[torch.randn(*s) for _, shapes in parts for s in shapes] for _ in range(6)]
    return model, quantize(pl.capture(model, samples[0], "net"), samples), samples


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_stays_float(group: str) -> None:
    model, graph, samples = quantized(group)
    build = pl.compile(graph, float_io=True)
    assert [str(f.node) for f in build.lowered.fallbacks] == []
    signal = noise = torch.zeros(())
    with build.open("host", sanitize=SANITIZERS) as running, torch.no_grad():
        for row in samples[:2]:
            got, want = running.flat(row), tree_leaves(model(*row))
            assert all(torch.equal(y, r) for y, r in zip(got, evaluate(build.lowered, row), strict=True))
            signal = signal + torch.stack([w.square().sum() for w in want])
            noise = noise + torch.stack([(y - w).square().sum() for y, w in zip(got, want, strict=True)])
    decibels = 10 * torch.log10(signal / noise)
    assert float(decibels.min()) > 25, decibels


@pytest.mark.parametrize("board", ["mps2-an386", "riscv32-virt"])
@pytest.mark.parametrize("group", ["two", "whole", "states"])
def test_boards_give_the_same_bytes(group: str, board: str) -> None:
    _, graph, samples = quantized(group)
    build = pl.compile(graph, board=board)
    with build.open(board, count=False) as running:
        got = running.flat(samples[1])
    assert all(torch.equal(y, r) for y, r in zip(got, evaluate(build.lowered, samples[1]), strict=True))


class Ids(nn.Module):
    """Rows of a table, with positions; which class wins."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.places, self.last = nn.Embedding(20, 8), nn.Parameter(torch.randn(5, 8)), nn.Linear(8, 6)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.last(self.table(ids) + self.places)
        return y, y.argmax(-1)


def test_embedding_and_argmax() -> None:
    torch.manual_seed(12)
    model = Ids().eval()
    samples = [[torch.randint(0, 20, (2, 5))] for _ in range(10)]
    build = pl.compile(quantize(pl.capture(model, samples[0], "net"), samples))
    assert not build.lowered.fallbacks
    assert {"take", "argmax"} <= {n.op for n in build.lowered.nodes}
    assert all(v.dtype.kind != "f" for n in build.lowered.nodes for v in n.outputs)
    with build.open("host", sanitize=SANITIZERS) as running:
        for row in samples:
            y, best = running.flat(row)
            assert torch.equal(best, y.argmax(-1))
            assert torch.equal(y, evaluate(build.lowered, row)[0])
