"""Random networks of layers that can be cut into patches, and builds in which all of them are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from hypothesis import strategies as st
from torch import nn

from pilotlight import compiler
from pilotlight.codegen.target import Target
from pilotlight.graph import Graph, Node
from pilotlight.ops.tiles import Cut
from pilotlight.passes.patches import can_cut, make_stage, patches_node, replaced
from pilotlight.plan import make_plan
from pilotlight.selection import Offers, prepare, select_usual
from pilotlight.tune.ram import Saved, Saving


@contextmanager
def cut_everything(size: tuple[int, int]) -> Iterator[None]:
    """`optimize="ram"` cuts every run of layers that can be cut into patches of this size, whether it gains or not."""

    def save_ram(graph: Graph, target: Target, keep_inputs: bool = False) -> Saved:
        whole = graph.clone()
        start = 0
        while start < len(whole.nodes):
            stop = start
            while stop < len(whole.nodes) and can_cut(whole.nodes[stop]):
                stop += 1
            node = _patches(whole, whole.nodes[start:stop], size)
            if node is not None:
                whole.nodes = replaced(whole, start, stop, node)
                stop = start
            start = stop + 1
        selection = select_usual(whole, Offers(target))
        plan = make_plan(prepare(whole, target, selection), keep_inputs=keep_inputs)
        return Saved(whole, selection, plan, Saving(0, 0, 0, 0, (), 0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "save_ram", save_ram)
        yield


def _patches(graph: Graph, nodes: list[Node], size: tuple[int, int]) -> Node | None:
    if not nodes:
        return None
    stage = make_stage(graph, nodes)
    return patches_node(graph, stage, *size) if Cut(stage, *size).possible else None


class Skip(nn.Module):
    """A layer that keeps the shape, and its input added."""

    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)


@st.composite
def networks(draw: st.DrawFn) -> tuple[nn.Module, torch.Tensor]:
    """Convolutions of every kind, poolings, activations and skips, one after the other; and an input."""
    channels, sizes = draw(st.integers(1, 6)), [draw(st.integers(1, 13)), draw(st.integers(4, 13))]
    shape = (1, channels, *sizes)
    net = nn.Sequential()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw(st.integers(0, 99)))
        for _ in range(draw(st.integers(2, 5))):
            kind = draw(st.sampled_from(["conv", "conv", "depthwise", "pool", "skip"]))
            kernel, stride, dilation = draw(st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 2)))
            reach = dilation * (kernel - 1) + 1
            padding = draw(st.integers(0, reach // 2))
            if kind == "skip":
                groups = draw(st.sampled_from([1, channels]))
                net.append(Skip(nn.Conv2d(channels, channels, 3, padding=1, groups=groups)))
                continue
            dilation, reach = (1, kernel) if kind == "pool" else (dilation, reach)
            padding = min(padding, kernel // 2) if kind == "pool" else padding
            after = [(size + 2 * padding - reach) // stride + 1 for size in sizes]
            if min(after) < 1:
                continue
            if kind == "pool":
                pool = draw(st.sampled_from([nn.MaxPool2d(kernel, stride, padding), nn.AvgPool2d(kernel, stride)]))
                after = [(size + 2 * padding * isinstance(pool, nn.MaxPool2d) - kernel) // stride + 1 for size in sizes]
                if min(after) < 1:
                    continue
                net.append(pool)
            else:
                groups = channels if kind == "depthwise" else 1
                out = channels if kind == "depthwise" else draw(st.integers(1, 9))
                net.append(nn.Conv2d(channels, out, kernel, stride, padding, dilation, groups))
                net.append(draw(st.sampled_from([nn.Identity(), nn.ReLU(), nn.ReLU6(), nn.Sigmoid(), nn.Hardswish()])))
                channels = out
            sizes = after
        return net.eval(), torch.randn(shape)
