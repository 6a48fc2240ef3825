"""Passes keep the meaning of whole networks: the graph is verified and gives the same results after each."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

import pilotlight as pl
from pilotlight.graph import Graph, verify
from pilotlight.graph.evaluate import trace
from pilotlight.passes.pipeline import passes
from support.compiled import rows_of, zoo_build, zoo_graph
from support.random_models import RandomNet, example, networks
from zoo import ZOO

Tensors = list[torch.Tensor]


def results(graph: Graph, inputs: Tensors) -> Tensors:
    """Outputs and next states, the latter flat: the layout pass may turn them."""
    values, outputs = trace(graph, inputs)
    return [*outputs, *(values[s.next].flatten().sort().values for s in graph.states)]


def assert_every_pass_keeps_the_meaning(graph: Graph, keep_io: bool) -> Graph:
    (inputs,) = rows_of(graph, 0)
    want = results(graph, inputs)
    scale = [max(1.0, float(w.abs().max())) if w.is_floating_point() and w.numel() else 1.0 for w in want]
    graph = graph.clone()
    for name, step in passes(keep_io):
        graph = step(graph)
        verify(graph, after=name)
        for got, w, s in zip(results(graph, inputs), want, scale, strict=True):
            near = torch.isclose(got, w, rtol=1e-4, atol=2e-5 * s, equal_nan=True)
            assert bool(near.all()), f"{name} changes a result by {float((got - w).abs().max()):g}"
    return graph


@pytest.mark.parametrize("name", [n for n in ZOO if n != "alexnet"])
@pytest.mark.parametrize("keep_io", [False, True], ids=["free", "keep_io"])
def test_zoo_keeps_its_meaning_through_every_pass(name: str, keep_io: bool) -> None:
    assert_every_pass_keeps_the_meaning(zoo_graph(name), keep_io)


@given(net=networks())
@settings(max_examples=60, derandomize=True)
def test_random_networks_keep_their_meaning(net: RandomNet) -> None:
    assert_every_pass_keeps_the_meaning(pl.capture(net, example(net), "net"), keep_io=len(net.layers) % 2 == 0)


@pytest.mark.parametrize(
    ("name", "most"),
    [("kws", 12), ("vww", 30), ("ic", 15), ("ad", 10), ("mlp", 5), ("lenet", 11), ("cnn1d", 8), ("autoencoder", 12)],
)
def test_networks_need_no_more_steps_than_layers(name: str, most: int) -> None:
    """Batch norms and activations are inside of their layers; pooling, softmax and sums are steps."""
    assert len(zoo_build(name).plan.steps) <= most
