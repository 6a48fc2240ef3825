"""TorchScript files: what is compiled equals the ScriptModule itself, call after call."""

from __future__ import annotations

import os
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import pilotlight as pl
from pilotlight.capture.recording import record
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from support.compiled import assert_matches, rows_of
from support.scripted_models import (
    Careful,
    Collector,
    Counter,
    Endless,
    Filter,
    Forked,
    Gate,
    Lazy,
    Memory,
    Points,
    Ragged,
    Sizes,
    TwoNames,
    Wave,
    Writer,
)
from zoo import ZOO, load

SCRIPTED, TRACED = "script", "trace"
FEW = [("mlp", SCRIPTED), ("lstm", SCRIPTED), ("gru", TRACED), ("encoder", TRACED), ("tcn", SCRIPTED)]
NOT_SCRIPTED = ("shufflenet", "bert_tiny", "convnext")  # torch.jit.script does not take them
ALL = [(name, how) for name in ZOO if name != "alexnet" for how in (SCRIPTED, TRACED)
       if how == TRACED or name not in NOT_SCRIPTED]  # make torchscript


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """torch.jit says that it is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def saved(module: nn.Module, path: Path, *example: Tensor) -> str:
    """Scripted, or traced where there is an example."""
    with torch.no_grad():
        made = torch.jit.trace(module.eval(), example, strict=False) if example else torch.jit.script(module.eval())
    torch.jit.save(made, path)
    return str(path)


def check(path: str, *inputs: str, runs: int = 5) -> Graph:
    """Compile a file, run it on the host, compare with the loaded ScriptModule by the rule for whole models."""
    graph = pl.load(path, inputs)
    assert isinstance(graph, Graph)
    rows = rows_of(graph, runs)
    with pl.compile(graph).open("host") as running:
        running.reset()
        outputs = [running.flat(row) for row in rows]
    assert_matches(graph, rows, outputs)
    truth = torch.jit.load(path)
    for row, got in zip(rows, outputs, strict=True):  # the module as a user would call it
        want = truth(*[x.clone() for x in row])
        flat = torch.utils._pytree.tree_leaves(want)
        for g, w in zip(got, [x for x in flat if isinstance(x, Tensor)], strict=True):
            torch.testing.assert_close(torch.as_tensor(g).reshape(w.shape), w, rtol=1e-4, atol=1e-5)
    return graph


def spec(x: Tensor) -> str:
    return "x".join(map(str, x.shape)) + ("" if x.dtype == torch.float32 else f":{str(x.dtype).rpartition('.')[2]}")


@pytest.mark.parametrize(("name", "how"), ALL if os.environ.get("PILOTLIGHT_ALL_MODELS") else FEW)
def test_models_of_the_zoo(tmp_path: Path, name: str, how: str) -> None:
    module, inputs = load(name)
    path = saved(module, tmp_path / f"{name}.pt", *(inputs if how == TRACED else ()))
    check(path, *map(spec, inputs), runs=4)


def test_attributes_are_state(tmp_path: Path) -> None:
    graph = check(saved(Filter(), tmp_path / "filter.pt"), "1x4")
    assert [state.name for state in graph.states] == ["h"] and graph.states[0].initial.tolist() == [[1.0] * 4]
    assert [port.name for port in graph.outputs] == ["h", "mixed", "all"]


def test_state_that_the_first_call_makes(tmp_path: Path) -> None:
    graph = check(saved(Lazy(), tmp_path / "lazy.pt"), "1x3")
    assert {state.name for state in graph.states} == {"empty", "h", "pair_0", "pair_1"}


def test_state_whose_start_is_not_known_is_refused(tmp_path: Path) -> None:
    """The first call computes with a value that it never keeps."""
    with pytest.raises(PilotlightError) as caught:
        pl.load(saved(Lazy(0.25), tmp_path / "lazy.pt"), ["1x3"])
    assert "output 0 of call 1 is not what the TorchScript module itself gives" in caught.value.message
    assert re.search(r"differs is that of aten::\w+ at lazy\.pt:code/\S+\.py:\d+$", caught.value.message)


def test_writes_in_place_and_numbers_as_inputs(tmp_path: Path) -> None:
    path = saved(Wave(), tmp_path / "wave.pt")
    assert [state.name for state in check(path, "1x2").states] == ["ring"]
    got = pl.load(path, ["1x2", "scale=5"])
    assert isinstance(got, Graph)
    want = torch.jit.load(path)(got.truth.example[0], 5)
    torch.testing.assert_close(got.truth.in_float32()(got.truth.example[0])[0], want[0])


def test_named_tuples(tmp_path: Path) -> None:
    graph = check(saved(Points(), tmp_path / "points.pt"), "2x8")
    assert [port.name for port in graph.outputs] == ["x", "y"]


@pytest.mark.parametrize("how", [SCRIPTED, TRACED])
def test_sizes_are_constants(tmp_path: Path, how: str) -> None:
    example = (torch.randn(2, 8),) if how == TRACED else ()
    check(saved(Sizes(), tmp_path / "sizes.pt", *example), "2x8")


def test_lines_are_of_the_archive(tmp_path: Path) -> None:
    graph = pl.load(saved(Filter(), tmp_path / "filter.pt"), ["1x4"])
    assert isinstance(graph, Graph)
    places = {(node.place.module, node.place.source.rpartition(":")[0]) for node in graph.nodes if node.place}
    assert any(m == "layers.0" and s.startswith("filter.pt:code/__torch__/torch/nn/modules/linear") for m, s in places)
    own = [node.place.source for node in graph.nodes if node.place and node.place.module == ""]
    with zipfile.ZipFile(tmp_path / "filter.pt") as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("scripted_models.py")]
        lines = archive.read(name).decode().splitlines()
    assert any("torch.tanh" in lines[int(place.rpartition(":")[2]) - 1] for place in own)


def test_decisions_by_data(tmp_path: Path) -> None:
    """Both branches are compiled, and one of them runs."""
    torch.manual_seed(0)
    graph = check(saved(Gate(), tmp_path / "gate.pt"), "1x4", runs=12)
    assert {state.name for state in graph.states} == {"level", "peak"}
    assert any(node.op == "cond" for node in graph.nodes)
    with pytest.raises(PilotlightError, match="the model runs other operators in one run than in another"):
        record(graph.truth, [[torch.ones(1, 4)], [torch.full((1, 4), -9.0)]])


def test_lists_dictionaries_and_objects(tmp_path: Path) -> None:
    graph = check(saved(Memory(), tmp_path / "memory.pt"), "1x4", runs=7)
    assert {state.name for state in graph.states} == {"line_0", "line_1", "table_0", "table_1"}


@pytest.mark.parametrize(("model", "kind", "says"), [
    (Counter, "capture", "changes its attribute 'calls' from call to call"),
    (TwoNames, "capture", "the attributes 'level' and 'other' of the TorchScript model are one tensor"),
    (Endless, "data-dependent", "how often a loop runs depends on it"),
    (Ragged, "data-dependent", "its branches give float32[1, 4] and float32[1, 1], which differ"),
    (Collector, "data-dependent", "a branch changes a list or dictionary (aten::_set_item)"),
    (Careful, "data-dependent", "a branch raises an exception"),
    (Writer, "data-dependent", "a branch writes to a tensor from outside it"),
    (Forked, "unsupported", "TorchScript's prim::fork is not supported"),
])
def test_what_cannot_be_compiled(tmp_path: Path, model: type[nn.Module], kind: str, says: str) -> None:
    with pytest.raises(PilotlightError) as caught:
        pl.load(saved(model(), tmp_path / "net.pt"), ["1x4"])
    assert caught.value.kind == kind and says in caught.value.message and caught.value.hint
    if kind != "capture":
        assert re.fullmatch(r"net\.pt:code/__torch__/\S*scripted_models\.py:\d+", str(caught.value.where))
