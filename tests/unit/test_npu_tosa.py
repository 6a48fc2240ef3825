"""Integer nodes as TOSA: Arm's reference model gives the bytes of our references, or the node is refused by name."""

from __future__ import annotations

import math
import random
import re
import struct
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch

from pilotlight.graph import INT8, Graph, Node, Port, Quant, Value
from pilotlight.graph.builder import Builder
from pilotlight.npu import reference, vela
from pilotlight.npu.operators import refusal, written
from pilotlight.npu.tosa import OPERATORS, TosaGraph
from pilotlight.ops.conv_transpose.int8 import make_qconv_transpose2d
from pilotlight.ops.pointwise.scale_int8 import make_qscale
from pilotlight.ops.requantize import make_rescale
from pilotlight.ops.spec import NodeSpec
from support import q_cases, q_more_cases
from support.dense_s8_cases import cases as dense_cases
from support.dense_s8_cases import reference as dense_reference
from support.q_cases import KINDS, Case, draw, expected, graph_of
from support.q_checks import cases_of, rows_of

MAKERS = {**q_cases.MAKERS, **q_more_cases.MAKERS}
TAKEN = (
    "table", "add", "mul", "pool", "adaptive_pool", "mean", "concat", "pad", "resize", "matmul", "sum",
)
installed = pytest.mark.skipif(reference.program() is None, reason="tosa_reference_model is not installed")


def check(graph: Graph, rows: Sequence[Sequence[torch.Tensor]], family: str = "u55") -> None:
    inputs, outputs = ([port.value for port in ports] for ports in (graph.inputs, graph.outputs))
    tosa = written(graph.nodes, inputs, outputs, family)
    for row in rows:
        got = reference.run(tosa, [x.numpy() for x in row])
        for node, mine, theirs in zip(graph.nodes, expected(graph, row), got, strict=True):
            assert theirs.dtype == np.int8
            np.testing.assert_array_equal(theirs.reshape(mine.shape), mine.numpy(), err_msg=repr(node))


def with_scales(cases: Sequence[Case]) -> Graph:
    """The cases as a graph whose inputs say what their integers stand for."""
    graph = graph_of(cases)
    scales = [quant for case in cases for quant in case.scales]
    for port, quant in zip(graph.inputs, scales, strict=True):
        port.value.quant = quant
    return graph


@installed
@pytest.mark.parametrize("name", TAKEN)
def test_gives_the_bytes_of_our_reference(name: str) -> None:
    cases = [case for case in cases_of(MAKERS, name, 20) if refusal(with_scales([case]).nodes[0]) is None]
    assert cases
    for family in ("u55", "u85") if name == "add" else ("u55",):
        check(with_scales(cases), rows_of(cases)[1:3], family)


@pytest.mark.parametrize("name", sorted({*MAKERS} - {*TAKEN, "conv_transpose"}))
def test_what_has_no_form_is_refused(name: str) -> None:
    for case in cases_of(MAKERS, name, 3):
        assert refusal(graph_of([case]).nodes[0])


def dense_graph(count: int) -> tuple[Graph, list[torch.Tensor], list[np.ndarray]]:
    """Linear layers and convolutions of every kind: groups, depthwise, strides, dilation, rows that no window reads."""
    graph, inputs, results = Graph("net"), [], []
    for layer, x in dense_cases(count):
        s, value = layer.shape, graph.fresh("x", INT8, x.shape)
        graph.inputs.append(Port(value.name, value, value.shape))
        below = max(0, (s.oh - 1) * s.sh + (s.kh - 1) * s.dh + 1 - s.ih - s.top)
        right = max(0, (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1 - s.iw - s.left)
        attrs = {
            "kernel": (s.kh, s.kw), "stride": (s.sh, s.sw), "dilation": (s.dh, s.dw), "groups": s.groups,
            "pad": (s.top, s.left, below, right), "channels": s.oc, "zx": layer.zx, "zy": layer.zy,
            "shift": layer.shift, "lo": layer.lo, "hi": layer.hi,
        }
        constants = [graph.constant(c) for c in (layer.w, layer.bias, layer.m)]
        out = graph.fresh("y", INT8, (s.n, s.oh, s.ow, s.oc))
        graph.nodes.append(Node("qconv2d", [value, *constants], [out], attrs))
        graph.outputs.append(Port(out.name, out, out.shape))
        inputs.append(torch.from_numpy(x))
        results.append(dense_reference(layer, x))
    return graph, inputs, results


@installed
def test_layers_give_the_bytes_of_the_numpy_reference() -> None:
    graph, inputs, results = dense_graph(150)
    said = [refusal(node) for node in graph.nodes]
    assert said.count(None) == 149 and "no window of it reaches its input" in said
    rows = [row for row, why in zip(zip(graph.nodes, inputs, results, strict=True), said, strict=True) if why is None]
    nodes = [node for node, _, _ in rows]
    tosa = written(nodes, [node.inputs[0] for node in nodes], [node.output for node in nodes], "u55")
    got = reference.run(tosa, [x.numpy() for _, x, _ in rows])
    for (node, _, wanted), mine in zip(rows, got, strict=True):
        np.testing.assert_array_equal(mine, wanted, err_msg=repr(node))


def single(spec: NodeSpec, *inputs: tuple[tuple[int, ...], Quant]) -> Graph:
    """A graph of one node."""
    graph = Graph("net")
    values = []
    for shape, quant in inputs:
        value = graph.fresh("x", INT8, shape)
        value.quant = quant
        graph.inputs.append(Port(value.name, value, shape))
        values.append(value)
    (out,) = spec.build(Builder(graph), *values)
    graph.outputs.append(Port(out.name, out, out.shape))
    return graph


def drawn(graph: Graph, count: int = 3) -> list[list[torch.Tensor]]:
    rng = np.random.default_rng(3)
    return [[torch.from_numpy(draw(rng, INT8, p.shape, kind)) for p in graph.inputs] for kind in KINDS[:count]]


X = Quant(0.05, -7)
MOVES = {
    "reshape": NodeSpec("reshape", {"shape": (4, 3, 10)}),
    "copy": NodeSpec("copy", {}),
    "permute": NodeSpec("permute", {"perm": (2, 0, 3, 1)}),
    "slice": NodeSpec("slice", {"ranges": ((0, 2, 1), (1, 3, 1), (2, 4, 1), (0, 5, 1))}),
    "flip": NodeSpec("flip", {"dims": (1, 3)}),
    "expand": NodeSpec("expand", {"shape": (3, 2, 3, 4, 5)}),
    "requantize": make_rescale(X, Quant(0.11, 30), 8),
    "scale": make_qscale(X, Quant(0.2, 5), (3, 4), *[np.array([1.5, 0.7, -0.3, 2.0, 0.0])] * 2, np.arange(5) - 2.0),
}


@installed
@pytest.mark.parametrize("name", MOVES)
def test_moves_and_scales(name: str) -> None:
    graph = single(MOVES[name], ((2, 3, 4, 5), X))
    assert refusal(graph.nodes[0]) is None
    check(graph, drawn(graph))


@installed
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_transposed_convolutions(stride: int) -> None:
    conv = {
        "kernel": (3, 4), "stride": (stride, 2), "pad": (1, 0), "extra": (stride - 1, 1), "dilation": (1, 1),
        "groups": 1, "channels": 6,
    }
    rng = np.random.default_rng(stride)
    weight = rng.integers(-127, 128, (5, 3, 4, 6)).astype(np.int8)
    spec = make_qconv_transpose2d(X, Quant(0.4, 9), weight, rng.uniform(0.001, 0.01, 6), rng.standard_normal(6), conv)
    graph = single(spec, ((2, 4, 3, 5), X))
    assert refusal(graph.nodes[0]) is None
    check(graph, drawn(graph, 5))


def changed(node: Node, **attrs: object) -> Node:
    return Node(node.op, node.inputs, node.outputs, {**node.attrs, **attrs}, node.place)


def refusals() -> Iterator[tuple[Node, str]]:
    """Nodes that stay on the CPU, with the reason."""
    (conv,) = dense_graph(1)[0].nodes
    shifts = Value("shifts", conv.inputs[3].dtype, conv.inputs[3].shape, np.zeros_like(conv.inputs[3].data))
    yield Node("qconv2d", [*conv.inputs, shifts], conv.outputs, conv.attrs), "rounds twice"
    yield Node("qconv2d", [conv.inputs[0], Value("w", INT8, conv.inputs[1].shape), *conv.inputs[2:]], conv.outputs,
               conv.attrs), "not constants"
    yield changed(conv, shift=30), "more than 32 bits"
    yield single(NodeSpec("slice", {"ranges": ((0, 4, 2),)}), ((4,), X)).nodes[0], "every element"
    yield single(make_rescale(X, Quant(0.1, 0), 16), ((4,), X)).nodes[0], "works on int16"
    yield Node("copy", [Value("x", INT8, (4, 0))], [Value("y", INT8, (4, 0))], {}), "no elements"
    yield single(NodeSpec("qsoftmax", {"axis": 0}, (np.zeros(4, np.int32),)), ((4,), X)).nodes[0], "no form"


@pytest.mark.parametrize("case", refusals(), ids=lambda case: case[1])
def test_refuses_with_a_reason(case: tuple[Node, str]) -> None:
    node, reason = case
    said = refusal(node)
    assert said is not None and reason in said


def test_the_file_is_tosa_1_0() -> None:
    """The identifier of the FlatBuffer, and the version, without a tool that reads it."""
    graph = TosaGraph()
    graph.outputs.append(graph.reshape(graph.input((2, 3)), (3, 2)))
    data = graph.serialize()
    assert data[4:8] == b"TOSA"

    def at(table: int, slot: int) -> int:
        vtable = table - struct.unpack_from("<i", data, table)[0]
        size = struct.unpack_from("<H", data, vtable)[0]
        offset = struct.unpack_from("<H", data, vtable + 4 + 2 * slot)[0] if 4 + 2 * slot < size else 0
        return table + offset if offset else 0

    root = struct.unpack_from("<I", data, 0)[0]
    version = at(root, 0) + struct.unpack_from("<I", data, at(root, 0))[0]
    numbers = [struct.unpack_from("<i", data, at(version, slot))[0] for slot in range(3)]
    draft = struct.unpack_from("<?", data, at(version, 3))[0]
    assert (numbers, draft) == ([1, 0, 0], False)


@pytest.mark.parametrize("configuration", ["ethos-u55-128", "ethos-u85-256"])
def test_vela_keeps_the_order_of_inputs_and_outputs(configuration: str) -> None:
    """Its output has no names: an input or output is known by its place alone."""
    rng = random.Random(0)
    for _ in range(4):
        graph, sizes = TosaGraph(), rng.sample(range(1, 40), 4)
        inputs = [graph.input((1, 2, 3, size)) for size in sizes]
        table = graph.constant(np.arange(127, -129, -1).astype(np.int8))
        used = [graph.add("TABLE", [x, table], x.shape) for x in rng.sample(inputs, 4)]
        graph.outputs += rng.sample([*used, graph.add("CONCAT", used, (1, 2, 3, sum(sizes)), axis=3)], 4)
        compiled = vela.compile_tosa(graph.serialize(), configuration)
        assert [port.bytes for port in compiled.inputs] == [6 * size for size in sizes]
        assert [port.bytes for port in compiled.outputs] == [math.prod(t.shape) for t in graph.outputs]


def test_vela_says_why_it_gives_up() -> None:
    with pytest.raises(vela.VelaError, match=r"^Compilation failed: No networks defined"):
        vela.compile_tosa(b"no TOSA at all", "ethos-u55-128")
    graph = TosaGraph()
    graph.outputs.append(graph.add("REVERSE", [graph.input((2, 6))], (2, 6), axis=1))
    with pytest.raises(vela.VelaError, match="could not run on NPU"):
        vela.compile_tosa(graph.serialize(), "ethos-u55-128")


def test_operators_are_numbered_once() -> None:
    numbers = [number for number, _ in OPERATORS.values()]
    assert len(set(numbers)) == len(numbers)
    assert all(re.fullmatch(r"[A-Z0-9_]+", name) for name in OPERATORS)
