"""Stages that are computed patch by patch: the same bits as computed whole, in less memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, reject, settings
from hypothesis import strategies as st
from torch import nn

import pilotlight as pl
from pilotlight import ops
from pilotlight.compiler import Build
from pilotlight.errors import PilotlightError
from pilotlight.graph import FLOAT32, Graph, Node, Value
from pilotlight.ops.areas import Area
from pilotlight.report.saving import saving_text
from pilotlight.session import run_session
from support.command_line import call, call_json
from support.compiled import Library, Tensors, rows_of, zoo_graph
from support.patched import cut_everything, networks
from support.poison import Watch
from zoo import model_spec

NO_SHRINK = (Phase.explicit, Phase.generate)  # every step of shrinking compiles two models


def run(build: Build, folder: Path, rows: list[Tensors], poisoned: bool) -> list[list[bytes]]:
    library = Library(build, folder)
    library.reset()
    step = Watch(library).run if poisoned else library.run
    return [[y.numpy().tobytes() for y in step(row)] for row in rows]


def patches(build: Build) -> list[Node]:
    return [node for node in build.lowered.nodes if node.op == "patches"]


def quantized(graph: Graph, inputs: Tensors) -> Graph:
    samples = [inputs, *([torch.randn_like(x) for x in inputs] for _ in range(3))]
    return pl.quantize(graph, samples)


# ---- one operator ------------------------------------------------------------------------------------------------


@st.composite
def windows(draw: st.DrawFn) -> tuple[Node, torch.Tensor]:
    """A convolution or pooling of an image."""
    kernel, stride, dilation = (draw(st.tuples(st.integers(1, k), st.integers(1, k))) for k in (4, 3, 2))
    sizes = [draw(st.integers(d * (k - 1) + 1, 14)) for k, d in zip(kernel, dilation, strict=True)]
    x = Value("x", FLOAT32, (1, *sizes, 2))
    kind = draw(st.sampled_from(["conv2d", "max_pool2d", "avg_pool2d"]))
    attrs: dict[str, Any] = {"kernel": kernel, "stride": stride, "dilation": dilation}
    inputs = [x]
    if kind == "conv2d":
        pad = tuple(draw(st.integers(0, d * (k - 1))) for k, d in zip(kernel * 2, dilation * 2, strict=True))
        weight = Value("w", FLOAT32, (3, *kernel, 2), torch.randn(3, *kernel, 2).numpy())
        inputs += [weight, Value("b", FLOAT32, (3,), torch.randn(3).numpy())]
        attrs |= {"pad": pad, "groups": 1, "channels": 3}
    else:
        dilation = dilation if kind == "max_pool2d" else (1, 1)
        pad = tuple(draw(st.integers(0, k // 2)) for k in kernel)
        spans = zip(sizes, kernel, stride, pad, dilation, strict=True)
        size = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in spans)
        attrs |= {"pad": pad, "dilation": dilation, "size": size, "divisor": draw(st.integers(0, 3)),
                  "count_padding": draw(st.booleans())}
    node = Node(kind, inputs, [], attrs)
    ((dtype, shape),) = ops.get(kind).infer(node)
    node.outputs.append(Value("y", dtype, shape))
    return node, torch.randn(x.shape)


@given(case=windows(), data=st.data())
@settings(max_examples=150, derandomize=True, deadline=None)
def test_a_part_is_the_part_of_the_whole(case: tuple[Node, torch.Tensor], data: st.DataObject) -> None:
    node, x = case
    op, (_, height, width, _) = ops.get(node.op), node.output.shape
    spans = []
    for size in (height, width):
        start = data.draw(st.integers(0, size - 1))
        spans.append(range(start, data.draw(st.integers(start + 1, size))))
    area = Area(*spans)
    part = op.part(node, area)
    counted = node.op == "avg_pool2d" and node.attrs["count_padding"] and not node.attrs["divisor"]
    if part is None:
        assert (counted and any(node.attrs["pad"])) or node.op == "conv2d"
        return
    constants = [torch.from_numpy(v.data) for v in node.inputs[1:]]
    whole = op.reference(node, [x, *constants])
    read = part.reads[0]
    assert isinstance(whole, torch.Tensor) and read is not None
    seen = x[:, read.rows.start : read.rows.stop, read.columns.start : read.columns.stop].contiguous()
    inner = Node(node.op, [Value("x", FLOAT32, tuple(seen.shape)), *node.inputs[1:]], node.outputs, part.attrs)
    wanted = whole[:, area.rows.start : area.rows.stop, area.columns.start : area.columns.stop]
    if node.op == "conv2d":  # PyTorch's pooling cannot pad one side alone, its reference is not asked
        got = op.reference(inner, [seen, *constants])
        assert isinstance(got, torch.Tensor) and torch.allclose(got, wanted, atol=1e-5)
    assert op.infer(inner)[0][1] == tuple(wanted.shape)


# ---- whole stages ------------------------------------------------------------------------------------------------


@given(case=networks(), size=st.tuples(st.integers(1, 6), st.integers(1, 9)))
@settings(max_examples=12, derandomize=True, deadline=None, phases=NO_SHRINK)
def test_random_stages_give_the_same_bits(
    case: tuple[nn.Module, torch.Tensor], size: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    net, x = case
    graph = pl.capture(net, (x,), "net")
    folder = tmp_path_factory.mktemp("stage")
    with cut_everything(size):
        build = pl.compile(graph, optimize="ram")
    apart = run(pl.compile(graph), folder / "whole", [[x]], poisoned=False)
    assert run(build, folder / "patches", [[x]], poisoned=True) == apart


@given(case=networks(), size=st.tuples(st.integers(1, 6), st.integers(1, 9)))
@settings(max_examples=8, derandomize=True, deadline=None, phases=NO_SHRINK)
def test_random_integer_stages_give_the_same_bytes(
    case: tuple[nn.Module, torch.Tensor], size: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    net, x = case
    graph = quantized(pl.capture(net, (x,), "net"), [x])
    folder = tmp_path_factory.mktemp("stage")
    try:
        plain = pl.compile(graph)
    except PilotlightError:  # numbers too far apart for int8
        reject()
    with cut_everything(size):
        build = pl.compile(graph, optimize="ram")
    apart = run(plain, folder / "whole", [[x]], poisoned=False)
    assert run(build, folder / "patches", [[x]], poisoned=True) == apart


class Residual(nn.Module):
    """Widths that no word divides, a skip around two layers, a stage with two results."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 9, 3, padding=1)
        self.depthwise = nn.Conv2d(9, 9, 3, padding=1, groups=9)
        self.second = nn.Conv2d(9, 9, 1)
        self.pool = nn.MaxPool2d(2)
        self.down = nn.Conv2d(9, 6, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.first(x).relu()
        x = x + self.second(torch.relu(self.depthwise(x)))
        return self.pool(x), self.down(self.pool(x))


@pytest.mark.parametrize(
    ("board", "size"),
    [("mps2-an386", (1, 4)), ("mps2-an386", (2, 5)), ("mps2-an385", (3, 2)), ("riscv32-virt", (1, 4)),
     ("mps3-an547", (2, 3))],
)
def test_integer_patches_on_boards(board: str, size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 3, 12, 20)
    with cut_everything(size):
        build = pl.compile(quantized(pl.capture(Residual().eval(), (x,), "net"), [x]), board, optimize="ram")
    assert patches(build)
    assert run_session(build, [[x], [torch.randn_like(x)]], count=False).match


def test_float_patches_on_a_board() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 3, 12, 20)
    with cut_everything((2, 5)):
        build = pl.compile(pl.capture(Residual().eval(), (x,), "net"), "mps2-an386", optimize="ram")
    assert patches(build)
    assert run_session(build, count=False).match


# ---- the choice --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "share"), [("lenet", 0.5), ("mobilenet_v2", 0.35), ("unet", 0.8)])
def test_the_zoo_needs_less(name: str, share: float, tmp_path: Path) -> None:
    graph = zoo_graph(name)
    build = pl.compile(graph, optimize="ram")
    saving = build.saving
    assert saving is not None and saving.stages and build.plan.arena.size == saving.arena
    plain = pl.compile(graph)
    assert saving.arena_before == plain.plan.arena.size and saving.arena < share * saving.arena_before
    assert saving.macs == build.module.metadata["macs_executed"] >= saving.macs_before
    rows = rows_of(graph, 1)
    apart = run(plain, tmp_path / "whole", rows, poisoned=False)
    assert run(build, tmp_path / "patches", rows, poisoned=True) == apart


@pytest.mark.parametrize("integer", [False, True])
def test_signals_need_a_fraction(integer: bool, tmp_path: Path) -> None:
    """One-dimensional layers with reshapes between them."""
    torch.manual_seed(0)
    layers = [nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, 2, 2), nn.ReLU(), nn.MaxPool1d(2)]
    x = torch.randn(1, 1, 400)
    graph = pl.capture(nn.Sequential(*layers, nn.Conv1d(16, 4, 3)).eval(), (x,), "net")
    graph = quantized(graph, [x]) if integer else graph
    build = pl.compile(graph, optimize="ram")
    assert build.saving is not None and build.saving.arena < 0.2 * build.saving.arena_before
    apart = run(pl.compile(graph), tmp_path / "whole", [[x]], poisoned=False)
    assert run(build, tmp_path / "patches", [[x]], poisoned=True) == apart


def test_what_cannot_gain_is_compiled_as_for_speed() -> None:
    graph = zoo_graph("mlp")
    build, plain = pl.compile(graph, optimize="ram"), pl.compile(graph)
    assert build.saving is not None and build.saving.arena == build.saving.arena_before
    assert not build.saving.stages and build.module.files == plain.module.files


def test_inputs_that_are_kept_stay_as_they_were(tmp_path: Path) -> None:
    graph = zoo_graph("lenet")
    build = pl.compile(graph, optimize="ram", keep_inputs=True)
    assert patches(build)
    library = Library(build, tmp_path)
    (x,) = rows_of(graph, 1)[0]
    library.run([x])
    row = library.meta["inputs"][0]
    assert library.arena[row["offset"] : row["offset"] + row["bytes"]].tobytes() == x.numpy().tobytes()


def test_the_command_line_says_what_was_saved_and_what_it_costs() -> None:
    result = call_json("run", model_spec("lenet"), "--board", "mps2-an386", "--optimize", "ram")
    saving, ram = result["saving"], result["ram"]
    assert result["match"] and ram["arena"] == saving["arena"] < saving["arena_before"]
    assert saving["instructions"] == result["instructions"] and saving["instructions_before"] > 0
    assert result["macs_executed"] == saving["macs"] and saving["stages"][0]["layers"] > 1
    arena = f"arena {saving['arena_before']:,} -> {saving['arena']:,}"
    assert saving_text(saving).startswith(arena)
    assert saving_text(saving).endswith(f"instructions than {saving['instructions_before']:,}")
    text = " ".join(call("inspect", model_spec("lenet"), "--board", "host", "--optimize", "ram").stdout.split())
    assert arena in text and f"for {saving['stages'][0]['layers']} layers from" in text


def test_the_command_line_says_when_nothing_is_saved() -> None:
    text = " ".join(call("inspect", model_spec("mlp"), "--board", "host", "--optimize", "ram").stdout.split())
    assert "compiled as for speed" in text
