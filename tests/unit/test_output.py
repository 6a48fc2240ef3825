"""The folder that compile writes: no file of the user's is lost, models live side by side, CMake builds it anywhere."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight import boards
from pilotlight.compiler import Build
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from pilotlight.graph.ports import from_memory, to_memory
from support.c_compilers import STRICT, compile_c
from support.command_line import NETS, call_error, call_json
from support.programs import path_of

NET = f"{NETS}:net"


@cache
def dense(width: int = 3) -> Graph:
    torch.manual_seed(width)
    return pl.capture(nn.Linear(4, width).eval(), (torch.randn(1, 4),), "dense")


def built(name: str = "dense", width: int = 3, board: str = "host") -> Build:
    return pl.compile(dense(width), board=board, name=name)


def cmake(source: Path, target: Path, *options: str) -> None:
    for args in (["-S", source, "-B", target, *options], ["--build", target]):
        done = subprocess.run([path_of("cmake"), *args], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# ---- what is there already ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dense.c", "dense.h", "example_main.c", "CMakeLists.txt", "metadata.json"])
def test_a_file_of_the_users_is_not_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine\n")
    with pytest.raises(PilotlightError, match="would be overwritten") as caught:
        built().write(tmp_path)
    assert str(tmp_path / name) in caught.value.message and caught.value.hint
    assert [p.name for p in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "mine\n"


def test_a_generated_file_that_was_edited_is_not_overwritten(tmp_path: Path) -> None:
    build = built()
    build.write(tmp_path)
    example = tmp_path / "example_main.c"
    example.write_text(example.read_text() + "/* mine */\n")
    with pytest.raises(PilotlightError, match=r"example_main\.c would be overwritten"):
        built(width=5).write(tmp_path)
    assert example.read_text().endswith("/* mine */\n")
    assert (tmp_path / "dense.c").read_text() == build.module.files["dense.c"]


def test_compiling_again_replaces_what_was_written_and_removes_the_rest(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine\n")
    built(board="mps2-an386").write(tmp_path)
    assert (tmp_path / "dense_kernels.S").is_file() and (tmp_path / "toolchain-mps2-an386.cmake").is_file()
    again = built(width=5)
    again.write(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {*again.module.files, "notes.txt"}
    assert (tmp_path / "dense.c").read_text() == again.module.files["dense.c"]


def test_a_folder_of_a_version_without_hashes_is_ours(tmp_path: Path) -> None:
    built().write(tmp_path)
    metadata = json.loads((tmp_path / "metadata.json").read_text())
    del metadata["files"]
    (tmp_path / "metadata.json").write_text(json.dumps(metadata))
    built(width=5).write(tmp_path)
    assert json.loads((tmp_path / "metadata.json").read_text())["outputs"][0]["shape"] == [1, 5]


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine\n")
    assert "names no folder" in call_error("compile", NET, "-o", "")["message"]
    for place in ("file", "file/below"):
        assert "is a file" in call_error("compile", NET, "-o", tmp_path / place)["message"]
    assert "cannot be written" in call_error("compile", NET, "--board", "host", "-o", "/proc/nowhere")["message"]
    assert (tmp_path / "file").read_text() == "mine\n"


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    error = call_error("compile", NET, "-o", tmp_path / "out")
    assert "no permission to write" in error["message"] and error["hint"]


# ---- two models --------------------------------------------------------------------------------------------


def test_two_models_live_side_by_side(tmp_path: Path) -> None:
    """Each has all of its files, compiling either again leaves the other as it is, and CMake builds both."""
    folder = tmp_path / "models"
    for name, width in (("one", 3), ("two", 5), ("one", 3), ("two", 6)):
        built(name, width).write(folder)
    first, second = (json.loads((folder / f"{prefix}metadata.json").read_text()) for prefix in ("", "two_"))
    assert (first["name"], first["outputs"][0]["shape"]) == ("one", [1, 3])
    assert (second["name"], second["outputs"][0]["shape"]) == ("two", [1, 6])
    for metadata in (first, second):
        assert all((folder / file).is_file() for file in metadata["files"])
    cmake(folder, tmp_path / "out")
    for name in ("one", "two"):
        assert subprocess.run([tmp_path / "out" / f"{name}_example"]).returncode in (0, 1)


def test_a_models_file_is_not_taken_by_another(tmp_path: Path) -> None:
    first = built("one")
    first.write(tmp_path)
    with pytest.raises(PilotlightError, match=r"one_weights\.c would be overwritten"):
        built("one_weights", 5).write(tmp_path)
    assert (tmp_path / "one_weights.c").read_text() == first.module.files["one_weights.c"]


def test_the_command_tells_the_names_of_a_second_model(tmp_path: Path) -> None:
    call_json("compile", NET, "-o", tmp_path, "--board", "host", "--name", "first")
    found = call_json("compile", NET, "-o", tmp_path, "--board", "host", "--name", "second")
    files = {row["file"]: row for row in found["files"]}
    assert {"second_metadata.json", "second_example_main.c"} <= set(files)
    assert all((tmp_path / name).stat().st_size == row["bytes"] and row["what"] for name, row in files.items())


# ---- CMake for boards --------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", ["mps2-an386", "riscv32-virt"])
def test_cmake_builds_for_the_board(board: str, tmp_path: Path) -> None:
    folder = built(board=board).write(tmp_path / "dense")
    cmake(folder, tmp_path / "out", f"-DCMAKE_TOOLCHAIN_FILE={folder}/toolchain-{board}.cmake")
    assert (tmp_path / "out" / "libdense.a").is_file() and not (tmp_path / "out" / "dense_example").exists()


def test_cmake_takes_a_bare_compiler(tmp_path: Path) -> None:
    folder = built(board="mps2-an386").write(tmp_path / "dense")
    flags = " ".join(boards.load("mps2-an386").flags)
    cmake(folder, tmp_path / "out", "-DCMAKE_C_COMPILER=arm-none-eabi-gcc", f"-DCMAKE_C_FLAGS={flags}",
          f"-DCMAKE_ASM_FLAGS={flags}")
    assert (tmp_path / "out" / "libdense.a").is_file()


# ---- quantized ---------------------------------------------------------------------------------------------


@cache
def quantized(mode: str) -> Build:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    samples = [[torch.randn(1, 4) * 2 + 1] for _ in range(8)]
    return pl.compile(pl.quantize(pl.capture(net, samples[0], "net"), calibration=samples, mode=mode))


@pytest.mark.parametrize(("mode", "ctype"), [("int8", ctypes.c_int8), ("int16x8", ctypes.c_int16)])
def test_the_header_quantizes_as_python_does(mode: str, ctype: type, tmp_path: Path) -> None:
    """Every step, the points half way between two, and what lies outside."""
    build = quantized(mode)
    folder = build.write(tmp_path / "net")
    (entry,), (result,) = build.lowered.inputs, build.lowered.outputs
    (folder / "calls.c").write_text(f"""#include "net.h"
{entry.value.dtype.c} to(float x) {{ return net_quantize_input(x); }}
float from({result.value.dtype.c} q) {{ return net_dequantize_0(q); }}
""".replace("net_quantize_input", build.module.metadata["inputs"][0]["c_name"].replace("_input_", "_quantize_")))
    compile_c(["gcc", *STRICT[:-2], "-shared", "-fPIC", "calls.c", "-o", "calls.so"], folder)
    library = ctypes.CDLL(str(folder / "calls.so"))
    to, back = library.to, getattr(library, "from")
    to.argtypes, to.restype, back.argtypes, back.restype = [ctypes.c_float], ctype, [ctype], ctypes.c_float
    assert entry.quant is not None
    steps = torch.arange(-140, 140, 0.5) if mode == "int8" else torch.linspace(-33000, 33000, 281)
    numbers = torch.cat([steps * entry.quant.scale, torch.tensor([1e9, -1e9, torch.inf, -torch.inf, 0.0])])
    for row in numbers.split(1):
        x = torch.zeros(1, 4)
        x[0, 0] = row[0]
        assert to(float(row)) == int(to_memory(entry, x)[0, 0])
    limits = torch.iinfo(result.value.dtype.torch)
    for code in range(limits.min, limits.max, 1 if mode == "int8" else 911):
        array = to_memory(result, torch.full((1, 2), code, dtype=result.value.dtype.torch))
        assert back(code) == pytest.approx(float(from_memory(result, array)[0, 0]), rel=1e-6)


@pytest.mark.parametrize("mode", ["int8", "int16x8"])
def test_the_quantized_example_writes_the_zero_point(mode: str, tmp_path: Path) -> None:
    build = quantized(mode)
    folder = build.write(tmp_path / "net")
    name = build.module.metadata["inputs"][0]["c_name"].upper()
    assert f"[i] = {name}_ZERO_POINT;" in (folder / "example_main.c").read_text()
    compile_c(["gcc", *STRICT, "-fsyntax-only", "net.c", "example_main.c"], folder)
    (folder / "main.cpp").write_text((folder / "example_main.c").read_text())
    compile_c(["g++", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "main.cpp"], folder)


def test_metadata_holds_numbers() -> None:
    metadata = json.loads(str(quantized("int8").module.files["metadata.json"]))
    for port, row in zip(quantized("int8").lowered.inputs, metadata["inputs"], strict=True):
        assert port.quant is not None
        assert (row["scale"], row["zero_point"]) == (port.quant.scale, port.quant.zero_point)
    ports = [row for side in ("inputs", "outputs") for row in metadata[side]]
    assert all(isinstance(row["scale"], float) and isinstance(row["zero_point"], int) for row in ports)
