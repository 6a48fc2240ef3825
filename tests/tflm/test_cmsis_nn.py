"""CMSIS-NN as a backend, with a folder that stands for it: functions of the same names that check their arguments,
spoil their scratch and compute TFLM's integers. `make cmsis-nn` does the same with CMSIS-NN itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.tflm.cmsis_nn import OPERATORS, Outcomes, layers
from torch import nn

import pilotlight as pl
from pilotlight import boards
from pilotlight.backends.cmsis_nn import scratch
from pilotlight.backends.cmsis_nn.layers import _check_conv, _check_depthwise
from pilotlight.backends.cmsis_nn.library import Library
from pilotlight.backends.cmsis_nn.scratch import Core, Window
from pilotlight.capture.tflite.capture import capture_model
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.errors import PilotlightError
from support.command_line import call_error, call_json
from support.modules import Forward

FOLDER = Path(__file__).parents[1] / "support" / "fixtures" / "cmsis_nn"
OURS = {"conv", "depthwise", "linear", "max_pool", "avg_pool", "add", "mul", "softmax"}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.each = nn.Conv2d(8, 8, 5, padding=2, groups=8)
        self.last = nn.Linear(8 * 16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        y = y + self.each(y)
        y = nn.functional.max_pool2d(y, 2)
        return torch.softmax(self.last(y.flatten(1)), -1)


@pytest.fixture(scope="module")
def quantized() -> pl.Graph:
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(1, 3, 8, 8)
    return pl.quantize(pl.capture(net, (x,), "net"), [(torch.randn(1, 3, 8, 8),) for _ in range(4)], numerics="tflm")


@pytest.mark.parametrize("board", ["host", "mps2-an386", "mps3-an547"])
def test_random_layers_give_the_bytes_of_tflm(board: str) -> None:
    outcomes = Outcomes(board, FOLDER)
    graph = capture_model(parse_tflite(layers(0, 16, OPERATORS), "layers.tflite"), "layers")
    outcomes.compare(graph, 0, 2, "layers")
    assert outcomes.wrong == 0 and outcomes.bytes > 1000
    assert {name.removeprefix("pl_cmsis_nn_") for name in outcomes.taken} == OURS


def test_a_quantized_network(quantized: pl.Graph) -> None:
    build = pl.compile(quantized, "mps2-an386", cmsis_nn=FOLDER)
    session = build.session()
    assert session.match and str(FOLDER) in json.dumps(session.as_dict())
    (found,) = build.lowered.partitions
    assert [row["function"].removeprefix("pl_cmsis_nn_") for row in found.taken] == [
        "conv", "depthwise", "add", "max_pool", "linear", "softmax"]
    assert all(row["operators"] == 1 for row in found.taken)
    # Scratch of the depthwise layer: 2 bytes for each of its 8 · 5 · 5 weights; of the first one 4 · 28.
    assert {node.attrs["extern"].scratch for node in build.lowered.nodes if node.op == "extern"} == {0, 112, 400}


def test_only_what_is_needed_is_copied(quantized: pl.Graph, tmp_path: Path) -> None:
    build = pl.compile(quantized, "mps2-an386", cmsis_nn=FOLDER)
    build.write(tmp_path / "out")
    folder = tmp_path / "out" / "cmsis_nn"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "LICENSE", "Internal/arm_nn_compiler.h", "arm_nn_types.h", "arm_nnfunctions.h", "arm_nn_scaled.c",
        "arm_convolve_wrapper_s8.c", "arm_depthwise_conv_wrapper_s8.c", "arm_elementwise_s8.c", "arm_max_pool_s8.c",
        "arm_fully_connected_wrapper_s8.c", "arm_softmax_s8.c",
    }
    assert all((folder / name).read_text() == _original(name) for name in names)
    metadata = json.loads((tmp_path / "out" / "metadata.json").read_text())
    assert "cmsis_nn/arm_softmax_s8.c" in metadata["sources"]
    assert '#include "pilotlight_cmsis_nn.h"' in (tmp_path / "out" / "net.c").read_text()
    assert "cmsis_nn/" in (tmp_path / "out" / "net.pilotlight.cmake").read_text()
    build.write(tmp_path / "out")  # over itself
    pl.compile(quantized, "mps2-an386").write(tmp_path / "out")  # takes away what is not needed any more
    assert not [path for path in folder.rglob("*") if path.is_file()]


def _original(name: str) -> str:
    (found,) = FOLDER.rglob(Path(name).name)
    return found.read_text()


def test_another_core_is_an_error_when_it_is_built(quantized: pl.Graph) -> None:
    build = pl.compile(quantized, "mps2-an385", cmsis_nn=FOLDER)
    with pytest.raises(PilotlightError, match="compiled for another core"):
        build.build_for(boards.load("mps2-an386"))


def test_zig_has_no_c_library_for_it(quantized: pl.Graph) -> None:
    build = pl.compile(quantized, "mps2-an386", cmsis_nn=FOLDER, toolchain="zig")
    with pytest.raises(PilotlightError, match="a part of net calls the C library"):
        _ = build.info


@pytest.mark.parametrize(("change", "message"), [
    (lambda f: shutil.rmtree(f), "is not a folder"),
    (lambda f: (f / "LICENSE").unlink(), "is not a folder of CMSIS-NN: it has no LICENSE"),
    (lambda f: shutil.rmtree(f / "Include"), "it has no Include/arm_nnfunctions.h"),
    (lambda f: (f / "Include/arm_nnfunctions.h").write_text("/* $Revision: V.9.9.9 */"), "has the revision 9.9.9"),
    (lambda f: (f / "Include/arm_nnfunctions.h").write_text(""), "has the revision none"),
    (lambda f: (f / "Source/Layers/arm_softmax_s8.c").unlink(), "has no arm_softmax_s8"),
])
def test_folders_that_are_not_cmsis_nn(
    quantized: pl.Graph, tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(FOLDER, folder)
    change(folder)
    with pytest.raises(PilotlightError, match=message):
        pl.compile(quantized, "host", cmsis_nn=folder)


def test_other_arithmetic_is_refused() -> None:
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(8, 4), nn.Softmax(-1)).eval(), torch.randn(2, 8)
    graph = pl.capture(net, (x,), "net")
    with pytest.raises(PilotlightError, match="takes nothing of net: it works on float32"):
        pl.compile(graph, "host", cmsis_nn=FOLDER)
    with pytest.raises(PilotlightError, match="takes nothing of net: it rounds once"):
        pl.compile(pl.quantize(graph, [(x,)]), "host", cmsis_nn=FOLDER)
    with pytest.raises(PilotlightError, match="it is for Cortex-M"):
        pl.compile(graph, "riscv32-virt", cmsis_nn=FOLDER)


def test_what_is_refused_is_named() -> None:
    net, x = Forward(lambda x: nn.functional.max_pool2d(x, 2) - x[:, :, :3, :3]), torch.randn(1, 4, 6, 6)
    graph = pl.quantize(pl.capture(net, (x,), "net"), [(x,)], numerics="tflm")
    build = pl.compile(graph, "host", cmsis_nn=FOLDER)
    (found,) = build.lowered.partitions
    assert [row["function"] for row in found.taken] == ["pl_cmsis_nn_max_pool"] and build.session().match
    assert ("sub", "CMSIS-NN has no difference") in {(row["op"], row["reason"]) for row in found.refused}


def _window(**given: object) -> Window:
    usual: dict[str, object] = {
        "batch": 1, "size": (8, 8), "channels": 8, "out": (8, 8), "filters": 8, "depth": 8, "kernel": (3, 3),
        "stride": (1, 1), "pad": (1, 1), "dilation": (1, 1)}
    return Window(**usual | given)


@pytest.mark.parametrize(("window", "plain", "dsp", "helium"), [
    (_window(), 288, 288, 320),
    (_window(channels=3, depth=3), 112, 112, 128),
    (_window(kernel=(1, 1), pad=(0, 0)), 0, 0, 0),
    (_window(size=(1, 8), out=(1, 8), kernel=(1, 3), pad=(0, 1)), 96, 96, 96),
])
def test_scratch_of_convolutions(window: Window, plain: int, dsp: int, helium: int) -> None:
    assert [scratch.conv(core, window) for core in Core] == [plain, dsp, helium]


@pytest.mark.parametrize(("window", "sizes"), [
    (_window(depth=1), [0, 0, 4464]),
    (_window(depth=1, kernel=(5, 5), pad=(2, 2)), [0, 400, 12400]),
    (_window(depth=1, filters=16), [0, 0, 0]),
    (_window(depth=1, batch=2), [0, 0, 0]),
])
def test_scratch_of_depthwise_convolutions(window: Window, sizes: list[int]) -> None:
    assert [scratch.depthwise(core, window) for core in Core] == sizes


@pytest.mark.parametrize(("window", "right"), [
    (_window(size=(1, 8), out=(1, 8), kernel=(1, 3), pad=(0, 1)), True),
    (_window(size=(1, 8), out=(1, 6), kernel=(1, 3), pad=(0, 0)), True),
    (_window(size=(1, 8), out=(1, 3), kernel=(1, 3), pad=(0, 0), stride=(1, 2)), False),  # a column is left over
    (_window(size=(1, 8), out=(3, 8), kernel=(1, 3), pad=(1, 1)), False),  # padding above
    (_window(size=(1, 2), out=(1, 2), kernel=(1, 3), pad=(0, 1)), False),  # a window wider than the image
])
def test_rows_that_heliums_kernel_would_compute_otherwise(window: Window, right: bool) -> None:
    _check_conv(window, Core.DSP)
    if right:
        _check_conv(window, Core.HELIUM)
    else:
        with pytest.raises(pl.Refused, match="1 x N"):
            _check_conv(window, Core.HELIUM)


def test_padding_at_the_right_of_a_pointwise_layer_is_refused() -> None:
    with pytest.raises(pl.Refused, match="1 x 1"):
        _check_conv(_window(kernel=(1, 1), pad=(0, 0), out=(9, 9)), Core.PLAIN)


@pytest.mark.parametrize("window", [
    _window(depth=1, kernel=(1, 3), pad=(3, 1), out=(12, 8)),  # above the image
    _window(depth=1, kernel=(2, 2), pad=(0, 0), out=(9, 9)),  # below it
    _window(depth=1, out=(8, 9)),  # two columns of padding at the right
])
def test_depthwise_windows_outside_of_the_image_are_refused(window: Window) -> None:
    _check_depthwise(_window(depth=1), Core.DSP)
    with pytest.raises(pl.Refused):
        _check_depthwise(window, Core.DSP)


def test_functions_are_found_with_all_that_they_call() -> None:
    library = Library(FOLDER)
    assert library.version == "7.0.0"
    assert [name for name in library.files(["arm_max_pool_s8"]) if name.endswith(".c")] == [
        "cmsis_nn/arm_max_pool_s8.c", "cmsis_nn/arm_nn_scaled.c"]


def test_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "layers.tflite"
    file.write_bytes(layers(3, 3, ("CONV_2D", "MAX_POOL_2D", "ADD")))
    chosen = ("--kernels", "cmsis-nn", "--board", "mps2-an386")
    assert "need a copy" in call_error("inspect", file, *chosen)["message"]
    (row,) = call_json("inspect", file, *chosen, "--cmsis-nn", FOLDER)["backends"]
    assert row["backend"] == "cmsis-nn" and row["taken"]
