"""PyTorch → graph: everything is captured with its location, and what cannot be captured is named."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import pilotlight as pl
from pilotlight.capture import load_model
from pilotlight.capture.inputs import parse_input
from pilotlight.errors import PilotlightError, UnsupportedError
from pilotlight.graph import Graph, verify
from pilotlight.graph.evaluate import evaluate
from support.compiled import check, zoo_graph
from support.modules import Forward
from zoo import ZOO, load, model_spec

X = torch.randn(1, 4, generator=torch.Generator().manual_seed(0))
IMAGE = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def line_of(text: str) -> str:
    """`file:line` of the one line in this file that ends with the given comment."""
    lines = Path(__file__).read_text().splitlines()
    (number,) = [k for k, line in enumerate(lines, 1) if line.endswith(f"# {text}")]
    return f"{Path(__file__).name}:{number}"



# ---- places ------------------------------------------------------------------------------------------------


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x))  # the inner line


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList([Inner()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stages[0](x)
        return torch.softmax(x, 1)  # the outer line


def test_nodes_know_their_module_and_source_line() -> None:
    graph = pl.capture(Outer().eval(), (IMAGE,), "net")
    places = {node.op: node.place for node in graph.nodes}
    assert (places["conv2d"].module, places["conv2d"].source) == ("stages.0.conv", line_of("the inner line"))
    assert (places["clamp_min"].module, places["clamp_min"].source) == ("stages.0", line_of("the inner line"))
    assert (places["softmax"].module, places["softmax"].source) == ("", line_of("the outer line"))
    assert f"stages.0.conv, {line_of('the inner line')}" in str(graph)


def test_places_reach_the_generated_files() -> None:
    build = pl.compile(pl.capture(Outer().eval(), (IMAGE,), "net"))
    (conv,) = [op for op in build.module.metadata["ops"] if op["op"] == "conv2d"]
    assert (conv["module"], conv["source"]) == ("stages.0.conv", line_of("the inner line"))
    assert f"stages.0.conv, {line_of('the inner line')} */" in str(build.module.files["net.c"])


# ---- what cannot be compiled -------------------------------------------------------------------------------


class TwoProblems(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.linalg.svdvals(x @ x.T)  # the first problem
        return torch.special.bessel_j0(x).sum() + y.sum()  # the second problem


def test_unsupported_operators_are_all_listed_with_their_places() -> None:
    with pytest.raises(UnsupportedError) as caught:
        pl.capture(TwoProblems(), (X,))
    problems = caught.value.problems
    assert len(problems) == 2
    assert line_of("the first problem") in str(problems[0].where)
    assert line_of("the second problem") in str(problems[1].where)
    assert "bessel_j0" in problems[1].message
    text = str(caught.value)
    assert "2 things" in text
    assert all(line_of(f"the {n} problem") in text for n in ("first", "second"))
    assert caught.value.hint


class Decides(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:  # the decision
            return x
        return -x


def test_data_dependent_control_flow_is_one_sentence_with_the_line() -> None:
    with pytest.raises(PilotlightError) as caught:
        pl.capture(Decides(), (X,))
    assert caught.value.kind == "data-dependent"
    assert line_of("the decision") in str(caught.value.where)
    assert "torch.where" in str(caught.value.hint)


def test_data_dependent_shapes_are_refused_where_they_matter() -> None:
    with pytest.raises(PilotlightError) as caught:
        pl.capture(Forward(lambda x: x[x > 0].sort().values), (X,))
    assert "sort" in str(caught.value)
    assert "only known at run time" in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.uint16, torch.complex128], ids=str)
def test_unknown_dtypes_are_named(dtype: torch.dtype) -> None:
    with pytest.raises(PilotlightError) as caught:
        pl.capture(Forward(lambda x: x + x), (torch.zeros(3, dtype=dtype),))
    assert str(dtype).removeprefix("torch.") in str(caught.value)
    assert "float32" in str(caught.value)


class Doubles(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.double() * 2).float()


def test_dtypes_inside_the_model_are_named_with_their_place() -> None:
    with pytest.raises(UnsupportedError) as caught:
        pl.capture(Doubles(), (X,))
    assert "float64" in str(caught.value)
    assert "test_capture.py" in str(caught.value)


def test_dynamic_shapes_without_a_bound_are_refused() -> None:
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(nn.Linear(4, 2), (torch.zeros(2, 4),), dynamic_shapes=({0: batch},))
    with pytest.raises(PilotlightError) as caught:
        pl.capture.exported.capture_exported(program, "net")
    assert "input input has a dimension that is only known at run time" in str(caught.value)
    assert "fixed shapes" in str(caught.value.hint)


def test_changed_inputs_are_refused() -> None:
    with pytest.raises(PilotlightError) as caught:
        pl.capture(Forward(lambda x: x.add_(1)), (X.clone(),))
    assert "in place" in str(caught.value)
    assert "buffer" in str(caught.value.hint)


class RunningStatistics(nn.Module):
    """PyTorch changes the buffers, and its schema does not say so."""

    def __init__(self, norm: Any) -> None:
        super().__init__()
        self.norm = norm
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("var", torch.ones(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.norm(x, self.mean, self.var), self.mean * 1


@pytest.mark.parametrize("norm", [
    lambda x, m, v: nn.functional.instance_norm(x, m, v, use_input_stats=True),
    lambda x, m, v: nn.functional.batch_norm(x, m, v, training=True),
], ids=["instance", "batch"])
def test_running_statistics_that_change_are_refused(norm: Any) -> None:
    with pytest.raises(UnsupportedError, match="statistics"):
        pl.capture(RunningStatistics(norm), (torch.randn(2, 3, 4, 4),))


def test_something_that_is_no_module_is_refused() -> None:
    with pytest.raises(PilotlightError, match=r"expected a torch\.nn\.Module, got function"):
        pl.capture(lambda x: x, (X,))  # type: ignore[arg-type]


def test_wrong_examples_say_what_pytorch_says() -> None:
    with pytest.raises(PilotlightError) as caught:
        pl.capture(nn.Linear(4, 2), (torch.zeros(1, 5),))
    assert caught.value.kind == "capture"
    assert "1x5" in str(caught.value) or "[1, 5]" in str(caught.value)


# ---- files of the user -------------------------------------------------------------------------------------


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_an_exception_in_the_users_file_shows_the_users_line(tmp_path: Path) -> None:
    file = write(tmp_path / "net.py", "import torch\n\n\ndef net():\n    width = {}['width']\n    return width\n")
    with pytest.raises(PilotlightError) as caught:
        load_model(f"{file}:net")
    assert caught.value.where == f"{file}:5"
    assert "width = {}['width']" in caught.value.message
    assert "KeyError" in caught.value.message


def test_an_exception_in_forward_shows_the_users_line(tmp_path: Path) -> None:
    file = write(tmp_path / "net.py", "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
                                      "        return x.reshape(3, 5)\n")
    with pytest.raises(PilotlightError) as caught:
        load_model(f"{file}:Net", ["1x4"])
    assert "net.py:5" in str(caught.value.where)


def test_a_syntax_error_shows_the_line(tmp_path: Path) -> None:
    file = write(tmp_path / "net.py", "import torch\nclass Net(:\n")
    with pytest.raises(PilotlightError) as caught:
        load_model(f"{file}:Net")
    assert caught.value.where == f"{file}:2"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("net.py", "names no model"),
        ("absent.py:net", "does not exist"),
        ("absent.pt2", "does not exist"),
    ],
)
def test_models_that_are_not_there(model: str, says: str) -> None:
    with pytest.raises(PilotlightError, match=says) as caught:
        load_model(model)
    assert caught.value.hint


def test_names_and_inputs_that_are_missing(tmp_path: Path) -> None:
    file = write(tmp_path / "net.py", "import torch\nnet = torch.nn.Linear(4, 2)\nnumber = 3\n"
                                      "def pair():\n    return net, torch.zeros(1, 4)\n")
    with pytest.raises(PilotlightError, match="has no 'nett'") as caught:
        load_model(f"{file}:nett")
    assert "net" in str(caught.value.hint)
    with pytest.raises(PilotlightError, match="without example inputs"):
        load_model(f"{file}:net")
    with pytest.raises(PilotlightError, match="is a int"):
        load_model(f"{file}:number")
    assert load_model(f"{file}:net", ["1x4"]).inputs[0].shape == (1, 4)
    assert load_model(f"{file}:pair").inputs[0].shape == (1, 4)
    assert load_model(f"{file}:pair", ["3x4"]).inputs[0].shape == (3, 4)


@pytest.mark.parametrize("text", ["", "1x", "axb", "1x3:float", "-1x3"])
def test_shapes_that_are_not_understood(text: str) -> None:
    with pytest.raises(PilotlightError, match="is not understood") as caught:
        parse_input(text)
    assert "1x3x96x96" in str(caught.value.hint)


def test_shapes_with_types() -> None:
    assert parse_input("2x3").dtype == torch.float32
    assert parse_input("2x3:int8").dtype == torch.int8
    assert parse_input("scalar:int64").shape == ()


# ---- .pt2 --------------------------------------------------------------------------------------------------


def saved(path: Path) -> Path:
    module, inputs = load("mlp")
    with torch.no_grad():
        torch.export.save(torch.export.export(module, inputs, strict=False), path)
    return path


def test_pt2_equals_direct_capture(tmp_path: Path) -> None:
    direct, loaded = zoo_graph("mlp"), load_model(str(saved(tmp_path / "mlp.pt2")))

    def lines(graph: Graph) -> list[str]:
        return [line.split("  #")[0].strip() for line in str(graph).splitlines()]

    assert lines(loaded) == lines(direct)
    x = [torch.randn(p.shape) for p in direct.inputs]
    assert all(torch.equal(a, b) for a, b in zip(evaluate(direct, x), evaluate(loaded, x), strict=True))
    build = pl.compile(loaded)
    torch.testing.assert_close(build.run(*x), evaluate(direct, x)[0], rtol=1e-4, atol=1e-5)


def broken_files(folder: Path) -> dict[str, Path]:
    whole = saved(folder / "whole.pt2").read_bytes()
    (folder / "empty.pt2").write_bytes(b"")
    (folder / "truncated.pt2").write_bytes(whole[: len(whole) // 2])
    (folder / "text.pt2").write_text("this is not a model\n" * 20)
    with zipfile.ZipFile(folder / "hollow.pt2", "w") as archive:
        archive.writestr("readme.txt", "nothing here")
    with zipfile.ZipFile(folder / "empty_zip.pt2", "w"):
        pass
    return {name: folder / f"{name}.pt2" for name in ("empty", "truncated", "text", "hollow", "empty_zip")}


def test_broken_pt2_files_give_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, file in broken_files(tmp_path).items():
        with pytest.raises(PilotlightError) as caught:
            load_model(str(file))
        error = caught.value
        assert error.kind == "broken-file", name
        assert str(file) in error.message, name
        assert "\n" not in error.message, name
        assert "torch.export.save" in str(error.hint), name
    printed = capfd.readouterr()
    assert printed.out == printed.err == ""


# ---- what goes in and out ----------------------------------------------------------------------------------


def dict_in_and_out(batch: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {"sum": batch["a"] + batch["b"], "parts": (batch["a"] * 2, [batch["b"] - 1])}


Y = torch.tensor([[0.5, -1.5, 2.0, 0.0]])
IDS = torch.tensor([3, 0, 2])
MASK = torch.tensor([True, False, True, True])
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "nested": (dict_in_and_out, ({"a": X, "b": Y},)),
    "tuple in": (lambda pair, z: pair[0] * pair[1] + z, ((X, Y), X)),
    "one tensor twice": (lambda a, b: a * 2 + b, (X, X)),
    "output is an input": (lambda x: (x, x + 1), (X,)),
    "only an input": (lambda x: x, (X,)),
    "output is a view of an input": (lambda x: (x.reshape(2, 2), x[:, 1:3], x.T), (X,)),
    "output is a constant": (lambda x: (x + 1, torch.tensor([1.0, 2.0, 3.0])), (X,)),
    "output twice": (lambda x: (y := x * 2, y, y.reshape(-1)), (X,)),
    "outputs that overlap": (lambda x: (y := x.exp(), y[:, :3], y[:, 1:]), (X,)),
    "unused input": (lambda x, y: x + 1, (X, Y)),
    "no input is used": (lambda x: torch.arange(4.0) * 2, (X,)),
    "integers": (lambda x, ids: (x[:, ids], ids * 2 - 5, ids.float() / 2), (X, IDS)),
    "int32": (lambda ids: (ids // 2, ids % 3, ids * ids, -ids), (torch.tensor([7, -8, 9], dtype=torch.int32),)),
    "small integers": (lambda a, b: (a + a, b + b, a.int() * b.int()),
                       (torch.tensor([100, -3], dtype=torch.int8), torch.tensor([200, 7], dtype=torch.uint8))),
    "booleans": (lambda x, m: (torch.where(m, x, -x), m & (x[0] > 0), ~m, m.any(), m.sum()), (X, MASK)),
    "comparisons": (lambda x, y: (x > y, x == y, x.argmax(1), torch.isnan(x)), (X, Y)),
    "zero dimensions": (lambda x, s: (x * s, s + 1, x.sum()), (X, torch.tensor(2.5))),
    "only zero dimensions": (lambda s: (s.sqrt(), s > 1), (torch.tensor(2.5),)),
    "one element": (lambda x: torch.sigmoid(x).squeeze(), (torch.tensor([[0.3]]),)),
}


@pytest.mark.parametrize("name", CASES)
def test_inputs_and_outputs(name: str) -> None:
    function, inputs = CASES[name]
    check(Forward(function).eval(), inputs, runs=2)


def test_inputs_keep_the_order_of_the_call() -> None:
    graph = pl.capture(Forward(lambda a, b, c: (c, a, b)), (torch.zeros(1), torch.zeros(2), torch.zeros(3)))
    assert [p.shape for p in graph.inputs] == [(1,), (2,), (3,)]
    assert [p.shape for p in graph.outputs] == [(3,), (1,), (2,)]


def test_capture_switches_to_inference() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.9)).train()
    graph = pl.capture(net, (X,))
    (y,) = evaluate(graph, [X])
    torch.testing.assert_close(y, net[0](X))


def test_shared_parameters_are_stored_once() -> None:
    layer = nn.Linear(64, 64, bias=False)
    one = pl.compile(pl.capture(Forward(lambda x: layer(x), layer=layer), (torch.zeros(1, 64),), "net"))
    two = pl.compile(pl.capture(Forward(lambda x: layer(layer(x)), layer=layer), (torch.zeros(1, 64),), "net"))
    assert two.module.metadata["weights_bytes"] == one.module.metadata["weights_bytes"]


@pytest.mark.parametrize("name", ZOO)
def test_zoo_is_captured_whole(name: str) -> None:
    """Reference results of the graph are PyTorch's; operators with their own kernel are not decomposed."""
    graph = zoo_graph(name)
    verify(graph)
    module, inputs = load(name)
    with torch.no_grad():
        want = torch.utils._pytree.tree_leaves(module(*inputs))
    for got, y in zip(evaluate(graph, list(inputs)), want, strict=True):
        torch.testing.assert_close(got, y, rtol=1e-3, atol=1e-4)


KEPT_WHOLE = {
    "lstm": "lstm", "gru": "gru", "encoder": "attention", "bert_tiny": "layer_norm", "gpt": "attention",
    "kws": "conv2d", "unet": "conv_transpose2d", "mobilenet_v3": "hardswish", "softmax": "softmax",
}


@pytest.mark.parametrize("name", KEPT_WHOLE)
def test_operators_stay_whole(name: str) -> None:
    assert KEPT_WHOLE[name] in {node.op for node in zoo_graph(name).nodes}


def test_command_line_names_the_same_model() -> None:
    assert str(load_model(model_spec("mlp"))) == str(zoo_graph("mlp"))


def test_padding_value_of_masked_models_is_kept() -> None:
    """Infinities in constants survive the way to C."""
    check(Forward(lambda x: F.softmax(x.masked_fill(torch.tensor([True, False, False, True]), -torch.inf), 1)), (X,))
