"""The graph as data: its text, its copies, and a verifier that finds every kind of malformed graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.graph import FLOAT32, INT64, Graph, Node, Port, State, Value, verify
from pilotlight.graph.evaluate import evaluate, trace
from pilotlight.passes.pipeline import optimize
from support.compiled import zoo_graph


def small() -> Graph:
    """y = relu(x) + c, with a state that counts."""
    graph = Graph("small")
    x = graph.fresh("x", FLOAT32, (2, 3))
    n = graph.fresh("n", FLOAT32, (1,))
    zero, one = graph.constant(np.float32(0)), graph.constant(np.ones(1, np.float32))
    c = graph.constant(np.arange(3, dtype=np.float32), "c")
    relu, y, more = (graph.fresh(h, FLOAT32, s) for h, s in (("relu", (2, 3)), ("y", (2, 3)), ("more", (1,))))
    graph.inputs = [Port("x", x, (2, 3))]
    graph.states = [State("n", n, more, np.zeros(1, np.float32))]
    graph.nodes = [
        Node("clamp_min", [x, zero], [relu]), Node("add", [relu, c], [y]), Node("add", [n, one], [more]),
    ]
    graph.outputs = [Port("0", y, (2, 3))]
    verify(graph)
    return graph


def replace_output(graph: Graph, dtype: object, shape: tuple[int, ...]) -> None:
    node = graph.nodes[1]
    node.outputs = [Value("other", dtype, shape)]  # type: ignore[arg-type]
    graph.outputs[0].value = node.output


def wrong_order(g: Graph) -> None:
    g.nodes.reverse()


def undefined_input(g: Graph) -> None:
    g.nodes[0].inputs[0] = Value("ghost", FLOAT32, (2, 3))


def written_twice(g: Graph) -> None:
    g.nodes.append(Node("clamp_min", list(g.nodes[0].inputs), list(g.nodes[0].outputs)))


def input_written(g: Graph) -> None:
    g.nodes[0].outputs = [g.inputs[0].value]


def constant_written(g: Graph) -> None:
    g.nodes.append(Node("copy", [g.nodes[1].inputs[1]], [g.nodes[1].inputs[1]]))


def same_name(g: Graph) -> None:
    g.nodes[0].output.name = "x"


def wrong_shape(g: Graph) -> None:
    replace_output(g, FLOAT32, (3, 2))


def wrong_dtype(g: Graph) -> None:
    replace_output(g, INT64, (2, 3))


def missing_result(g: Graph) -> None:
    g.nodes[2].outputs.append(Value("extra", FLOAT32, (1,)))


def constant_of_another_shape(g: Graph) -> None:
    g.nodes[1].inputs[1].data = np.zeros(4, np.float32)


def constant_of_another_type(g: Graph) -> None:
    g.nodes[1].inputs[1].data = np.zeros(3, np.float64)


def output_never_written(g: Graph) -> None:
    g.outputs[0].value = Value("ghost", FLOAT32, (2, 3))


def output_of_another_shape(g: Graph) -> None:
    g.outputs[0].shape = (3, 2)


def input_not_as_permuted(g: Graph) -> None:
    g.inputs[0].perm = (1, 0)


def input_twice(g: Graph) -> None:
    g.inputs.append(g.inputs[0])


def state_never_written(g: Graph) -> None:
    g.states[0].next = Value("ghost", FLOAT32, (1,))


def state_changes_shape(g: Graph) -> None:
    g.states[0].next = g.nodes[1].output


def state_starts_otherwise(g: Graph) -> None:
    g.states[0].initial = np.zeros(2, np.float32)


def unknown_operator(g: Graph) -> None:
    g.nodes[1].op = "frobnicate"


BROKEN: list[tuple[Callable[[Graph], None], str]] = [
    (wrong_order, "%relu: float32[2x3] is read before it is written"),
    (undefined_input, "%ghost: float32[2x3] is read before it is written"),
    (written_twice, "%relu: float32[2x3] is written twice"),
    (input_written, "%x: float32[2x3] is written twice"),
    (constant_written, "is written twice"),
    (same_name, "two values are called %x"),
    (wrong_shape, "should give [(float32, (2, 3))]"),
    (wrong_dtype, "should give [(float32, (2, 3))]"),
    (missing_result, "should give [(float32, (1,))]"),
    (constant_of_another_shape, "holds float32[4]"),
    (constant_of_another_type, "holds float64[3]"),
    (output_never_written, "output 0 is never written"),
    (output_of_another_shape, "0 is %y: float32[2x3], which is not [3, 2]"),
    (input_not_as_permuted, "x is %x: float32[2x3], which is not [2, 3] permuted by (1, 0)"),
    (input_twice, "two inputs or states are one value"),
    (state_never_written, "state n is never written"),
    (state_changes_shape, "state n changes from %n: float32[1] to %y: float32[2x3]"),
    (state_starts_otherwise, "starts as float32[2]"),
    (unknown_operator, "there is no operator frobnicate"),
]


@pytest.mark.parametrize(("break_it", "says"), BROKEN, ids=[b.__name__ for b, _ in BROKEN])
def test_verifier_finds_every_kind_of_malformed_graph(break_it: Callable[[Graph], None], says: str) -> None:
    graph = small()
    break_it(graph)
    with pytest.raises(PilotlightError) as caught:
        verify(graph, after="a pass")
    assert caught.value.kind == "internal"
    assert caught.value.message.startswith("after a pass: ")
    assert says in caught.value.message


def test_text_form() -> None:
    graph = small()
    lines = [line.split("  #")[0].rstrip() for line in str(graph).splitlines()]
    assert lines == [
        "graph small {",
        "  input  %x: float32[2x3]",
        "  state  %n: float32[1] -> %more",
        "  const  $c: float32[3]",
        "  %relu: float32[2x3] = clamp_min(%x, 0)",
        "  %y: float32[2x3] = add(%relu, $c)",
        "  %more: float32[1] = add(%n, 1)",
        "  output %y: float32[2x3]",
        "}",
    ]


def test_text_form_after_the_passes() -> None:
    net = nn.Sequential(nn.Conv2d(2, 3, 1), nn.Sigmoid(), nn.Hardswish()).eval()
    graph = optimize(pl.capture(net, (torch.zeros(1, 2, 4, 4),), "net"))
    text = str(graph)
    assert "input  %input_1: float32[1x4x4x2]  # PyTorch's [1, 2, 4, 4] permuted by [0, 2, 3, 1]" in text
    assert "body=(sigmoid(in0), hardswish(t0))" in text
    assert "Item(" not in text


def test_evaluate_and_trace() -> None:
    graph = small()
    x = torch.tensor([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]])
    values, (y,) = trace(graph, [x])
    assert torch.equal(y, x.clamp(min=0) + torch.arange(3.0))
    assert torch.equal(values[graph.states[0].next], torch.ones(1))


def test_names_are_never_given_twice() -> None:
    graph = Graph("net")
    names = [graph.fresh(hint, FLOAT32, ()).name for hint in ("a", "a", "a_1", "a", "a_1_1", "a_1")]
    assert len(set(names)) == len(names)


def test_a_copy_shares_nothing_that_passes_change() -> None:
    graph = zoo_graph("lenet")
    before = str(graph)
    copy = graph.clone()
    assert str(copy) == before
    x = [torch.randn(p.shape) for p in graph.inputs]
    (want,) = evaluate(graph, x)
    optimize(copy)
    assert str(graph) == before
    assert torch.equal(evaluate(graph, x)[0], want)
    assert {id(v.data) for v in graph.clone().constants()} == {id(v.data) for v in graph.constants()}


def test_replace_reaches_nodes_outputs_and_states() -> None:
    graph = small()
    graph.states[0].next = graph.nodes[2].output
    new = graph.fresh("new", FLOAT32, (2, 3))
    graph.replace(graph.nodes[1].output, new)
    assert graph.outputs[0].value is new
    more = graph.fresh("more", FLOAT32, (1,))
    graph.replace(graph.states[0].next, more)
    assert graph.states[0].next is more
    x = graph.fresh("x", FLOAT32, (2, 3))
    graph.replace(graph.inputs[0].value, x)
    assert graph.nodes[0].inputs[0] is x


def test_references_read_a_part_of_a_tensor_from_where_it_begins() -> None:
    """A slice of the first dimension is contiguous, but not the beginning of PyTorch's memory."""

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = (x + 1).reshape(3, 1, 1, 5).split(1)
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    x = torch.randn(1, 15)
    (y,) = evaluate(pl.capture(Net(), (x,)), [x])
    assert torch.equal(y, Net()(x))
