"""Passes do their work: what they fold, fuse and leave."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.passes import pipeline
from pilotlight.passes.fuse import MOST_INPUTS, MOST_ITEMS
from pilotlight.passes.pipeline import passes
from support.compiled import check
from support.golden_models import models as golden_models
from support.modules import IMAGE, SERIES, Each, lowered


def test_what_a_pass_returns_is_what_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass may leave its graph alone and return another."""
    module, inputs, board = golden_models()["image"]
    graph = pl.capture(module, inputs, "image")
    files = pl.compile(graph, board=board).module.files

    def copying(step: pipeline.Pass) -> pipeline.Pass:
        return lambda graph: step(graph.clone())

    monkeypatch.setattr(pipeline, "passes", lambda *args: [(name, copying(step)) for name, step in passes(*args)])
    assert pl.compile(graph, board=board).module.files == files


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if node.op != "reshape"]


def noisy(norm: nn.Module) -> nn.Module:
    with torch.no_grad():
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2.0)
        norm.weight.normal_()
        norm.bias.normal_()
    return norm


# ---- batch norm and other scales ----------------------------------------------------------------------------

FOLDED = {
    "conv2d": (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), IMAGE, "conv2d"),
    "conv2d without bias": (nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), IMAGE, "conv2d"),
    "depthwise": (nn.Conv2d(3, 6, 3, groups=3), nn.BatchNorm2d(6), IMAGE, "conv2d"),
    "conv1d": (nn.Conv1d(3, 4, 5), nn.BatchNorm1d(4), SERIES, "conv2d"),
    "transposed": (nn.ConvTranspose2d(3, 4, 2, stride=2), nn.BatchNorm2d(4), IMAGE, "conv_transpose2d"),
    "linear": (nn.Linear(8, 5), nn.Identity(), IMAGE, "linear"),
    "linear, batch norm": (nn.Sequential(nn.Flatten(), nn.Linear(192, 5)), nn.BatchNorm1d(5), IMAGE, "linear"),
}


@pytest.mark.parametrize("name", FOLDED)
def test_batch_norm_and_relu_go_into_the_layer(name: str) -> None:
    layer, norm, x, op = FOLDED[name]
    norm = norm if isinstance(norm, nn.Identity) else noisy(norm)
    net = nn.Sequential(layer, norm, nn.ReLU())
    graph = lowered(net, x)
    wanted = [op] if op != "conv_transpose2d" else [op, "clamp_min"]
    assert ops_of(graph) == wanted
    if op != "conv_transpose2d":
        (dense,) = [n for n in graph.nodes if n.op == op]
        assert dense.attrs["clamp"] == (0.0, float("inf"))
    check(net, (x,))


def test_constant_scales_and_shifts_go_into_the_layer() -> None:
    net = Each(lambda conv, x: 1.5 + (conv(x) * torch.tensor([1.0, -2.0, 3.0, 0.5]).reshape(4, 1, 1) - 0.25) * 2.0,
               nn.Conv2d(3, 4, 3))
    assert ops_of(lowered(net, IMAGE)) == ["conv2d"]
    check(net, (IMAGE,))


def test_batch_norm_whose_input_is_also_an_output_stays() -> None:
    norm = noisy(nn.BatchNorm2d(4)).eval()
    net = Each(lambda conv, norm, x: (y := conv(x), norm(y)), nn.Conv2d(3, 4, 3), norm)
    assert ops_of(lowered(net, IMAGE)) == ["conv2d", "fused"]
    check(net, (IMAGE,))


def test_a_number_minus_a_layer_is_no_shift() -> None:
    net = Each(lambda conv, x: 1.0 - conv(x), nn.Conv2d(3, 4, 3))
    check(net, (IMAGE,))


def test_scales_over_the_image_stay() -> None:
    """A constant per pixel is none per channel, even where the numbers of both agree."""
    net = Each(lambda conv, x: conv(x) * torch.linspace(-1, 1, 4), nn.Conv2d(3, 4, 5))
    check(net, (IMAGE,))


# ---- clamps -------------------------------------------------------------------------------------------------

CLAMPS = {
    "relu": (F.relu, (0.0, float("inf"))),
    "relu6": (F.relu6, (0.0, 6.0)),
    "hardtanh": (F.hardtanh, (-1.0, 1.0)),
    "clamp": (lambda x: x.clamp(-0.5, 0.25), (-0.5, 0.25)),
    "minimum": (lambda x: x.clamp(max=0.5), (-float("inf"), 0.5)),
    "relu, then less": (lambda x: F.relu(x).clamp(max=-1.0), (-1.0, -1.0)),
    "less, then relu": (lambda x: F.relu(x.clamp(max=0.5)), (0.0, 0.5)),
}


@pytest.mark.parametrize("name", CLAMPS)
def test_clamps_go_into_the_layer(name: str) -> None:
    function, bounds = CLAMPS[name]
    net = Each(lambda conv, x: function(conv(x)), nn.Conv2d(3, 4, 3))
    graph = lowered(net, IMAGE)
    assert ops_of(graph) == ["conv2d"]
    assert graph.nodes[-1].attrs["clamp"] == bounds
    check(net, (IMAGE,))


SHARED = {
    "read twice": lambda conv, x: F.relu(y := conv(x)) + y,
    "an output": lambda conv, x: (y := conv(x), F.relu(y)),
    "clamped once more after another reader": lambda conv, x: (y := F.relu(conv(x))).clamp(max=0.1) + y,
    "clamped once more after an output": lambda conv, x: (y := F.relu(conv(x)), y.clamp(max=0.1)),
    "two clamps of one layer": lambda conv, x: F.relu(y := conv(x)) + y.clamp(max=0.1),
}


@pytest.mark.parametrize("name", SHARED)
def test_clamps_of_shared_values_stay_apart(name: str) -> None:
    check(Each(SHARED[name], nn.Conv2d(3, 4, 3)), (IMAGE,))


# ---- padding ------------------------------------------------------------------------------------------------


def test_zero_padding_goes_into_the_convolution() -> None:
    net = Each(lambda conv, x: conv(F.pad(x, (1, 2, 0, 3))), nn.Conv2d(3, 4, 3, padding=1))
    graph = lowered(net, IMAGE)
    assert ops_of(graph) == ["conv2d"]
    assert graph.nodes[-1].attrs["pad"] == (1, 2, 4, 3)
    check(net, (IMAGE,))


def test_zero_padding_goes_into_the_one_dimensional_convolution() -> None:
    net = Each(lambda conv, x: F.relu(conv(F.pad(x, (4, 0)))), nn.Conv1d(3, 5, 3, dilation=2))
    graph = lowered(net, SERIES)
    assert ops_of(graph) == ["conv2d"]
    (conv,) = [node for node in graph.nodes if node.op == "conv2d"]
    assert conv.attrs["pad"] == (0, 4, 0, 0)
    check(net, (SERIES,))


def test_padding_that_others_read_stays_for_them() -> None:
    check(Each(lambda conv, x: conv(y := F.pad(x, (4, 0))).mean() + y, nn.Conv1d(3, 5, 3)), (SERIES,))


@pytest.mark.parametrize(
    "pad",
    [lambda x: F.pad(x, (1, 1, 1, 1), value=2.0), lambda x: F.pad(x, (0, 0, 0, 0, 1, 0)),
     lambda x: F.pad(x, (-1, 1, 0, 0)), lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect")],
    ids=["another value", "channels", "cropping", "reflected"],
)
def test_other_padding_stays(pad: Any) -> None:
    channels = pad(IMAGE).shape[1]
    check(Each(lambda conv, x: conv(pad(x)), nn.Conv2d(channels, 4, 3)), (IMAGE,))


# ---- pointwise chains ---------------------------------------------------------------------------------------


def test_pointwise_chains_are_one_node_and_one_loop() -> None:
    net = Each(lambda x: torch.tanh((x * 2.0 + 1.0).sigmoid() - x).abs().sqrt())
    graph = lowered(net, IMAGE)
    assert ops_of(graph) == ["fused"]
    build = check(net, (IMAGE,))
    assert str(build.module.files["net.c"]).split("net_run")[-1].count("for (") == 1


def test_chains_join_across_their_branches() -> None:
    graph = lowered(Each(lambda x, y: (x.exp() + y.sigmoid()) * (x - y)), IMAGE, IMAGE)
    assert ops_of(graph) == ["fused"]


def test_a_value_with_two_readers_is_computed_once() -> None:
    net = Each(lambda x: ((y := x.exp()) * 2.0).sum() + y.flip(0).sin())
    graph = lowered(net, IMAGE)
    assert Counter(item.op for n in graph.nodes if n.op == "fused" for item in n.attrs["body"])["exp"] <= 1
    check(net, (IMAGE,))


def test_long_chains_are_cut() -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        for k in range(2 * MOST_ITEMS):
            x = torch.sin(x) if k % 2 else x * 1.01
        return x

    graph = lowered(Each(chain), IMAGE)
    assert len(ops_of(graph)) >= 2
    assert all(len(n.attrs["body"]) <= MOST_ITEMS for n in graph.nodes if n.op == "fused")
    check(Each(chain), (IMAGE,))


def test_sums_of_many_tensors_are_cut() -> None:
    net = Each(lambda *xs: sum(x.exp() for x in xs))
    inputs = [IMAGE * k for k in range(1, MOST_INPUTS + 4)]
    graph = lowered(net, *inputs)
    assert all(len(n.inputs) <= MOST_INPUTS for n in graph.nodes)
    check(net, inputs, runs=1)


def test_broadcast_operands_are_read_in_the_loop() -> None:
    net = Each(lambda x, y: (x + y.sigmoid()) * 3.0)
    check(net, (IMAGE, torch.randn(3, 1, 1)))


# ---- views, dead code, constants -----------------------------------------------------------------------------


def test_views_cost_no_step() -> None:
    net = Each(lambda x: x.exp().reshape(2, 12, 8).unsqueeze(1).flatten(0, 1)[1:].squeeze(0).log())
    build = pl.compile(pl.capture(net, (IMAGE,), "net"))
    assert [node.op for node in build.plan.steps] == ["exp", "log"]
    check(net, (IMAGE,))


def test_what_nobody_reads_is_not_computed() -> None:
    graph = lowered(Each(lambda conv, x: (conv(x).softmax(1), x + 1)[1], nn.Conv2d(3, 4, 3)), IMAGE)
    assert ops_of(graph) == ["add"]


def test_constants_are_computed_beforehand() -> None:
    net = Each(lambda x: x * (torch.arange(8.0).sin() + torch.ones(8)).exp())
    graph = lowered(net, IMAGE)
    assert ops_of(graph) == ["mul"]
    check(net, (IMAGE,))


def test_folding_does_not_inflate_the_weights() -> None:
    net = Each(lambda x: x + torch.arange(100.0).expand(400, 100))
    build = pl.compile(pl.capture(net, (torch.zeros(400, 100),), "net"))
    assert build.module.metadata["weights_bytes"] <= 400 + 4096
    check(net, (torch.randn(400, 100),), runs=1)
