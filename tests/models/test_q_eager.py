"""Quantized models against the user's module run eagerly, call after call: what integers lose is noise, never a write,
a state or a sum. The measure is what PyTorch gives for the converted PT2E graph, less 6 dB."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._pytree import tree_leaves

import pilotlight as pl
from pilotlight.capture.reference import ExportedAnswers, functionalize
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.passes.pipeline import optimize
from support.c_compilers import SANITIZERS

Rows = list[tuple[Any, ...]]
Results = list[list[torch.Tensor]]


def decibels(real: torch.Tensor, got: torch.Tensor) -> float:
    signal, noise = float((real**2).sum()), float(((real - got) ** 2).sum())
    return math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf


def joined(results: Results, k: int) -> torch.Tensor:
    return torch.cat([row[k].double().reshape(-1) for row in results])


def eager(module: nn.Module, rows: Rows) -> Results:
    module = copy.deepcopy(module).eval()
    with torch.no_grad():
        return [[t.clone() for t in tree_leaves(module(*copy.deepcopy(row)))] for row in rows]


def check(module: nn.Module, rows: Rows, mode: str, least: float = 20.0) -> Graph:
    """Every float output, over all calls, is near the module's; integers and bools are PT2E's own."""
    graph = pl.capture(copy.deepcopy(module).eval(), rows[0], "net")
    quantized = pl.quantize(graph, rows, mode)
    flat = [tree_leaves(row) for row in rows]
    lowered = optimize(quantized.clone(), check=True)
    got = evaluate_runs(lowered, flat)
    reference = ExportedAnswers(functionalize(quantized.quantization.program))
    theirs = [reference(*row) for row in flat]
    wanted = eager(module, rows)
    for k, first in enumerate(wanted[0]):
        real, mine, pt2e = (joined(results, k) for results in (wanted, got, theirs))
        if not first.is_floating_point():
            assert float((mine == pt2e).double().mean()) > 0.9, f"output {k}"
            continue
        limit = max(least, decibels(real, pt2e) - 6)
        assert decibels(real, mine) >= limit, f"output {k}: {decibels(real, mine):.1f} dB, expected {limit:.1f}"
    return lowered


class Many(nn.Module):
    """Modules side by side, each with an input of its own."""

    def __init__(self, *parts: nn.Module):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, *inputs: Any) -> list[Any]:
        return [part(x) for part, x in zip(self.parts, inputs, strict=True)]


class Chain(nn.Module):
    """A buffer changed by several operators in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("h", torch.zeros(2, 4))

    def forward(self, x: torch.Tensor) -> Any:
        self.h.mul_(0.5).add_(self.layer(x))
        return self.h, self.h.view(8)[2:6] + 1


class Written(nn.Module):
    """A buffer whose parts are written, read before and after."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv1d(2, 4, 1)
        self.register_buffer("ring", torch.zeros(2, 4, 6))

    def forward(self, x: torch.Tensor) -> Any:
        before = self.ring.clone()
        self.ring[:, :, :3] = self.ring[:, :, 3:].clone()
        self.ring[:, :, 3:] = self.layer(x)
        first, second = self.ring.chunk(2, 1)
        second.add_(first).mul_(0.5)
        return before + 1, self.ring.sum(-1)


class Views(nn.Module):
    """Tensors changed through views, chunks, selections, masks and transposes; results that are parts of each other."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        a = self.layer(x)
        a.view(4, 2).mul_(2).add_(1)
        b = self.layer(x)
        left, right = b.chunk(2, 1)
        left.mul_(2)
        right.add_(left)
        c = self.layer(x)
        c.t()[1].fill_(0.5)
        c[0].zero_()
        c.diagonal().sub_(1)
        d = self.layer(x)
        d[d > 0.3] = 0.25
        d.unsqueeze(1).transpose(1, 2).copy_(b.unsqueeze(2) * 0.5 + d.unsqueeze(2))
        return a, a[0], b, c.relu_(), c, d


IN_PLACE: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "chain": (Chain, (2, 4)), "written": (Written, (2, 2, 3)), "views": (Views, (2, 4)),
}


@pytest.mark.parametrize("mode", ["int8", "int16x8"])
def test_what_is_written_in_place_is_kept(mode: str) -> None:
    torch.manual_seed(0)
    parts = [make() for make, _ in IN_PLACE.values()]
    rows = [tuple(torch.randn(*shape) for _, shape in IN_PLACE.values()) for _ in range(5)]
    check(Many(*parts), rows, mode)


class Scattered(nn.Module):
    """Numbers of one scale that are joined with each other."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 8)

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> Any:
        a, b = (self.layer(x) + 1).relu().chunk(2, 1)
        reduced = [a.scatter_reduce(1, ids, b, how) for how in ("sum", "mean", "prod", "amax", "amin")]
        alone = [a.scatter_reduce(1, ids, b, how, include_self=False) for how in ("sum", "mean", "prod", "amax")]
        rows = ids[:1, 0]
        put = [a.index_add(0, rows, b[:1]), a.index_put((rows,), b[:1], accumulate=True), a.index_copy(0, rows, b[:1])]
        return a.scatter_add(1, ids, b), a.scatter(1, ids, b, reduce="multiply"), *reduced, *alone, *put


def test_what_is_joined_is_not_computed_on_codes() -> None:
    torch.manual_seed(1)
    rows: Rows = [(torch.randn(2, 4), torch.randint(0, 2, (2, 4))) for _ in range(5)]
    lowered = check(Scattered(), rows, "int8")
    assert {f.node.op for f in lowered.fallbacks} >= {"scatter", "put"}
    assert {n.attrs["mode"] for n in lowered.nodes if n.op == "scatter" and n.output.dtype.kind != "f"} <= {
        "set", "amax", "amin"
    }


class Nested(nn.Module):
    """Concatenations of each other, of an input and of a result: one scale for each of the two."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(2, 2, 3, padding=1), nn.Conv1d(10, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        given, made = self.nested(x), self.nested(self.first(y))
        return given, self.last(given) + self.last(made), torch.cat([made, given[:, :1].relu()], 1)

    def nested(self, x: torch.Tensor) -> torch.Tensor:
        twice = torch.cat([x, x], 1)
        return torch.cat([twice, torch.cat([twice, x], 1)], 1)


def test_nested_concatenations_share_one_scale() -> None:
    torch.manual_seed(5)
    rows: Rows = [(torch.randn(1, 2, 16), torch.randn(1, 2, 16)) for _ in range(4)]
    graph = pl.quantize(pl.capture(Nested().eval(), rows[0], "net"), rows)
    build = pl.compile(graph, board="host")
    for row in rows:
        want = evaluate_runs(optimize(graph.clone()), [list(row)])[0]
        assert all(map(torch.equal, build.run(*row, on="host", sanitize=SANITIZERS), want))
    lowered = check(Nested(), rows, "int8")
    scales = {n.output.quant for n in lowered.nodes if n.op == "concat"}
    assert len(scales) == 2 and None not in scales and "qrequantize" not in {n.op for n in lowered.nodes}


class Conv(nn.Module):
    """A convolution and what follows it."""

    def __init__(self, follows: Callable[..., Any], *layers: nn.Module):
        super().__init__()
        self.conv, self.follows, self.layers = nn.Conv1d(3, 8, 3, padding=1), follows, nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> Any:
        return self.follows(self.conv(x), *self.layers)


def unpooled(y: torch.Tensor) -> torch.Tensor:
    small, ids = F.max_pool2d(y[:, :, None, :], (1, 2), return_indices=True)
    return F.max_unpool2d(small, ids, (1, 2))


def sequence(y: torch.Tensor, layer: nn.Module) -> Any:
    return layer(y.transpose(1, 2))


FOLLOWS: dict[str, tuple[Callable[..., Any], Sequence[nn.Module]]] = {
    "gru": (sequence, [nn.GRU(8, 5, batch_first=True)]), "lstm": (sequence, [nn.LSTM(8, 5, batch_first=True)]),
    "rnn": (sequence, [nn.RNN(8, 5, batch_first=True)]), "topk": (lambda y: y.topk(3, -1)[0], ()),
    "sort": (lambda y: y.sort(-1)[0], ()), "argsort": (lambda y: y.argsort(-1), ()),
    "cummax": (lambda y: y.cummax(-1)[0], ()), "unpool": (unpooled, ()),
    "standard": (lambda y: (y - y.mean()) / (y.std() + 1e-3), ()), "a number": (lambda y: y.amax(), ()),
    "mean over channels": (lambda y: y.relu().mean(1), ()), "all": (lambda y: y.mean() * y, ()),
}


def test_operators_of_several_results_and_of_no_axes_follow_a_convolution() -> None:
    torch.manual_seed(2)
    module = Many(*(Conv(follows, *layers) for follows, layers in FOLLOWS.values()))
    with torch.no_grad():
        for part in module.parts:
            part.conv.weight[2:4] = 0  # type: ignore[union-attr, operator]
            part.conv.bias[2:4] = 0.25  # type: ignore[union-attr, operator]
    rows: Rows = [tuple(torch.randn(1, 3, 8) for _ in FOLLOWS) for _ in range(4)]
    check(module, rows, "int8", least=15.0)


class Odd(nn.Module):
    """Nested inputs and outputs; an input, a buffer, a state and a constant returned; branches; selections."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("fixed", torch.randn(4))
        self.register_buffer("h", torch.zeros(1, 4))

    def forward(self, given: dict[str, Any]) -> dict[str, Any]:
        x, (y, many) = given["x"], given["rest"]
        z = self.layer(x)
        old = self.h.clone()
        self.h.add_(z * 0.5)
        branch = torch.cond(z.sum() > 0, lambda z: z * 2, lambda z: z - 1, (z,))
        chosen = [torch.where(z > 0, z, z * 0.1), torch.where(z > y, z, y)]
        return {"x": x, "fixed": self.fixed, "h": self.h, "old": old, "branch": branch, "chosen": chosen,
                "z": (z, z, z[0]), "many": many.sum(), "one": torch.ones(2)}


@pytest.mark.parametrize("mode", ["int8", "int16x8"])
def test_nested_inputs_and_results_that_are_not_computed(mode: str) -> None:
    torch.manual_seed(3)
    rows: Rows = [
        ({"x": torch.randn(1, 4), "rest": (torch.randn(1, 4), torch.randint(0, 9, (3,)))},) for _ in range(5)
    ]
    check(Odd(), rows, mode)


@pytest.mark.parametrize(("mode", "observer"), [("int8", "minmax"), ("int16x8", "mse")])
def test_a_layer_that_is_always_zero_in_calibration(mode: str, observer: str) -> None:
    torch.manual_seed(4)
    module = nn.Sequential(nn.Conv1d(3, 4, 1), nn.ReLU(), nn.Conv1d(4, 2, 1)).eval()
    nn.init.constant_(module[0].bias, -20.0)
    rows = [(torch.randn(1, 3, 6),) for _ in range(4)]
    quantized = pl.quantize(pl.capture(module, rows[0], "net"), rows, mode, observer=observer)
    got = evaluate_runs(optimize(quantized), [list(row) for row in rows])
    assert decibels(joined(eager(module, rows), 0), joined(got, 0)) > 40


class Masked(nn.Module):
    """Masks that come as inputs, in the ways people write them, and results that hold infinity and NaN."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.attention = nn.Linear(6, 6), nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> Any:
        scores = x @ self.layer(x).transpose(1, 2)
        added = (scores + hidden.float()[:, None] * -1e9).softmax(-1)
        attended = self.attention(x, x, x, key_padding_mask=hidden)[0]
        filled = scores.masked_fill(hidden[:, None], -1e9)
        odd = [scores.masked_fill(hidden[:, None], number) for number in (-math.inf, math.nan)]
        return added, attended, filled.amax(-1), *odd


def test_masks_as_inputs_infinity_and_nan() -> None:
    torch.manual_seed(6)
    masks = [torch.tensor([[False] * k + [True] * (5 - k)]) for k in (2, 3, 4, 2)]
    rows: Rows = [(torch.randn(1, 5, 6), mask) for mask in masks]
    module = Masked()
    quantized = pl.quantize(pl.capture(module, rows[0], "net"), rows)
    got, wanted = evaluate_runs(optimize(quantized, check=True), [list(row) for row in rows]), eager(module, rows)
    for k in range(5):
        real, mine = joined(wanted, k), joined(got, k)
        assert bool((torch.where(real.isfinite(), 0, real).nan_to_num(7) ==
                     torch.where(mine.isfinite(), 0, mine).nan_to_num(7)).all()), f"output {k}"
        assert decibels(real[real.isfinite()], mine[real.isfinite()]) > 25, f"output {k}"


def test_large_numbers_alone_are_no_mask() -> None:
    torch.manual_seed(7)
    rows: Rows = [(torch.randn(1, 6).sign() * (2e4 + 1e4 * torch.rand(1, 6)),) for _ in range(4)]
    lowered = check(nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)), rows, "int8")
    assert not lowered.fallbacks


def test_bags_of_embeddings_have_a_reference() -> None:
    ids = torch.tensor([[0, 8, 3], [8, 8, 1]])
    for mode in ("sum", "mean", "max"):
        bag = nn.EmbeddingBag(9, 6, mode=mode)
        got = evaluate_runs(optimize(pl.capture(bag, (ids,), "net")), [[ids]])
        torch.testing.assert_close(got[0][0], bag(ids))
