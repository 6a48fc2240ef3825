"""The plan on real graphs: dead bytes never matter, steps write only what is theirs, arenas keep their bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from torch import nn

import pilotlight as pl
from pilotlight.compiler import Build
from pilotlight.plan import make_plan
from support.compiled import Library, Tensors, assert_matches, check, rows_of, zoo_build, zoo_graph
from support.poison import Watch
from support.random_models import RandomNet, example, networks
from zoo import ZOO

SMALL = [name for name in ZOO if name != "alexnet"]


def run_poisoned(build: Build, folder: Path, rows: list[Tensors]) -> list[Tensors]:
    library = Library(build, folder)
    library.arena[:] = 0xFF
    library.reset()
    watch = Watch(library)
    return [watch.run(row) for row in rows]


@pytest.mark.parametrize("name", SMALL)
def test_zoo_with_dead_bytes_destroyed_before_every_step(name: str, tmp_path: Path) -> None:
    build = zoo_build(name)
    rows = rows_of(build.graph)
    assert_matches(build.graph, rows, run_poisoned(build, tmp_path, rows))


@pytest.mark.parametrize("name", ["kws", "several", "tcn", "shufflenet", "gpt"])
def test_what_the_arena_held_before_changes_no_bit(name: str) -> None:
    build = zoo_build(name)
    (row,) = rows_of(build.graph, 0)
    arrays = [pl.compiler.to_memory(port, x) for port, x in zip(build.lowered.inputs, row, strict=True)]
    with build.open() as running:
        results = []
        for fill in (0x00, 0xFF, 0x7F):
            running.reset()
            results.append([y.tobytes() for y in running.device.run(arrays, fill=fill)])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("name", ZOO)
def test_arena_keeps_its_bounds_and_every_buffer_its_place(name: str) -> None:
    plan = zoo_build(name).plan
    assert plan.arena.lower_bound <= plan.arena.size
    assert plan.arena.lower_bound <= plan.arena.no_overlap
    for buffer in plan.buffers:
        start = plan.arena.offsets[buffer.name]
        assert start % 16 == 0
        assert start + buffer.size <= plan.arena.size


@given(net=networks())
@settings(max_examples=40, derandomize=True)
def test_random_networks_with_dead_bytes_destroyed(net: RandomNet, tmp_path_factory: pytest.TempPathFactory) -> None:
    graph = pl.capture(net, example(net), "net")
    build = pl.compile(graph)
    assert build.plan.arena.lower_bound <= build.plan.arena.size
    rows = rows_of(graph, 1)
    assert_matches(graph, rows, run_poisoned(build, tmp_path_factory.mktemp("net"), rows))


@given(net=networks())
@settings(max_examples=15, derandomize=True)
def test_random_networks_under_sanitizers(net: RandomNet) -> None:
    check(net, example(net), runs=1)


class TwoReaders(nn.Module):
    """The input is read first and last, so that something else would like to lie there in between."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(torch.sigmoid(self.conv(torch.relu(x)))) * 2.0


def test_keep_inputs_preserves_them_and_counts_their_bytes(tmp_path: Path) -> None:
    graph = pl.capture(TwoReaders().eval(), (torch.randn(1, 4, 8, 8),), "net")
    spent, kept = pl.compile(graph), pl.compile(graph, keep_inputs=True)
    assert kept.plan.arena.size > spent.plan.arena.size
    library = Library(kept, tmp_path)
    (row,) = rows_of(graph, 0)
    (port,) = kept.module.metadata["inputs"]
    where = slice(port["offset"], port["offset"] + port["bytes"])
    first = library.run(row)
    before = library.arena[where].copy()
    assert before.tobytes() == pl.compiler.to_memory(kept.lowered.inputs[0], row[0]).tobytes()
    assert_matches(graph, [row, row], [first, Watch(library).run(row)])
    assert (library.arena[where] == before).all()


@pytest.mark.parametrize("name", ["kws", "several", "cnn1d", "tcn"])
def test_keep_inputs_and_pytorchs_layout_give_the_same_answers(name: str, tmp_path: Path) -> None:
    graph = zoo_graph(name)
    build = pl.compile(graph, keep_inputs=True, torch_layout=True)
    assert all(port.perm is None for port in (*build.lowered.inputs, *build.lowered.outputs))
    rows = rows_of(graph)
    assert_matches(graph, rows, run_poisoned(build, tmp_path, rows))


def test_the_same_graph_gives_the_same_plan() -> None:
    graph = zoo_graph("mobilenet_v3")
    first, second = (pl.compile(graph).plan for _ in range(2))
    assert first.arena == second.arena
    assert [str(s) for s in first.steps] == [str(s) for s in second.steps]


def test_in_place_needs_no_second_buffer() -> None:
    """A chain that may run in place has the arena of its largest tensor."""
    net = nn.Sequential(nn.Softmax(1), nn.Flatten(), nn.LayerNorm(64), nn.ReLU()).eval()
    plan = make_plan(pl.compile(pl.capture(net, (torch.randn(1, 64),), "net")).lowered)
    assert plan.arena.size == 64 * 4
