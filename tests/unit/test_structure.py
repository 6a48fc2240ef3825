"""Names that the user gave are the names in C, in tables and in refusals."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import pilotlight as pl
from pilotlight.capture import exported
from pilotlight.errors import PilotlightError, UnsupportedError
from pilotlight.graph.evaluate import evaluate
from pilotlight.session import run_session
from support.modules import Forward

X = torch.randn(1, 4, generator=torch.Generator().manual_seed(0))


class Found(NamedTuple):
    scores: torch.Tensor
    boxes: torch.Tensor


@dataclass
class Parts:
    scores: torch.Tensor
    more: dict[str, torch.Tensor]


@dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor


OUTPUTS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "dict": (lambda x: {"scores": x + 1, "boxes": x * 2}, ["scores", "boxes"]),
    "nested": (lambda x: {"boxes": (x + 1, x * 2), "my-key": x}, ["boxes_0", "boxes_1", "my-key"]),
    "the same in C": (lambda x: {"a-b": x + 1, "a_b": x * 2}, ["a-b", "a_b_2"]),
    "ordered": (lambda x: OrderedDict(b=x + 1, a=x * 2), ["b", "a"]),
    "named tuple": (lambda x: Found(x + 1, x * 2), ["scores", "boxes"]),
    "dataclass": (lambda x: Parts(x + 1, {"late": x * 2}), ["scores", "more_late"]),
    "tuple": (lambda x: (x + 1, (x * 2, x)), ["0", "1", "2"]),
    "dict in a tuple": (lambda x: (x + 1, {"late": x * 2}), ["0", "1_late"]),
}


@pytest.mark.parametrize("case", OUTPUTS.values(), ids=OUTPUTS)
def test_outputs_are_named_by_their_keys(case: tuple[Callable[..., Any], list[str]]) -> None:
    function, names = case
    assert [port.name for port in pl.capture(Forward(function), (X,), "net").outputs] == names


def test_keys_are_names_in_c_and_in_tables() -> None:
    build = pl.compile(pl.capture(Forward(lambda x: Parts(x + 1, {"my-key": x * 2})), (X,), "net"))
    session = run_session(build)
    assert session.match and [row["name"] for row in session.as_dict()["outputs"]] == ["scores", "more_my-key"]
    assert all(f"net_output_{name}(" in build.module.files["net.h"] for name in ("scores", "more_my_key"))


INPUTS: dict[str, tuple[Callable[..., Any], Any, list[str]]] = {
    "dict": (lambda batch: batch["x"] * 2 + batch["y"], {"x": X, "y": X}, ["args_0_x", "args_0_y"]),
    "named tuple": (lambda f: f.scores * 2 + f.boxes, Found(X, X), ["args_0_scores", "args_0_boxes"]),
    "dataclass": (lambda batch: batch.x * 2 + batch.y, Batch(X, X), ["args_0_x", "args_0_y"]),
}


@pytest.mark.parametrize("case", INPUTS.values(), ids=INPUTS)
def test_inputs_have_the_names_of_their_fields(case: tuple[Callable[..., Any], Any, list[str]]) -> None:
    function, example, names = case
    graph = pl.capture(Forward(function), (example,), "net")
    assert [port.name for port in graph.inputs] == names
    assert torch.equal(evaluate(graph, [X, X + 1])[0], X * 2 + (X + 1))


def test_quantized_outputs_keep_their_names() -> None:
    graph = pl.capture(Forward(lambda x: {"scores": x * 0.5, "class": (x * 0.5).argmax(1)}), (X,), "net")
    quantized = pl.quantize(graph, [[torch.randn(1, 4)] for _ in range(4)])
    assert [port.name for port in quantized.outputs] == ["scores", "class"]


REFUSED = {
    "torch.linalg.svd (aten._linalg_svd.default)": lambda x: torch.linalg.svd(x)[1],
    "torch.special.i0": lambda x: torch.special.i0(x),
    "torch.histc": lambda x: torch.histc(x),
    "Tensor.histc": lambda x: x.histc(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operators_are_refused_as_they_were_written(name: str) -> None:
    with pytest.raises(PilotlightError) as caught:
        pl.capture(Forward(REFUSED[name]), (X,))
    assert f"operator {name} is not supported" in caught.value.message


@pytest.mark.parametrize(("function", "problems"), [
    (lambda x: torch.linalg.inv(x), ["torch.linalg.inv (aten.linalg_inv_ex.default)"]),  # and PyTorch's check of it
    (lambda x: x + torch.signal.windows.kaiser(4), ["torch.i0"]),  # called twice
    (lambda x: torch.i0(x) + x.histc(4), ["torch.i0", "Tensor.histc"]),
])
def test_what_is_refused_at_a_line_is_listed_once(function: Callable[..., Any], problems: list[str]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        pl.capture(Forward(function), (torch.eye(4),))
    assert [p.message for p in caught.value.problems] == [f"operator {name} is not supported" for name in problems]


def test_a_library_next_to_pytorch_has_source_lines() -> None:
    """The path of torchvision begins with that of torch."""
    packages = Path(torch.__file__).parents[1]
    node = torch.fx.Graph().placeholder("x")
    node.meta["stack_trace"] = (
        f'File "{packages}/torchvision/models/mobilenetv2.py", line 174, in forward\n    return self._forward_impl(x)\n'
        f'  File "{packages}/torch/nn/modules/conv.py", line 565, in forward\n    return self._conv_forward(input)\n'
    )
    assert exported.place_of(node).source == "mobilenetv2.py:174"
