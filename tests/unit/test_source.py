"""MODEL: every way in which users keep their models, and one sentence for each thing that can be wrong with it."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.capture import load_model
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate
from support.command_line import call, call_error, call_json

LAYERS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width=4, act="relu"):
        super().__init__()
        self.fc = nn.Linear(width, 3)
        self.act = act

    def forward(self, x, *, gain):
        return getattr(torch, self.act)(self.fc(x)) * gain
"""
NET = """
import torch
from .layers import Block
from ..common import SCALE

def net(width=4):
    return Block(width), (torch.randn(1, width),), {"gain": torch.full((1,), SCALE)}

def needs(width, depth):
    return net(width)

def program():
    return torch.export.export(torch.nn.Linear(4, 2), (torch.randn(1, 4),))

def late():
    from . import absent

ready = Block()
pair = torch.nn.Linear(4, 2), torch.zeros(1, 4)
exported = program()
number = 3
"""
PLAIN = """
import torch
class Net(torch.nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.a = torch.nn.Linear(4, hidden)
        self.b = torch.nn.Linear(hidden, 2)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package `things`, whose part `nets` holds the models, and with a plain file."""
    folder = tmp_path / "things" / "nets"
    folder.mkdir(parents=True)
    for path in (folder, folder.parent):
        (path / "__init__.py").write_text("")
    (folder.parent / "common.py").write_text("SCALE = 2.0\n")
    (folder / "layers.py").write_text(LAYERS)
    (folder / "net.py").write_text(NET)
    (tmp_path / "plain.py").write_text(PLAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [n for n in sys.modules if n.partition(".")[0] in ("things", "plain")]:
        del sys.modules[name]
    return tmp_path


def weights_of(graph: Graph) -> list[bytes]:
    return [t.detach().numpy().tobytes() for t in graph.torch_program.state_dict.values()]


@pytest.mark.parametrize(
    ("model", "inputs", "init", "shapes"),
    [
        ("things/nets/net.py:net", [], {}, [(1, 4), (1,)]),
        ("things.nets.net:net", [], {"width": 6}, [(1, 6), (1,)]),
        ("things.nets.net:net", ["2x4", "gain=2x1"], {}, [(2, 4), (2, 1)]),
        ("things/nets/layers.py:Block", ["1x5", "gain=1"], {"width": 5, "act": "tanh"}, [(1, 5), (1,)]),
        ("things.nets.net:ready", ["gain=1", "1x4"], {}, [(1, 4), (1,)]),
        ("things.nets.net:pair", [], {}, [(1, 4)]),
        ("things.nets.net:program", [], {}, [(1, 4)]),
        ("things.nets.net:exported", [], {}, [(1, 4)]),
        ("plain:Net", ["1x4"], {}, [(1, 4)]),
    ],
)
def test_models_are_found_wherever_they_are(
    model: str, inputs: list[str], init: dict[str, Any], shapes: list[tuple[int, ...]], project: Path
) -> None:
    graph = load_model(model, inputs, init=init)
    assert [p.shape for p in graph.inputs] == shapes


def test_a_folder_without_init_is_a_package_where_it_is_used_as_one(project: Path) -> None:
    for file in project.rglob("__init__.py"):
        file.unlink()
    assert load_model("things/nets/net.py:net").inputs[1].name == "gain"


def test_inputs_by_keyword_reach_the_c_in_any_order() -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, *, less: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
            return x - 2 * less + 3 * more

    x, less, more = torch.randn(1, 3), torch.randn(1, 3), torch.randn(1, 3)
    build = pl.compile(pl.capture(Net(), (x,), kwargs={"more": more, "less": less}))
    want = Net()(x, less=less, more=more)
    with build.open("host") as running:
        torch.testing.assert_close(running(x, less=less, more=more), want)
        torch.testing.assert_close(running(x, more=more, less=less), want)
        with pytest.raises(PilotlightError, match="takes more, less by keyword, got other"):
            running(x, other=more)
    torch.testing.assert_close(build.run(x, kwargs={"less": less, "more": more}), want)


def test_an_exported_program_is_captured_as_it_is() -> None:
    net, x = nn.Linear(4, 2), torch.randn(1, 4)
    graph = pl.capture(torch.export.export(net, (x,)), name="head")
    assert graph.name == "head"
    torch.testing.assert_close(evaluate(graph, [x])[0], net(x))


def test_a_dictionary_of_examples_says_which_it_may_be() -> None:
    with pytest.raises(PilotlightError, match="expected a tuple") as caught:
        pl.capture(nn.Linear(4, 2), {"input": torch.randn(1, 4)})  # type: ignore[arg-type]
    assert "kwargs=" in str(caught.value.hint)


def test_the_same_command_gives_the_same_c(project: Path) -> None:
    """Weights are drawn again each time, from the same seed; the caller's random state is not affected."""
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    first = load_model("plain.py:Net", ["1x4"])
    found = (torch.rand(1).item(), random.random(), np.random.rand())
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    assert found == (torch.rand(1).item(), random.random(), np.random.rand())
    for model in ("plain.py:Net", "plain:Net"):
        assert weights_of(load_model(model, ["1x4"])) == weights_of(first)
    files = [pl.compile(load_model("plain.py:Net", ["1x4"])).module.files for _ in range(2)]
    assert files[0] == files[1]


def test_inputs_of_one_shape_are_not_the_same_numbers(project: Path) -> None:
    (project / "two.py").write_text("import torch\nclass Two(torch.nn.Module):\n    def forward(self, a, b):\n"
                                    "        return a - b\n")
    (args, _) = load_model("two.py:Two", ["1x4", "1x4"]).torch_program.example_inputs
    assert not torch.equal(*args)


def test_files_of_one_name_in_two_folders(project: Path) -> None:
    other = project / "other"
    other.mkdir()
    (other / "plain.py").write_text(PLAIN.replace("hidden=8", "hidden=16"))
    assert load_model("plain.py:Net", ["1x4"]).macs == 48
    assert load_model("other/plain.py:Net", ["1x4"]).macs == 96


def test_a_file_named_as_a_library_leaves_the_library_alone(project: Path) -> None:
    (project / "json.py").write_text(PLAIN)
    before = sys.modules["json"]
    assert load_model("json.py:Net", ["1x4"]).macs == 48
    assert sys.modules["json"] is before


# ---- weights -----------------------------------------------------------------------------------------------


class _Net(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.a = nn.Linear(4, hidden)
        self.b = nn.Linear(hidden, 2)


@pytest.mark.parametrize("wrapped", [
    lambda state: state,
    lambda state: {"epoch": 3, "state_dict": state},
    lambda state: {f"module.{key}": value for key, value in state.items()},
])
def test_weights_come_from_a_file(wrapped: Any, project: Path) -> None:
    net = _Net(8)
    torch.save(wrapped(net.state_dict()), "w.pt")
    graph = load_model("plain.py:Net", ["1x4"], weights="w.pt")
    x = torch.randn(1, 4)
    torch.testing.assert_close(evaluate(graph, [x])[0], net.b(torch.relu(net.a(x))))


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda: torch.save(_Net(16).state_dict(), "w.pt"), "a.weight is [16, 4], expected [8, 4]"),
        (lambda: torch.save({"a.weight": torch.zeros(8, 4)}, "w.pt"), "it misses a.bias, b.weight, b.bias"),
        (lambda: torch.save({**_Net(8).state_dict(), "c.bias": torch.zeros(1)}, "w.pt"), "lacks: c.bias"),
        (lambda: torch.save(_Net(8), "w.pt"), "holds Python objects"),
        (lambda: torch.save({"epoch": 3}, "w.pt"), "holds a dictionary with 'epoch'"),
        (lambda: torch.save([1], "w.pt"), "holds a list"),
        (lambda: torch.save(torch.zeros(3), "w.pt"), "holds a Tensor"),
        (lambda: Path("w.pt").write_text("hello"), "torch.save did not write it"),
        (lambda: Path("w.pt").write_bytes(b""), "torch.save did not write it"),
        (lambda: None, "does not exist"),
    ],
)
def test_weights_that_do_not_fit(write: Any, says: str, project: Path) -> None:
    write()
    with pytest.raises(PilotlightError) as caught:
        load_model("plain.py:Net", ["1x4"], weights="w.pt")
    assert says in caught.value.message and "\n" not in caught.value.message
    assert caught.value.hint


def test_safetensors_where_the_library_is(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("w.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(PilotlightError, match="needs the library safetensors") as caught:
        load_model("plain.py:Net", ["1x4"], weights="w.safetensors")
    assert "pip install safetensors" in str(caught.value.hint)
    library, net = ModuleType("safetensors.torch"), _Net(8)
    library.load_file = lambda path: net.state_dict()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "safetensors", ModuleType("safetensors"))
    monkeypatch.setitem(sys.modules, "safetensors.torch", library)
    graph = load_model("plain.py:Net", ["1x4"], weights="w.safetensors")
    assert weights_of(graph) == [t.numpy().tobytes() for t in net.state_dict().values()]


def test_weights_and_arguments_on_the_command_line(project: Path) -> None:
    torch.save(_Net(16).state_dict(), "w.pt")
    found = call_json("inspect", "plain.py:Net", "--input", "1x4", "--init", "hidden=16", "--weights", "w.pt",
                      "--board", "host")
    assert found["macs"] == 96
    error = call_error("inspect", "plain.py:Net", "--input", "1x4", "--weights", "w.pt")
    assert error["kind"] == "weights" and "--init" in error["hint"]
    assert "KEY=VALUE" in call_error("inspect", "plain.py:Net", "--init", "hidden")["message"]


# ---- what can be wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options", "says", "hint"),
    [
        ("things.nets.net:nett", {}, "has no 'nett'", "did you mean net? it has: exported, late, needs, net, pair, "
                                                      "program, ready"),
        ("things.nets.nett:net", {}, "no module 'things.nets.nett'", "did you mean things.nets.net?"),
        ("thing.nets.net:net", {}, "no module 'thing'", "did you mean things?"),
        ("things/nets/nett.py:net", {}, "does not exist", "did you mean things/nets/net.py?"),
        ("things/nets/net:net", {}, "neither a .py file nor a module", "file.py:name"),
        (":net", {}, "names no model", "file.py:name"),
        ("plain.py:", {}, "names no model", "file.py:name"),
        ("things.nets.net:number", {}, "is a int", "file.py:name"),
        ("things.nets.net:net", {"init": {"wdth": 3}}, "has no argument 'wdth'", "did you mean width?"),
        ("things.nets.net:needs", {"init": {"width": 3}}, "needs depth", "--init depth=32"),
        ("things.nets.net:ready", {"init": {"width": 3}}, "already exists", "name the class"),
        ("things.nets.net:exported", {"inputs": ["1x4"]}, "--input cannot change", "export the model again"),
        ("things.nets.net:program", {"weights": "w.pt"}, "--weights cannot change", "export the model again"),
        ("things.nets.net:ready", {"inputs": ["1x4", "1"]}, "forward(x, *, gain)", "--input gain=SHAPE"),
        ("things.nets.net:ready", {}, "without example inputs", "--input SHAPE"),
        ("plain.py:Net", {"inputs": ["1x4", "1x4"]}, "too many positional arguments", "in this order"),
    ],
)
def test_one_sentence_for_each_mistake(
    model: str, options: dict[str, Any], says: str, hint: str, project: Path
) -> None:
    with pytest.raises(PilotlightError) as caught:
        load_model(model, **options)
    assert says in caught.value.message and "\n" not in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "model", "where", "says"),
    [
        ("from .. import common\nraise ValueError('no data here')\n", "things/nets/bad.py:net", "things/nets/bad.py:2",
         "ValueError: no data here"),
        ("import bad_helper\n", "bad.py:net", "bad_helper.py:2", "ZeroDivisionError"),
        ("import bad_syntax\n", "bad.py:net", "bad_syntax.py:2", "def f(:"),
        ("import absent_library\n", "bad:net", "bad.py:1", "No module named 'absent_library'"),
        ("def net():\n    raise RuntimeError\n", "bad:net", "bad.py:2", "calling net() failed: RuntimeError"),
    ],
)
def test_exceptions_show_the_users_own_line(text: str, model: str, where: str, says: str, project: Path) -> None:
    (project / "bad_helper.py").write_text("x = 1\ny = x / 0\n")
    (project / "bad_syntax.py").write_text("x = 1\ndef f(:\n")
    (project / "bad.py").write_text(text)
    (project / "things" / "nets" / "bad.py").write_text(text)
    sys.modules.pop("bad", None)
    error = call_error("inspect", model)
    assert error["kind"] == "user-code" and says in error["message"] and error["where"] == where
    assert "Traceback" not in call("inspect", model).stderr
