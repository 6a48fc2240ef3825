"""Flash for fewer instructions: which layers get it, and what holds it back."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.graph import Node
from pilotlight.kernels.candidate import Candidate
from pilotlight.quantize import quantize
from pilotlight.session import run_session
from pilotlight.tune import flash


@pytest.fixture(scope="module")
def net() -> tuple[pl.Graph, list[list[torch.Tensor]]]:
    """One layer that is worth its flash, and one that is only where there is plenty of it."""
    torch.manual_seed(5)
    layers = [nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3), nn.Conv2d(16, 40, 3), nn.ReLU()]
    samples = [[torch.randn(1, 16, 26, 27)] for _ in range(4)]
    return quantize(pl.capture(nn.Sequential(*layers).eval(), samples[0], "net"), samples), samples


def drivers(build: pl.Build) -> list[bool]:
    """For each convolution, whether it has weights in Winograd's form."""
    plans = [node.attrs["candidate"] for node in build.plan.steps if node.op == "qconv2d"]
    return [plan.driver == "pl_winograd_dsp_s8" for plan in plans]


def test_flash_is_spent_where_it_is_worth_most(net: tuple[pl.Graph, list[list[torch.Tensor]]]) -> None:
    graph, samples = net
    plain = pl.compile(graph, board="mps2-an386", optimize="size")
    usual = pl.compile(graph, board="mps2-an386")
    assert (drivers(plain), drivers(usual)) == ([False, False], [True, False])
    much = pl.compile(graph, board="mps2-an386", max_flash=100_000)
    assert drivers(much) == [True, True]
    sizes = much.info.sizes
    assert sizes.code is not None
    exact = pl.compile(graph, board="mps2-an386", max_flash=sizes.code + sizes.weights - 1)
    assert drivers(exact) == [True, False]
    session = run_session(much, samples)
    assert session.match and session.profile is not None
    for row, node in zip(session.profile.rows, much.plan.steps, strict=True):
        if node.op == "qconv2d":
            assert row.instructions == pytest.approx(node.attrs["candidate"].instructions, rel=0.05)


def test_ram_is_not_spent_with_it(net: tuple[pl.Graph, list[list[torch.Tensor]]]) -> None:
    graph, _ = net
    small = pl.compile(graph, board="mps2-an386", optimize="size")
    usual = pl.compile(graph, board="mps2-an386")
    assert drivers(usual)[0] and usual.plan.arena.size <= small.plan.arena.size + flash.LITTLE
    tight = small.plan.arena.size + (small.info.stack or 0) + flash.STACK
    held = pl.compile(graph, board="mps2-an386", max_ram=tight)
    assert not drivers(held)[0] and held.plan.arena.size <= small.plan.arena.size


def test_scratch_memory_that_is_free_saves_flash() -> None:
    """The second layer runs when most of the arena is idle."""
    torch.manual_seed(6)
    layers = [nn.Conv2d(3, 16, 3, 2, 1), nn.MaxPool2d(3), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()]
    samples = [[torch.randn(1, 3, 96, 96)] for _ in range(4)]
    graph = quantize(pl.capture(nn.Sequential(*layers).eval(), samples[0], "net"), samples)
    small = pl.compile(graph, board="mps2-an386", optimize="size")
    usual = pl.compile(graph, board="mps2-an386", max_flash=20_000)
    plans = [node.attrs["candidate"] for node in usual.plan.steps if node.op == "qconv2d"]
    (kernel,) = [plan for plan in plans if plan.driver == "pl_unfold_dsp_s8"]
    assert usual.plan.arena.size == small.plan.arena.size and kernel.scratch > 4096
    session = run_session(usual, samples)
    assert session.match and session.profile is not None
    counted = [row.instructions for row in session.profile.rows if row.macs == 16 * 16 * 32 * 16 * 9]
    assert counted == [pytest.approx(kernel.instructions, rel=0.05)]


def test_bargains_are_taken_best_first() -> None:
    nothing = Candidate("test.nothing", (), "", "", lambda reverse: {}, tuple)
    found = [flash.Bargain(Node("nothing", [], []), nothing, saved, cost) for saved, cost in ((90, 3), (80, 40))]
    assert flash.affordable(found, flash.DRIVER + 39) == found[:1]
    assert flash.affordable(found, flash.DRIVER + 43) == found
    assert flash.affordable(found, flash.DRIVER + 2) == []
