"""Layers that walk backward: with dead bytes destroyed, every bit is that of a build without overlaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import pilotlight as pl
from pilotlight.codegen.walk import copy_distances
from pilotlight.compiler import Build
from pilotlight.graph import Graph
from pilotlight.ops.concat.float import Concat
from pilotlight.ops.conv_transpose.float import ConvTranspose2d
from pilotlight.ops.dense.conv import Conv2d
from pilotlight.ops.dense.linear import Linear
from pilotlight.plan import lifetimes, schedule
from support.compiled import Library, Tensors, rows_of, zoo_graph
from support.poison import Watch

FAR = 1 << 30


def compile_apart(graph: Graph) -> Build:
    """With no overlaps at all."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (lifetimes, schedule):
            patch.setattr(module, "root_overlaps", lambda *_: [])
        return pl.compile(graph)


def compile_one_way(graph: Graph, backward: bool) -> Build:
    """What can walk both ways may only walk in one direction."""
    with pytest.MonkeyPatch.context() as patch:
        for op in (Conv2d, Linear, ConvTranspose2d, Concat):
            if backward:
                patch.setattr(op, "overlaps", lambda self, node: dict.fromkeys(self.reverse_overlaps(node), -FAR))
            else:
                patch.setattr(op, "reverse_overlaps", lambda self, node: {})
        return pl.compile(graph)


def run(build: Build, folder: Path, rows: list[Tensors], poisoned: bool) -> list[list[bytes]]:
    library = Library(build, folder)
    library.reset()
    step = Watch(library).run if poisoned else library.run
    return [[y.numpy().tobytes() for y in step(row)] for row in rows]


def directions(build: Build) -> set[bool]:
    kinds = ("conv2d", "linear", "conv_transpose2d", "concat")
    return {build.plan.walks_backward(node) for node in build.plan.steps if node.op in kinds}


@pytest.mark.parametrize("name", ["kws", "cnn1d", "lenet", "mobilenet_v3", "shufflenet", "several", "autoencoder"])
def test_zoo_gives_the_bits_of_a_build_without_overlaps(name: str, tmp_path: Path) -> None:
    graph = zoo_graph(name)
    build = pl.compile(graph)
    assert directions(build) == {True, False}
    rows = rows_of(graph, 1)
    apart = run(compile_apart(graph), tmp_path / "apart", rows, poisoned=False)
    assert run(build, tmp_path / "planned", rows, poisoned=True) == apart


@pytest.mark.parametrize("name", ["kws", "mobilenet_v2", "autoencoder"])
def test_walking_both_ways_reaches_the_lower_bound(name: str) -> None:
    graph = zoo_graph(name)
    arena = pl.compile(graph).plan.arena
    assert arena.size == arena.lower_bound < compile_one_way(graph, backward=False).plan.arena.size


@st.composite
def chains(draw: st.DrawFn) -> tuple[nn.Module, torch.Tensor]:
    """Convolutions of every kind one after the other, a linear layer at the end of some; and an input."""
    channels, sizes = draw(st.integers(1, 9)), [draw(st.integers(4, 9)), draw(st.integers(4, 9))]
    shape = (draw(st.integers(1, 2)), channels, *sizes)
    net = nn.Sequential()
    for _ in range(draw(st.integers(1, 5))):
        kernel, stride, dilation = draw(st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 2)))
        padding = draw(st.integers(0, dilation * (kernel - 1)))
        reach = dilation * (kernel - 1) + 1
        larger = [(size - 1) * stride - 2 * padding + reach for size in sizes]
        after = [(size + 2 * padding - reach) // stride + 1 for size in sizes]
        if draw(st.integers(0, 3)) == 0 and min(larger) > 0 and max(larger) < 20:
            out = draw(st.integers(1, 9))
            net.append(nn.ConvTranspose2d(channels, out, kernel, stride, padding, dilation=dilation))
            channels, sizes = out, larger
        elif min(after) > 0:
            groups = draw(st.sampled_from([1, channels]))
            out = groups if groups > 1 else draw(st.integers(1, 18))
            net.append(nn.Conv2d(channels, out, kernel, stride, padding, dilation, groups))
            net.append(draw(st.sampled_from([nn.Identity(), nn.ReLU(), nn.ReLU6(), nn.Hardtanh(-0.3, 0.7)])))
            channels, sizes = out, after
    if draw(st.booleans()):
        net.append(nn.Linear(sizes[1], draw(st.integers(1, 9))))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    for parameter in net.parameters():
        nn.init.normal_(parameter, generator=generator)
    return net.eval(), torch.randn(shape, generator=generator)


@given(chain=chains(), backward=st.booleans())
@settings(max_examples=20, derandomize=True)
def test_chains_give_the_same_bits_in_both_directions(
    chain: tuple[nn.Module, torch.Tensor], backward: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    net, x = chain
    graph = pl.capture(net, (x,), "net")
    folder = tmp_path_factory.mktemp("chain")
    apart = run(compile_apart(graph), folder / "apart", [[x]], poisoned=False)
    build = compile_one_way(graph, backward)
    assert backward or True not in directions(build)
    assert run(build, folder / "planned", [[x]], poisoned=True) == apart


@pytest.mark.parametrize("backward", [False, True])
def test_a_chain_in_one_direction_shares_bytes(backward: bool) -> None:
    net = nn.Sequential(*(nn.Conv2d(4, 4, 3, padding=1) for _ in range(4))).eval()
    build = compile_one_way(pl.capture(net, (torch.randn(1, 4, 16, 16),), "net"), backward)
    assert directions(build) == {backward}
    assert build.plan.arena.size < 1.6 * 16 * 16 * 4 * 4


def copied(reads: np.ndarray, writes: np.ndarray, apart: int, backward: bool) -> bool:
    """Whether moving elements one by one gives them all, when the output starts `apart` after the input."""
    base, memory = 40, list(range(100))
    wanted = [base + int(at) for at in reads]
    steps = range(len(reads))
    for i in reversed(steps) if backward else steps:
        memory[base + apart + int(writes[i])] = memory[base + int(reads[i])]
    return [memory[base + apart + int(at)] for at in writes] == wanted


@given(st.data())
@settings(max_examples=200)
def test_distances_of_a_copy_are_the_nearest_safe_ones(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    places = st.lists(st.integers(0, 12), min_size=count, max_size=count, unique=True)
    reads, writes = np.array(data.draw(places)), np.array(sorted(data.draw(places)))
    forward, backward = copy_distances(reads, writes, 1)
    assert all(copied(reads, writes, apart, False) for apart in range(-20, forward + 1))
    assert all(copied(reads, writes, apart, True) for apart in range(backward, 20))
    disjoint = range(int(reads.min()) - int(writes.max()), int(reads.max()) + 1 - int(writes.min()))
    if forward + 1 in disjoint and (np.diff(reads) > 0).all():
        assert not copied(reads, writes, forward + 1, False)
    if backward - 1 in disjoint and (np.diff(reads) > 0).all():
        assert not copied(reads, writes, backward - 1, True)


class Joined(nn.Module):
    """Tensors side by side; none is needed afterwards."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, *parts: torch.Tensor) -> torch.Tensor:
        return torch.cat(parts, self.dim) * 2.0


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("dim", "widths"), [(1, (3, 5)), (2, (7, 1, 2)), (3, (1, 1)), (3, (33, 1)), (1, (2, 2, 2, 9))])
def test_joined_tensors_share_bytes_in_both_directions(
    dim: int, widths: tuple[int, ...], backward: bool, tmp_path: Path
) -> None:
    shape = [2, 4, 5, 6]
    parts = [torch.randn([*shape[:dim], width, *shape[dim + 1 :]]) for width in widths]
    graph = pl.capture(Joined(dim), tuple(parts), "net")
    build, separate = compile_one_way(graph, backward), compile_apart(graph)
    assert directions(build) == {backward}
    largest = max(part.numel() for part in parts) * 4
    assert build.plan.arena.size <= separate.plan.arena.size - 0.9 * largest
    apart = run(separate, tmp_path / "apart", [parts], poisoned=False)
    assert run(build, tmp_path / "planned", [parts], poisoned=True) == apart
