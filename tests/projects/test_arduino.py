"""Projects of the template arduino: the library as its specification says, and the sketch by the board's compiler.

Arduino's cores are in no registry, so their header is stood in for.
"""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

import pilotlight as pl
from pilotlight import boards
from pilotlight.toolchain.find import compiler
from support import booted_projects
from support.command_line import call_error, call_json
from support.device_lines import serial_board
from support.paths import FIXTURES
from support.programs import path_of

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.randn(1, 4),)
"""
# What the library specification asks for, in rev. 2.2.
REQUIRED = ["name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"]
CATEGORIES = ["Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing", "Data Storage",
              "Data Processing", "Other"]


@pytest.mark.parametrize("app", ["run", "server"])
def test_library_sketch_and_archive(app: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node, board = tmp_path / "node", boards.load("arduino-nano-33-ble")
    choices = ["--board", board.name, "--template", "arduino", "--app", app]
    call_json("new", node, f"{tmp_path / 'net.py'}:net", *choices)

    rows = dict(line.split("=", 1) for line in (node / "library" / "library.properties").read_text().splitlines())
    assert all(key in rows for key in REQUIRED) and rows["category"] in CATEGORIES
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.\-]{0,62}", rows["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", rows["version"])
    source = node / "library" / "src"
    assert (source / rows["includes"]).is_file()
    assert {path.suffix for path in source.iterdir()} <= {".c", ".h"}
    assert not any("int main(" in path.read_text() for path in (node / "library").rglob("*.c"))
    assert call_json("update", node)["written"] == []

    with zipfile.ZipFile(node / "net.zip") as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    there = [path for path in (node / "library").rglob("*") if path.is_file()]
    assert inside == {f"net/{path.relative_to(node / 'library').as_posix()}": path.read_bytes() for path in there}

    sketch = node / "library" / "examples" / app
    assert (sketch / f"{app}.ino").is_file()
    for path in sorted([*sketch.iterdir(), *source.glob("*.c")]):
        if path.suffix == ".h":
            continue
        kind = {".ino": ["-x", "c++", "-include", "Arduino.h", "-fno-exceptions", "-std=gnu++14"],
                ".cpp": ["-fno-exceptions", "-std=gnu++14"]}.get(path.suffix, [])
        flags = [*board.flags, "-ffreestanding", "-Os", "-Wall", "-Wextra", "-Werror", *kind]
        include = ["-I", str(FIXTURES / "arduino"), "-I", str(sketch), "-I", str(source)]
        command = [compiler(board), *flags, *include, "-c", str(path), "-o", str(tmp_path / "out.o")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    (command_line,) = call_json("build", node, "--dry-run")["commands"]
    assert command_line.startswith("arduino-cli compile --fqbn arduino:mbed_nano:nano33ble --library library ")
    assert command_line.endswith(f" library/examples/{app}")


def test_code_in_another_memory(tmp_path: Path) -> None:
    """Teensy's core copies all code into the ITCM; other cores have no place for it."""
    (tmp_path / "net.py").write_text(NET)
    source = f"{tmp_path / 'net.py'}:net"
    call_json("new", tmp_path / "node", source, "--template", "arduino", "--board", "teensy41", "--code-in", "itcm")
    assert "The code runs from ITCM" in (tmp_path / "node" / "README.md").read_text()
    choices = ["--template", "arduino", "--board", "arduino-nano-33-ble", "--code-in", "ram"]
    error = call_error("new", tmp_path / "other", source, *choices)
    assert error["message"] == "the template arduino cannot put the code of a project for arduino-nano-33-ble into ram"
    assert error["hint"] == "omit --code-in"


def test_the_sketch_answers(tmp_path: Path) -> None:
    """The sketch `server` as a program of this computer, whose standard streams are the serial port."""
    (tmp_path / "net.py").write_text(booted_projects.NET)
    choices = ["--template", "arduino", "--board", "arduino-nano-33-ble", "--app", "server"]
    call_json("new", tmp_path / "node", f"{tmp_path / 'net.py'}:net", *choices)
    library, work = tmp_path / "node" / "library", tmp_path / "work"
    sketch = library / "examples" / "server"
    work.mkdir()
    include = [f"-I{folder}" for folder in (FIXTURES / "arduino", sketch, library / "src")]
    flags = ["-O1", "-ffp-contract=off", *include]
    c = [*sketch.glob("*.c"), *(library / "src").glob("*.c")]
    subprocess.run([path_of("gcc"), *flags, "-c", *c], cwd=work, check=True)
    cpp = ["-include", "Arduino.h", *sketch.glob("*.cpp"), FIXTURES / "arduino" / "host.cpp", "-x", "c++"]
    linked = [sketch / "server.ino", "-x", "none", *work.glob("*.o"), "-o", "board"]
    subprocess.run([path_of("g++"), *flags, *cpp, *linked], cwd=work, check=True)
    with serial_board(work / "board") as (path, _), pl.connect(path) as device:
        booted_projects.ask_and_compare(device, tmp_path / "net.py", stack=False)
