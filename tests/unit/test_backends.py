"""Backends: which nodes go together, what becomes of the others, and a small engine that really computes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight import boards
from pilotlight.backends.partition import groups, hand_over
from pilotlight.boards import Board
from pilotlight.graph import FLOAT32, Graph, Node, Port, verify
from pilotlight.graph.evaluate import evaluate
from support.command_line import call, call_error
from support.modules import Forward

SIGNS = {"add": "+", "sub": "-", "mul": "*"}


class Sums(pl.Backend):
    """An engine for sums, differences and products of equal shapes: C that it writes itself."""

    name = "sums"

    def takes(self, node: Node) -> bool | str:
        if node.op not in SIGNS:
            return "only sums and products"
        return all(v.shape == node.output.shape for v in node.inputs) or "operands differ in shape"

    def lower(self, part: Graph) -> pl.Extern:
        constants = part.constants()
        names = {port.value: f"x{k}" for k, port in enumerate(part.inputs)}
        names |= {value: f"w{k}" for k, value in enumerate(constants)}
        arguments = [f"const float *{name}" for name in names.values()]
        results = {port.value: f"y{k}" for k, port in enumerate(part.outputs)}
        lines = []
        for k, node in enumerate(part.nodes):
            a, b = (f"t{[n.output for n in part.nodes].index(v)}" if v not in names else f"{names[v]}[i]"
                    for v in node.inputs)
            lines.append(f"const float t{k} = {a} {SIGNS[node.op]} {b};")
        lines += [f"{y}[i] = t{[n.output for n in part.nodes].index(v)};" for v, y in results.items()]
        head = f"void {part.name}({', '.join([*arguments, *(f'float *{y}' for y in results.values())])}, " \
               "void *scratch, int32_t count)"
        body = "\n".join(lines)
        loop = f"(void)scratch;\nfor (int32_t i = 0; i < count; i++) {{\n{body}\n}}"
        source = f'#include "{part.name}.h"\n{head}\n{{\n{loop}\n}}\n'
        return pl.Extern(
            part.name, {f"{part.name}.h": f"#include <stdint.h>\n{head};\n", f"{part.name}.c": source},
            constants=tuple(v.data for v in constants if v.data is not None), scratch=32,
            more=(part.outputs[0].value.elements,),
        )


class Residual(nn.Module):
    """a and c may be computed together, but not with e, which waits for the softmax of a."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 8))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = x * y
        c = a + self.weight
        b = torch.softmax(a, -1)
        e = b - c
        return e * y, c


@pytest.fixture
def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 8), torch.randn(2, 8)


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_an_engine_computes_its_parts(board: str, inputs: tuple[torch.Tensor, torch.Tensor]) -> None:
    graph = pl.capture(Residual().eval(), inputs, "net")
    build = pl.compile(graph, board, backends=[Sums()])
    verify(build.lowered)
    assert [n.op for n in build.lowered.nodes] == ["extern", "softmax", "extern"]
    session = build.session()
    assert session.match
    (row,) = session.figures["backends"]
    assert [(r["function"], r["operators"]) for r in row["taken"]] == [("net_sums_0", 2), ("net_sums_1", 2)]
    assert [(r["op"], r["reason"]) for r in row["refused"]] == [("softmax", "only sums and products")]
    assert session.build.options.backends == ("sums",)
    json.dumps(session.as_dict())
    if board != "host":
        counted = [r.instructions for r in session.operators if r.op == "extern"]
        assert len(counted) == 2 and all(counted)


def test_an_engine_that_lies_is_no_match(inputs: tuple[torch.Tensor, torch.Tensor]) -> None:
    class Wrong(Sums):
        def lower(self, part: Graph) -> pl.Extern:
            right = super().lower(part)
            files = {name: text.replace(" + ", " - ") for name, text in right.files.items()}
            return replace(right, files=files)

    graph = pl.capture(Residual().eval(), inputs, "net")
    assert not pl.compile(graph, backends=[Wrong()]).session().match


def test_views_alone_and_refused_parts_stay_ours(inputs: tuple[torch.Tensor, torch.Tensor]) -> None:
    class Shy(Sums):
        def takes(self, node: Node) -> bool | str:
            return node.op == "reshape" or super().takes(node)

        def lower(self, part: Graph) -> pl.Extern:
            raise pl.Refused("the engine is out of memory")

    net = Forward(lambda x, y: torch.softmax(x.reshape(4, 4), -1).reshape(2, 8) + y)
    build = pl.compile(pl.capture(net, inputs, "net"), backends=[Shy()])
    (found,) = build.lowered.partitions
    assert not found.taken and "extern" not in {n.op for n in build.lowered.nodes}
    assert {r["reason"] for r in found.refused} == {
        "only sums and products", "it moves nothing and is next to nothing else that is taken",
        "the engine is out of memory",
    }
    assert build.session().match


def test_two_engines_the_first_chooses_first(inputs: tuple[torch.Tensor, torch.Tensor]) -> None:
    class Products(Sums):
        name = "products"

        def takes(self, node: Node) -> bool | str:
            return node.op == "mul" or "no product"

    net = Forward(lambda x, y: x * y + x)
    build = pl.compile(pl.capture(net, inputs, "net"), backends=[Products(), Sums()])
    assert [n.attrs["backend"] for n in build.lowered.nodes] == ["products", "sums"]
    assert {"op": "products (mul)", "where": build.lowered.nodes[0].place.__str__(), "reason": "products computes it"} \
        in build.lowered.partitions[1].refused
    assert build.session().match


def _graph(edges: list[list[int]]) -> Graph:
    """Node k adds up the results of `edges[k]`, or is a function of the input where there are none."""
    graph = Graph("net")
    x = graph.fresh("x", FLOAT32, (2,))
    graph.inputs.append(Port("x", x, (2,)))
    made: list[Any] = []
    for makers in edges:
        value = graph.fresh("v", FLOAT32, (2,))
        reads = [made[m] for m in makers] or [x]
        graph.nodes.append(Node("cat", reads, [value]))
        made.append(value)
    graph.outputs.append(Port("y", made[-1], (2,)))
    return graph


def _parts(edges: list[list[int]], taken: set[int]) -> list[list[int]]:
    graph = _graph(edges)
    numbers = {node: k for k, node in enumerate(graph.nodes)}
    return [[numbers[n] for n in group] for group in groups(graph, {graph.nodes[k] for k in taken})]


@pytest.mark.parametrize(("edges", "taken", "expected"), [
    ([[], [0], [1]], {0, 1, 2}, [[0, 1, 2]]),
    ([[], [0], [0, 1]], {0, 2}, [[0], [2]]),  # 1 reads 0 and is read by 2
    ([[], [], [0, 1]], {0, 2}, [[0, 2]]),  # 1 does not wait for 0
    ([[], [0], [0], [1, 2]], {0, 1, 3}, [[0, 1], [3]]),
    ([[], [], [0], [1], [2], [3, 4]], {0, 1, 3, 5}, [[0], [1, 3, 5]]),
    ([[], [0], [1], [0, 2], [3]], {0, 2, 3, 4}, [[0], [2, 3, 4]]),
])
def test_groups(edges: list[list[int]], taken: set[int], expected: list[list[int]]) -> None:
    assert _parts(edges, taken) == expected


def _reaches(edges: list[list[int]]) -> list[set[int]]:
    before: list[set[int]] = []
    for makers in edges:
        before.append(set(makers).union(*(before[m] for m in makers)))
    return before


def _is_convex(edges: list[list[int]], group: set[int]) -> bool:
    before = _reaches(edges)
    outside = set(range(len(edges))) - group
    return not any(before[k] & group and any(k in before[g] for g in group) for k in outside)


def _runs(edges: list[list[int]], parts: list[set[int]]) -> bool:
    """Whether each part can run as one step: the graph of parts and other nodes has no cycle."""
    owner = {k: -1 - p for p, part in enumerate(parts) for k in part}
    waits: dict[int, set[int]] = {}
    for k, makers in enumerate(edges):
        me = owner.get(k, k)
        waits.setdefault(me, set()).update({owner.get(m, m) for m in makers} - {me})
    while ready := [k for k, makers in waits.items() if not makers]:
        waits = {k: makers - set(ready) for k, makers in waits.items() if makers}
    return not waits


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_are_cut_into_maximal_convex_groups(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(2, 14)
    edges = [sorted(draw.sample(range(k), min(k, draw.randint(0, 3)))) for k in range(count)]
    taken = {k for k in range(count) if draw.random() < 0.7}
    parts = [set(p) for p in _parts(edges, taken)]
    assert sorted(k for p in parts for k in p) == sorted(taken)
    assert all(_is_convex(edges, p) for p in parts) and _runs(edges, parts)
    for one in parts:
        for other in parts:
            touch = any(m in one for k in other for m in edges[k])
            if one is not other and touch:
                rest = [p for p in parts if p not in (one, other)]
                assert not _runs(edges, [*rest, one | other])


def test_a_long_chain_takes_linear_work() -> None:
    edges: list[list[int]] = [[k - 1] if k else [] for k in range(3000)]
    assert len(_parts(edges, set(range(3000)))) == 1


def _bad(backend: Callable[[], Any] | Any, inputs: Any) -> str:
    graph = pl.capture(Forward(lambda x, y: x + y), inputs, "net")
    with pytest.raises(pl.PilotlightError) as error:
        pl.compile(graph, backends=[backend])
    assert "\n" not in error.value.message
    return error.value.message


def test_a_bad_backend_is_one_sentence(inputs: tuple[torch.Tensor, torch.Tensor], monkeypatch: Any) -> None:
    def giving(result: Any) -> pl.Backend:
        class Giving(Sums):
            def lower(self, part: Graph) -> pl.Extern:
                return result  # type: ignore[no-any-return]

        return Giving()

    class Nameless(Sums):
        name = ""

    class Elsewhere(Sums):
        def on(self, board: Board) -> pl.Backend | str:
            return "the board has no such engine"

    assert _bad(giving("f()"), inputs) == "the backend sums gave str for a subgraph; expected an Extern"
    assert _bad(giving(pl.Extern("not a name")), inputs) == \
        "the backend sums calls 'not a name', which is no name of a C function"
    assert "asks for -1 bytes" in _bad(giving(pl.Extern("f", scratch=-1)), inputs)
    assert "overlap input 3" in _bad(giving(pl.Extern("f", overlaps={(3, 0): 0})), inputs)
    assert "not numpy arrays" in _bad(giving(pl.Extern("f", constants=(1,))), inputs)  # type: ignore[arg-type]
    assert _bad(Nameless(), inputs) == "the backend Nameless has no name"
    assert _bad(Sums, inputs) == "expected an instance of Backend, got the class Sums"
    assert _bad(Elsewhere(), inputs) == "the backend sums cannot be used: the board has no such engine"
    assert _bad("nothing", inputs) == "there is no backend 'nothing'"
    broken = metadata.EntryPoint("broken", "no_such_package:Engine", "pilotlight.backends")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [broken])
    assert _bad("broken", inputs).startswith("the backend broken of no_such_package:Engine cannot be loaded: ")


def test_own_passes_need_the_one_that_hands_over(inputs: tuple[torch.Tensor, torch.Tensor]) -> None:
    graph = pl.capture(Forward(lambda x, y: x + y), inputs, "net")
    assert pl.compile(graph, passes=pl.default_passes(), backends=[Sums()]).lowered.partitions[0].taken
    with pytest.raises(pl.PilotlightError, match="no pass is called 'hand parts to backends'"):
        pl.compile(graph, passes=[], backends=[Sums()])


def test_int8_layers_are_offered_with_their_parameters(inputs: tuple[torch.Tensor, torch.Tensor]) -> None:
    """A part means what its nodes mean, byte for byte."""
    class Layers(pl.Backend):
        name = "layers"
        parts: list[Graph] = []  # noqa: RUF012

        def takes(self, node: Node) -> bool | str:
            return node.op in ("qlinear", "qsoftmax") or "no layer"

        def lower(self, part: Graph) -> pl.Extern:
            self.parts.append(part)
            return pl.Extern("layers_run", overlaps={(0, 0): 0})

    net = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4), nn.Softmax(-1)).eval()
    samples = [torch.randn(2, 8) for _ in range(4)]
    quantized = pl.quantize(pl.capture(net, (samples[0],), "net"), samples)
    ours, theirs = pl.lower(quantized), hand_over(pl.lower(quantized), [Layers().on(boards.load("host"))])
    (part,) = Layers.parts
    assert [n.op for n in part.nodes] == ["qlinear", "qlinear", "qsoftmax"]
    assert part.inputs[0].value.quant is not None and len([n for n in theirs.nodes if n.op == "extern"]) == 1
    for x in samples:
        np.testing.assert_array_equal(evaluate(ours, [x])[0], evaluate(theirs, [x])[0])
    assert theirs.nodes[0].op == "extern" and not any(v.is_constant for v in theirs.nodes[0].inputs)


def test_the_command_line_names_a_backend(tmp_path: Path) -> None:
    pl.add_backend(Sums())
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x, y):\n        return (x + y) * x\n"
        "def net():\n    return Net(), (torch.randn(3), torch.randn(3))\n"
    )
    shown = call("inspect", f"{file}:net", "--board", "mps2-an386", "--backend", "sums").output
    assert "backend sums 2 operators in 1 call: sums (add, mul)" in " ".join(shown.split())
    assert call_error("inspect", f"{file}:net", "--backend", "none")["message"] == "there is no backend 'none'"
