"""The user's names: whatever a model, its inputs, outputs and states are called, the C compiles and is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.graph.names import in_comment, model_name, port_names
from pilotlight.kernels.text import FOLDERS
from pilotlight.toolchain.folder import read_folder
from pilotlight.toolchain.objects import DEVICE_SOURCES
from pilotlight.toolchain.ports import ports_header
from support.c_compilers import STRICT, compile_c

SEVERE = [
    # headers of the test driver, of C, of kernels
    "model", "fault", "io", "protocol", "semihosting", "stdint", "math", "pl_ports", "linear_f32",
    # words and types of C, functions of its library
    "float", "int", "main", "int8", "size", "time", "malloc", "memcpy", "signal",
    # ours
    "pl", "pl_model", "pl_linear_f32", "PL_STEP", "pilotlight", "arena", "state", "weights", "word", "m",
    "example_main", "_stdint", "net_weights",
    # targets of CMake
    "test", "all",
    # anything
    "2nd", "", "x", "My-Net.2", "模型", "naïve", "net*/", "n" * 300, "a b\nc", 'quo"te', "back\\slash",
]
NAMES = {"kws": "kws", "model": "model", "My-Net.2": "my_net_2", "2nd": "m_2nd", "": "m_", "stdint": "m_stdint",
         "int8": "m_int8", "pl_io": "m_pl_io", "naïve": "naive", "模型": "u6a21u578b", "_net": "m__net",
         "main": "m_main"}


class Scaled(nn.Module):
    """An input that has the model's name, and a state."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(1, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.mul_(0.5)
        return torch.relu(self.fc(x)) + self.seen


def scaled(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return Scaled().eval()


@pytest.mark.parametrize(("name", "c"), NAMES.items())
def test_names_become_c_words(name: str, c: str) -> None:
    assert model_name(name) == c


def test_no_name_is_one_of_ours() -> None:
    folders = (DEVICE_SOURCES, *FOLDERS)
    ours = {p.stem for folder in folders for p in folder.glob("*.h") if p.stem.startswith("pl")}
    assert {p.stem for p in DEVICE_SOURCES.glob("*.h")} <= ours
    found = [model_name(name) for name in SEVERE]
    assert all(re.fullmatch(r"[a-z]\w*", name, re.ASCII) and len(name) <= 64 for name in found)
    assert not {name for name in found if name.startswith("pl_") or name in ours}


def test_different_names_stay_different() -> None:
    assert model_name("n" * 300) != model_name("n" * 301)
    assert port_names(["x", "X", "x_2", "a-b", "a b", "", "é", "e"]) == ["x", "X_2", "x_2_2", "a_b", "a_b_2", "_", "e",
                                                                         "e_2"]


@pytest.mark.parametrize("text", ["*/ int x; /*", "a\\", "two\nlines", "??/", "/*/", "**//"])
def test_text_stays_inside_a_comment(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(f"/* {in_comment(text)} */\n// {in_comment(text)}\nint main(void) {{ return 0; }}\n")
    compile_c(["gcc", "-std=c99", "-Wall", "-Wcomment", "-Wtrigraphs", "-Werror", "-fsyntax-only", "x.c"], tmp_path)


@pytest.mark.parametrize("quantized", [False, True], ids=["float", "int8"])
def test_every_name_compiles(quantized: bool, tmp_path: Path) -> None:
    """As the test driver does it and as a user does it, with the folder in the include path, for all names in turn."""
    graph = pl.capture(scaled(), (torch.randn(1, 4),), "net")
    if quantized:
        graph = pl.quantize(graph, calibration=[[torch.randn(1, 4)] for _ in range(4)])
    system = "".join(f"#include <{name}.h>\n" for name in ("stdint", "stdlib", "math", "string", "time", "signal"))
    for number, name in enumerate(SEVERE[::5] if quantized else SEVERE):
        build = pl.compile(graph, name=name)
        folder = build.write(tmp_path / str(number))
        (folder / "user.c").write_text(f'#include "example_main.c"\n{system}')
        compile_c(["gcc", *STRICT, "-I.", "-fsyntax-only", f"{build.name}.c", "user.c"], folder)
        (folder / "pl_ports.h").write_text(ports_header(read_folder(folder)))
        include = ["-iquote", str(DEVICE_SOURCES), "-iquote", "."]
        compile_c(["gcc", "-std=c99", *include, "-fsyntax-only", str(DEVICE_SOURCES / "model.c")], folder)


@pytest.mark.parametrize("board", ["host", "mps2-an386"])
@pytest.mark.parametrize("name", ["model", "pl"])
def test_a_severe_name_runs(name: str, board: str) -> None:
    net, x = scaled(), torch.randn(1, 4)
    build = pl.compile(pl.capture(net, (x,), name), board=board)
    with torch.no_grad():
        torch.testing.assert_close(build.run(x), net(x))


def test_an_int8_model_named_model_runs_on_a_board() -> None:
    samples = [[torch.randn(1, 4)] for _ in range(4)]
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
    build = pl.compile(pl.quantize(pl.capture(net, samples[0], "model"), calibration=samples), board="mps2-an386")
    with torch.no_grad():
        torch.testing.assert_close(build.run(*samples[0]), net(*samples[0]), rtol=0, atol=0.05)


def forward_of(names: str, body: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"torch": torch}
    exec(f"def forward(self, {names}):\n    return {body}\n", space)
    function: Callable[..., Any] = space["forward"]
    return function


@pytest.mark.parametrize(
    ("names", "body"),
    [
        ("x, X", "x - 2 * X"),
        ("model, net", "(model - net, net + 1)"),
        ("x, x_scale", "x * x_scale"),
        ("m, w", "m / w"),
        ("run, reset", "{'run': run + reset, 'RUN': run * 2, 'a*/b': run * 3, 'a b': reset + 1, 'a-b': run - reset}"),
        ("größe, 長さ", "größe - 長さ"),
    ],
)
def test_ports_may_have_any_name(names: str, body: str, tmp_path: Path) -> None:
    kind = type("Odd", (nn.Module,), {"forward": forward_of(names, body)})
    a, b = torch.rand(1, 3) + 1, torch.rand(1, 3) + 1
    for quantized in (False, True) if "x" in names else (False,):
        graph = pl.capture(kind().eval(), (a, b), "model")
        graph = pl.quantize(graph, calibration=[[a, b]]) if quantized else graph
        build = pl.compile(graph)
        words = [row["c_name"].lower() for side in ("inputs", "outputs") for row in build.module.metadata[side]]
        assert len(set(words)) == len(words)
        folder = build.write(tmp_path / str(quantized))
        compile_c(["gcc", *STRICT, "-fsyntax-only", "model.c", "example_main.c"], folder)


def test_layers_and_buffers_may_have_any_name(tmp_path: Path) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module("a*/b", nn.Linear(3, 3))
            self.register_buffer("c*/d", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.get_buffer("c*/d").add_(1)
            return self.get_submodule("a*/b")(x) + self.get_buffer("c*/d")

    build = pl.compile(pl.capture(Net().eval(), (torch.rand(1, 3),), "net"), source="dir*/net.py:net")
    compile_c(["gcc", *STRICT, "-fsyntax-only", "net.c", "example_main.c"], build.write(tmp_path / "net"))
