"""ONNX operators that ONNX's own tests show on one small sample only, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from support import onnx_models as make


def load(net: onnx.ModelProto, folder: Path) -> Graph:
    graph = pl.load(make.save(net, folder))
    assert isinstance(graph, Graph)
    return graph


def block_net(
    bits: int, block: int, inputs: int, outputs: int, zeros: np.dtype | None = None, bias: bool = False, **more: int
) -> onnx.ModelProto:
    chance = np.random.default_rng(bits + inputs)
    blocks = -(-inputs // block)
    constants = {"w": chance.integers(0, 256, (outputs, blocks, block * bits // 8)).astype(np.uint8),
                 "s": (0.01 + chance.random((outputs, blocks)) * 0.1).astype(np.float32)}
    reads = ["x", "w", "s"]
    if zeros is not None:
        shape = (outputs, -(-blocks * bits // 8)) if zeros == np.uint8 else (outputs, blocks)
        constants["z"] = chance.integers(0, 256 if zeros == np.uint8 else 1 << bits, shape).astype(zeros)
        reads.append("z")
    if bias:
        constants["b"] = make.noise(1, outputs)
        reads += [""] * (5 - len(reads)) + ["b"]
    node = make.node("MatMulNBits", reads, ["y"], domain="com.microsoft", bits=bits, block_size=block, K=inputs,
                     N=outputs, **more)
    net = make.model([node], {"x": [3, inputs]}, {"y": [3, outputs]}, constants)
    net.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return net


@pytest.mark.parametrize(("net", "layer"), [
    (block_net(4, 32, 80, 6), "wlinear4"),
    (block_net(4, 16, 32, 5, np.dtype(np.uint8), True, accuracy_level=4), "wlinear8"),
    (block_net(8, 32, 64, 4, None, True), "wlinear8"),
    (block_net(2, 16, 40, 3, np.dtype(np.float32)), "wlinear4"),
])
def test_weights_in_blocks_stay_integers(tmp_path: Path, net: onnx.ModelProto, layer: str) -> None:
    build = pl.compile(load(net, tmp_path))
    kinds = [node.op for node in build.lowered.nodes]
    assert layer in kinds and not {"linear", "matmul"} & set(kinds)
    session = build.session()
    assert session.match and session.compared_with.startswith("ONNX Runtime")


def test_weights_in_blocks_that_cannot_stay_are_refused(tmp_path: Path) -> None:
    for net, words in (
        (block_net(4, 24, 48, 4), "blocks of 24"), (block_net(4, 32, 64, 4, np.dtype(np.float32)), "whole numbers"),
        (block_net(4, 32, 64, 4, weight_prepacked=1), "packed for one kind of processor"),
    ):
        for tensor in net.graph.initializer:
            if tensor.name == "z":
                tensor.CopyFrom(onnx.numpy_helper.from_array(np.full((4, 2), 7.5, np.float32), "z"))
        with pytest.raises(PilotlightError, match=words):
            load(net, tmp_path)


@pytest.mark.parametrize("op", ["Div", "Mod"])
def test_integers_divide(tmp_path: Path, op: str) -> None:
    """Examples of integers are not all zeros, which nothing is divided by."""
    kinds = {"a": (TensorProto.INT32, [5]), "b": (TensorProto.INT32, [5])}
    graph = load(make.model([make.node(op, ["a", "b"], ["y"])], kinds, {"y": (TensorProto.INT32, [5])}), tmp_path)
    assert len({tuple(x.tolist()) for x in graph.truth.example}) == 1 and graph.truth.example[0].unique().tolist() == [
        1, 2, 3]
    assert pl.compile(graph).session().match


def test_examples_of_integers_are_what_the_model_takes(tmp_path: Path) -> None:
    net = make.model([make.node("Gather", ["t", "i"], ["y"])], {"i": (TensorProto.INT64, [4])}, {"y": [4, 3]},
                     {"t": make.noise(0, 2, 3)})
    assert load(net, tmp_path).truth.example[0].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("centered", [0, 1])
def test_boxes_are_suppressed_as_onnx_runtime_does(tmp_path: Path, centered: int) -> None:
    """Their number depends on the data."""
    node = make.node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["y"],
                     center_point_box=centered)
    constants = {"most": np.array([3]), "overlap": np.array([0.3], np.float32), "least": np.array([-0.5], np.float32)}
    graph = load(make.model([node], {"boxes": [2, 7, 4], "scores": [2, 2, 7]},
                            {"y": (TensorProto.INT64, [None, 3])}, constants), tmp_path)
    truth = graph.truth.in_float32()
    with pl.compile(graph).open() as running:
        counts = set()
        for seed in range(12):
            chance = torch.Generator().manual_seed(seed)
            boxes, scores = torch.rand(2, 7, 4, generator=chance), torch.randn(2, 2, 7, generator=chance)
            (got,), (want,) = running.flat([boxes, scores]), truth(boxes, scores)
            assert torch.equal(got, want)
            counts.add(len(want))
    assert len(counts) > 2


def test_bits_are_read_as_another_type(tmp_path: Path) -> None:
    class Bits(torch.nn.Module):
        def forward(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return (x * 2).view(torch.int32), h.view(torch.int16), (x.view(torch.int32) - 1).view(torch.float32)

    x, h = torch.tensor([1.5, -2.0, -torch.inf, 3e-39]), torch.tensor([0.1, -3.0]).to(torch.bfloat16)
    build = pl.compile(pl.capture(Bits(), (x, h)))
    with build.open() as running:
        for got, want in zip(running(x, h), Bits()(x, h), strict=True):
            assert got.dtype == want.dtype and torch.equal(got, want)
