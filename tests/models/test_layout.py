"""Channels last without transposes: a plain PyTorch network has no permute left; what is left is the model's own."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.passes.layout import compose, groups, inverse, is_reshape, swap_permute_reshape
from support.compiled import check, zoo_build
from support.modules import IMAGE, SERIES, Each, lowered
from zoo import ZOO

CHANNELS_LAST = (0, 2, 3, 1)
# Channel shuffles; a linear layer that draws an image; the heads of an attention.
OWN = {"shufflenet": 8, "autoencoder": 1, "encoder": 8, "bert_tiny": 8}


def permutes(graph: Graph) -> int:
    return sum(node.op == "permute" for node in graph.nodes)


@pytest.mark.parametrize("name", ZOO)
def test_zoo_has_no_transposes_but_its_own(name: str) -> None:
    assert permutes(zoo_build(name).lowered) <= OWN.get(name, 0)


@pytest.mark.parametrize("name", ["kws", "vww", "ic", "lenet", "mobilenet_v3", "unet", "convnext"])
def test_images_go_in_channels_last(name: str) -> None:
    port = zoo_build(name).lowered.inputs[0]
    if port.shape[1] > 1:
        assert port.perm == CHANNELS_LAST
        assert port.value.shape == tuple(port.shape[p] for p in CHANNELS_LAST)


def conv(inputs: int = 3, outputs: int = 4) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


PLAIN: dict[str, tuple[Any, tuple[nn.Module, ...], torch.Tensor]] = {
    "residual": (lambda a, b, x: F.relu(b(F.relu(y := a(x))) + y), (conv(), conv(4, 4)), IMAGE),
    "concat": (lambda a, b, x: torch.cat([a(x), b(x), x], 1), (conv(), conv()), IMAGE),
    "squeeze and excite": (lambda a, b, x: (y := a(x)) * b(y.mean((2, 3), keepdim=True)).sigmoid(),
                           (conv(), nn.Conv2d(4, 4, 1)), IMAGE),
    "pooling and flatten": (lambda a, fc, x: fc(F.max_pool2d(a(x), 2).flatten(1)), (conv(), nn.Linear(64, 5)), IMAGE),
    "global pooling": (lambda a, fc, x: fc(F.adaptive_avg_pool2d(a(x), 1).flatten(1)), (conv(), nn.Linear(4, 5)),
                       IMAGE),
    "split": (lambda a, b, x: torch.cat([(p := a(x).chunk(2, 1))[0], b(p[1])], 1), (conv(), conv(2, 2)), IMAGE),
    "upsampling": (lambda a, x: F.interpolate(a(x), scale_factor=2, mode="bilinear"), (conv(),), IMAGE),
    "asymmetric padding": (lambda a, x: a(F.pad(x, (0, 1, 0, 1), value=0.5)), (conv(),), IMAGE),
    "normalized input": (lambda a, x: a((x - 0.5) / torch.tensor([0.2, 0.3, 0.4]).reshape(3, 1, 1)), (conv(),), IMAGE),
    "softmax over channels": (lambda a, x: a(x).softmax(1), (conv(),), IMAGE),
    "argmax over channels": (lambda a, x: a(x).argmax(1), (conv(),), IMAGE),
    "one-dimensional": (lambda a, b, x: b(F.relu(a(x))), (nn.Conv1d(3, 4, 3), nn.Conv1d(4, 5, 3)), SERIES),
    "one-dimensional, pooled": (lambda a, x: F.max_pool1d(F.elu(a(x)), 2), (nn.Conv1d(3, 4, 3),), SERIES),
    "mean over time": (lambda a, fc, x: fc(a(x).mean(2)), (nn.Conv1d(3, 4, 3), nn.Linear(4, 2)), SERIES),
    "transposed": (lambda a, b, x: b(F.relu(a(x))), (nn.ConvTranspose2d(3, 4, 2, 2), conv(4, 2)), IMAGE),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_networks_need_no_transposition(name: str) -> None:
    function, layers, x = PLAIN[name]
    net = Each(function, *layers)
    assert permutes(lowered(net, x)) == 0
    check(net, (x,))


OWN_TRANSPOSES: dict[str, tuple[Any, tuple[nn.Module, ...], torch.Tensor]] = {
    "shuffle": (lambda a, b, x: b(a(x).reshape(1, 2, 2, 8, 8).transpose(1, 2).reshape(1, 4, 8, 8)),
                (conv(), conv(4, 4)), IMAGE),
    "shuffle by three": (lambda a, b, x: b(a(x).reshape(1, 3, 4, 8, 8).transpose(1, 2).reshape(1, 12, 8, 8)),
                         (conv(3, 12), conv(12, 4)), IMAGE),
    "shuffle of rows": (lambda a, b, x: b(a(x).reshape(1, 4, 2, 4, 8).transpose(2, 3).reshape(1, 4, 8, 8)),
                        (conv(), conv(4, 4)), IMAGE),
    "two shuffles and a split": (
        lambda a, b, x: b(F.channel_shuffle(torch.cat(F.channel_shuffle(a(x), 2).chunk(2, 1)[::-1], 1), 2)),
        (conv(), conv(4, 4)), IMAGE),
    "image to sequence": (lambda a, fc, x: fc(a(x).flatten(2).transpose(1, 2)), (conv(), nn.Linear(4, 3)), IMAGE),
    "height and width": (lambda a, b, x: b(a(x).transpose(2, 3)), (conv(), conv(4, 4)), IMAGE),
    "flatten in another order": (lambda a, x: a(x).permute(0, 3, 1, 2).flatten(1), (conv(),), IMAGE),
    "both orders": (lambda a, x: (y := a(x)).sum(1) + y.permute(0, 2, 3, 1).amax(3), (conv(),), IMAGE),
    "reshape across": (lambda a, b, x: b(a(x).reshape(1, 8, 4, 8)), (conv(), conv(8, 2)), IMAGE),
    "matrix product": (lambda x: x @ x.transpose(2, 3), (), IMAGE),
    "pixel shuffle": (lambda a, x: F.pixel_shuffle(a(x), 2), (conv(),), IMAGE),
    "an input read both ways": (lambda a, x: a(x).mean() + x.flatten(1)[:, ::7], (conv(),), IMAGE),
}


@pytest.mark.parametrize("name", OWN_TRANSPOSES)
@pytest.mark.parametrize("torch_layout", [False, True], ids=["free", "torch_layout"])
def test_transposes_that_the_model_asks_for(name: str, torch_layout: bool) -> None:
    function, layers, x = OWN_TRANSPOSES[name]
    check(Each(function, *layers), (x,), runs=1, torch_layout=torch_layout)


@pytest.mark.parametrize(
    ("name", "count"),
    [("shuffle", 1), ("shuffle by three", 1), ("shuffle of rows", 1), ("two shuffles and a split", 2)],
)
def test_one_transposition_a_shuffle(name: str, count: int) -> None:
    function, layers, x = OWN_TRANSPOSES[name]
    assert permutes(lowered(Each(function, *layers), x)) == count


def test_image_to_sequence_is_free() -> None:
    function, layers, x = OWN_TRANSPOSES["image to sequence"]
    assert permutes(lowered(Each(function, *layers), x)) == 0


@pytest.mark.parametrize("function", [lambda a, x: a(x), lambda a, x: a(x).relu() * 2.0, lambda a, x: a(x + 1.0)])
def test_torch_layout_keeps_the_border_as_it_is(function: Any) -> None:
    build = check(Each(function, conv()), (IMAGE,), torch_layout=True)
    (entry,), (result,) = build.module.metadata["inputs"], build.module.metadata["outputs"]
    assert entry["perm"] is None and entry["c_shape"] == [1, 3, 8, 8]
    assert result["perm"] is None and result["c_shape"] == [1, 4, 8, 8]


def test_the_header_tells_the_order() -> None:
    build = pl.compile(pl.capture(Each(lambda a, x: a(x), conv()).eval(), (IMAGE,), "net"))
    header = str(build.module.files["net.h"])
    assert "float32 (1, 8, 8, 3), PyTorch's (1, 3, 8, 8)" in header
    assert "channels last" in header


# ---- permutations -------------------------------------------------------------------------------------------

SIZES = st.lists(st.sampled_from([1, 1, 2, 3, 4, 6]), min_size=1, max_size=5)


@st.composite
def shaped_permutations(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(draw(SIZES))
    return shape, tuple(draw(st.permutations(range(len(shape)))))


@st.composite
def reshaped(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """A shape, a permutation of it, and another shape of as many elements."""
    shape, perm = draw(shaped_permutations())
    left, after = prod(shape), []
    while left > 1:
        size = draw(st.sampled_from([d for d in range(2, left + 1) if left % d == 0]))
        after += [1] * draw(st.integers(0, 1)) + [size]
        left //= size
    return shape, perm, tuple(after)


@given(case=shaped_permutations())
@settings(max_examples=100, derandomize=True)
def test_inverse_and_composition(case: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    shape, perm = case
    x = torch.arange(prod(shape)).reshape(shape)
    assert torch.equal(x.permute(perm).permute(inverse(perm)), x)
    assert compose(perm, inverse(perm)) == tuple(range(len(perm)))
    moved = x.permute(perm)
    assert torch.equal(x.permute(compose(perm, perm)), moved.permute(perm))
    assert is_reshape(perm, shape) == torch.equal(moved.flatten(), x.flatten())


@given(case=reshaped())
@settings(max_examples=300, derandomize=True)
def test_permute_and_reshape_change_places(case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> None:
    shape, perm, after = case
    swapped = swap_permute_reshape(shape, perm, after)
    if swapped is not None:
        x = torch.arange(prod(shape)).reshape(shape)
        assert torch.equal(x.reshape(swapped[0]).permute(swapped[1]), x.permute(perm).reshape(after))


@given(case=reshaped())
@settings(max_examples=200, derandomize=True)
def test_runs_of_equal_size(case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> None:
    before, _, after = case
    found = groups(before, after)
    assert found is not None
    assert [d for left, _ in found for d in left] == list(range(len(before)))
    assert [d for _, right in found for d in right] == list(range(len(after)))
    for left, right in found:
        assert prod(before[d] for d in left) == prod(after[d] for d in right)
