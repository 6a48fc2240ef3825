"""MicroPython inside C and C++ programs."""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

from pilotlight.micropython import cache, embed
from pilotlight.micropython.select import SMALL
from support.command_line import call_error
from support.embedding import BOARD, ENVIRONMENT, SANITIZE, exported

HERE = Path(__file__).parent / "embedded"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
CPP = ["g++", "-std=c++17", "-fno-exceptions", "-fno-rtti", *STRICT]


class Counter(nn.Module):
    """With state, a branch on it, and several results."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 4.0]))

    def forward(self, x: torch.Tensor, names: list[str]) -> tuple[torch.Tensor, dict[str, int]]:
        self.calls += 1
        found: dict[str, int] = {}
        for name in names:
            found[name] = self.calls
        if self.calls > 1:
            x = x + self.calls
        return x * self.scale, found


def _compiled(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def _printed(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr  # what an emulated board says is in the latter


def test_what_the_headers_promise(tmp_path):
    """Values, errors, tensors, files, many calls and restarts, in one C++ program under sanitizers."""
    library = exported()
    shutil.copy(library / "example" / "net.pt", tmp_path)
    scripted = torch.jit.script(Counter())
    scripted.save(tmp_path / "counter.pt")
    _compiled([*CPP, "-pthread", *SANITIZE.split(), f"-I{library}", str(HERE / "check.cpp"),
               str(library / "build-host" / "libinterpreter.a"), "-lm", "-o", "check"], tmp_path)
    assert _printed(["./check"], tmp_path) == "ok\n"


def test_the_header_is_plain_c(tmp_path):
    """A C99 program; it sees no header of MicroPython."""
    library = exported()
    shutil.copy(library / "interpreter.h", tmp_path)
    _compiled(["gcc", "-std=c99", *STRICT, *SANITIZE.split(), f"-I{tmp_path}", str(HERE / "plain.c"),
               str(library / "build-host" / "libinterpreter.a"), "-lm", "-o", "plain"], tmp_path)
    assert _printed(["./plain"], tmp_path) == "[3, 4.5, 'five']\nNameError: name 'missing' isn't defined\n"


def _expected(folder: Path) -> list[str]:
    """What the example shows, by PyTorch itself."""
    net = runpy.run_path(str(folder / "net.py"))["Net"]().eval()
    net.load_state_dict(torch.load(folder / "net.pt"))
    lines = []
    for run in range(3):
        x = torch.tensor([float((k * (run + 2)) % 16 - 8) / 8 for k in range(64)]).reshape(1, 1, 64)
        with torch.no_grad():
            y = net(x)
        lines += [str(y), f"best: {int(y.argmax())}", "TorchScript gives the same"]
    return lines


def _example_here(folder):
    """What the example prints on this computer, as its own Makefile builds it; the libraries are there already."""
    here = ["CC=gcc", "CXX=g++", "AR=ar", "CORE=", "PLATFORM=host.c", "LINK=", "EMULATOR=", f"CFLAGS={SANITIZE}",
            "BUILD=../build-host"]
    with cache.lock("work-embedded"):
        _compiled(["make", *here], folder)
        return _printed(["../build-host/example"], folder).splitlines()


def test_the_example_here():
    folder = exported() / "example"
    shown = _example_here(folder)
    assert shown[:9] == _expected(folder) and shown[9].startswith("TypeError: conv1d()")


def _has_cpp_for_boards():
    command = ["arm-none-eabi-g++", "-x", "c++", "-fsyntax-only", "-"]
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(command, input=b"#include <cstddef>\n", capture_output=True).returncode == 0
    return False


@pytest.mark.skipif(not _has_cpp_for_boards(), reason="C++ for boards: Debian's libstdc++-arm-none-eabi-newlib")
def test_the_example_on_a_board():
    folder = exported() / "example"
    shown = _example_here(folder)
    with cache.lock("work-embedded"):
        _compiled(["make", "BUILD=../build-board"], folder)
        on_board = _printed(["make", "-s", "--no-print-directory", "BUILD=../build-board", "run"], folder).splitlines()
    assert on_board == shown


def test_a_library_of_cmake(tmp_path):
    """A project that adds the folder gets the header and all sources."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(firmware C CXX)\n"
        f"add_subdirectory({exported()} interpreter)\nadd_executable(firmware main.cpp)\n"
        "target_link_libraries(firmware interpreter)\nget_target_property(found interpreter SOURCES)\n"
        'file(WRITE ${CMAKE_BINARY_DIR}/found "${found}")\n', encoding="utf-8"
    )
    (tmp_path / "main.cpp").write_text('#include "interpreter.hpp"\nint main() {}\n', encoding="utf-8")
    _compiled(["cmake", "-S", ".", "-B", "b"], tmp_path)
    sources = {Path(name).name for name in (tmp_path / "b" / "found").read_text(encoding="utf-8").split(";")}
    made = {path.stem for path in (exported() / "build-board").rglob("*.o")}
    assert {Path(name).stem for name in sources} == made - {"main", "platform", "files_of_example"}


def test_what_export_refuses(tmp_path):
    for board in ("pico", "riscv32-virt"):
        error = call_error("micropython", "export", "--embed", "--board", board, "-o", tmp_path)
        assert error["kind"] == "not-runnable" and board in error["message"]
    assert call_error("micropython", "export", "--board", BOARD, "-o", tmp_path)["kind"] == "usage"


def test_an_export_again(tmp_path, monkeypatch):
    """What is in example/ is the user's; what the library no longer has goes away."""
    monkeypatch.setattr(embed, "write_module", lambda folder, selection: [])
    monkeypatch.setattr(embed, "_generated", lambda source, work: {})
    changed, old, kept = (tmp_path / name for name in ("example/main.cpp", "torch/old.c", "micropython/py/gc.c"))
    embed.write_embedded(tmp_path, SMALL)
    assert not (tmp_path / "example" / "board.mk").exists() and (tmp_path / "example" / "script.pt").exists()
    changed.write_text("mine", encoding="utf-8")
    old.parent.mkdir(exist_ok=True)
    old.write_text("old", encoding="utf-8")
    os.utime(kept, (1, 1))
    files = embed.write_embedded(tmp_path, SMALL)
    assert changed.read_text(encoding="utf-8") == "mine" and not old.exists() and kept.stat().st_mtime == 1
    assert "example/main.cpp" in files and "interpreter.hpp" in files


def test_files_ask_the_module_about_tensors():
    """What the module's makefile defines for files of MicroPython, they define themselves."""
    text = (exported() / "micropython" / "py" / "sequence.c").read_text(encoding="utf-8")
    assert re.findall(r"^#define (\w+) (pt_\w+)", text, re.MULTILINE) == [
        ("mp_binary_op", "pt_compare"), ("mp_obj_equal", "pt_same_item")
    ]
