"""`pilotlight compare`: every layer on a board next to the user's module, and the one that is wrong by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight import compiler
from pilotlight.graph import Graph
from pilotlight.report.comparison import layers_text
from pilotlight.session import LayerComparison, compare_layers
from support.command_line import NETS, call, call_error, call_json
from support.paths import FIXTURES


class Tail(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(6 * 5 * 4, 7)
        self.register_buffer("sum", torch.zeros(1, 7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.dense(x.permute(0, 3, 1, 2).flatten(1)).mul_(0.5)
        self.sum += y
        return torch.softmax(self.sum, 1)


class Layers(nn.Module):
    """Convolutions in another layout on the board, a batch norm that is folded, writes in place, and a state."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.second = nn.Conv2d(8, 6, (3, 2))
        self.tail = Tail()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.second(self.first(image)))
        x += x.amax((2, 3), keepdim=True)
        return self.tail(x.transpose(2, 3))


X = torch.randn(1, 3, 7, 5, generator=torch.Generator().manual_seed(0))


def build(board: str, quantized: bool = False) -> pl.Build:
    graph = pl.capture(Layers().eval(), (X,), "net")
    if quantized:
        graph = pl.quantize(graph, [X + 0.1 * k for k in range(4)])
    return pl.compile(graph, board=board)


def spoil(made: compiler.Build, module: str) -> None:
    """Change the bias of a layer in the files that are compiled."""
    (node,) = [n for n in made.plan.steps if n.place.module == module and len(n.inputs) > 2]
    data = node.inputs[2].data
    assert data is not None
    file = made.folder / f"{made.name}_weights.c"
    head, array = file.read_text(encoding="utf-8").split("{", 1)
    weights = bytes(map(int, re.findall(r"\d+", array)))
    assert weights.count(data.tobytes()) == 1
    changed = weights.replace(data.tobytes(), (data * 2 + 1).astype(data.dtype).tobytes())
    file.write_text(head + "{" + ", ".join(map(str, changed)) + "};\n", encoding="utf-8")


def first_wrong(found: LayerComparison) -> tuple[str, str]:
    assert found.parted is not None and not found.match
    assert all(row.match for row in found.layers[: found.parted.index])
    return found.parted.module, found.parted.source.split(":")[0]


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
def test_each_layer_is_a_tensor_of_the_module(board: str) -> None:
    made = build(board)
    found = made.compare()
    assert found.match and found.parted is None and found.runs == 3
    assert {row.against for row in found.layers} == {"PyTorch"}
    assert [row.index for row in found.layers] == list(range(len(made.plan.steps)))
    assert all(row.elements and row.max_abs_error <= row.limit for row in found.layers)
    assert {"first.0", "second", "tail.dense"} <= {row.module for row in found.layers}


@pytest.mark.parametrize(("module", "quantized"), [("first.0", False), ("tail.dense", False), ("second", True)])
def test_a_wrong_layer_is_named(module: str, quantized: bool) -> None:
    made = build("host", quantized)
    spoil(made, module)
    found = compare_layers(made)
    assert first_wrong(found) == (module, "test_compare.py")
    assert found.parted is not None
    assert f"they part at step {found.parted.index}, " in str(layers_text(found.as_dict())[0])
    if quantized:
        assert found.compared_with == "the integer reference" and (found.parted.differing or 0) > 0
    else:
        assert found.compared_with == "PyTorch" and found.parted.differing is None


def test_a_wrong_kernel_is_named_on_a_board() -> None:
    made = build("mps2-an386")
    file = made.folder / "net.c"
    head, call_of, tail = file.read_text(encoding="utf-8").rpartition("pl_tanh_f32(")
    file.write_text(f"{head}0.999f * {call_of}{tail}", encoding="utf-8")
    found = compare_layers(made)
    assert first_wrong(found) == ("", "test_compare.py")  # forward itself calls torch.tanh
    assert found.parted is not None and found.parted.op == "tanh"


def test_a_pass_that_changes_the_meaning_is_told_from_a_wrong_kernel() -> None:
    def wrong(graph: Graph) -> Graph:
        for node in graph.nodes:
            if node.place.module == "second":
                for value in node.inputs:
                    value.data = None if value.data is None else 1.5 * value.data
        return graph

    graph = pl.capture(Layers().eval(), (X,), "net")
    found = compare_layers(pl.compile(graph, passes=[("wrong", wrong), *pl.default_passes()]))
    assert not found.match and found.parted is not None and found.parted.match
    assert found.parted.module == "second" and found.parted.against == "the graph"
    assert "which is not the module" in str(layers_text(found.as_dict())[0])


class Ranked(nn.Module):
    """Steps with several results, of floats and of integers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.lstm = nn.LSTM(4, 5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, (h, c) = self.lstm(x)
        best, where = y.topk(2, 0)
        return best, where, h, c


def test_all_results_of_a_step_are_compared() -> None:
    made = pl.compile(pl.capture(Ranked().eval(), (torch.randn(6, 1, 4),), "net"))
    several = [k for k, node in enumerate(made.plan.steps) if len(node.outputs) > 1]
    assert len(several) >= 2
    found = made.compare()
    assert found.match and all(row.match and row.against == "PyTorch" for row in found.layers)
    for k in several:
        assert found.layers[k].elements == sum(value.elements for value in made.plan.steps[k].outputs)
    assert [row.op for row in found.layers if row.differing is not None] == ["topk"]


def spoiled(module: str) -> Callable[[compiler.Image], Path]:
    written = compiler.Image.folder.fget
    assert written is not None

    def folder(self: compiler.Image) -> Path:
        fresh = self._folder is None
        path: Path = written(self)
        if fresh:
            assert isinstance(self, compiler.Build)
            spoil(self, module)
        return path

    return folder


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data.npz"
    shape = pl.load(f"{NETS}:net").inputs[0].shape
    np.savez(data, x=np.random.default_rng(0).standard_normal((4, *shape)).astype(np.float32))
    good = call_json("compare", f"{NETS}:net", "--board", "host", "--inputs", data)
    assert good["match"] and good["runs"] == 4 and good["parted"] is None
    assert all(row["match"] and row["against"] == "PyTorch" for row in good["steps"])
    quantized = ("--quantize", "int8", "--calibrate", data)
    both = call_json("compare", f"{NETS}:net", "--board", "host", *quantized)
    assert both["match"] and {row["differing"] for row in both["steps"]} <= {0, None}
    assert [row["snr_db"] for row in both["steps"] if row["snr_db"] is not None]
    module = next(row["module"] for row in good["steps"] if row["module"])
    monkeypatch.setattr(compiler.Image, "folder", property(spoiled(module)))
    result = call("compare", f"{NETS}:net", "--board", "host")
    assert result.exit_code == 1 and "they part at step" in result.stdout and module in result.stdout


def test_what_cannot_be_compared_is_said() -> None:
    error = call_error("compare", f"{FIXTURES / 'cli' / 'entries.py'}:memory", "--board", "host")
    assert "comparing layers is not supported for" in error["message"]
    assert call_error("compare", f"{NETS}:net", "--board", "esp32")["kind"] == "not-runnable"
