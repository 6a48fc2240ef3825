"""Projects of the template mbed: the files as Mbed CE reads them, and the sources by CMake and the board's compiler.

Mbed CE is in no registry, so it is stood in for; docs/projects/mbed.md says what was built with it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from pilotlight import boards
from support.command_line import call_error, call_json
from support.paths import FIXTURES
from support.programs import path_of

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.randn(1, 4),)
"""


def json5(text: str) -> dict:
    """What JSON5 has over JSON, as far as a project uses it: comments, bare keys, commas at the end."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(\s*)(\w+):", r'\1"\2":', text, flags=re.MULTILINE)
    return json.loads(re.sub(r",(\s*})", r"\1", text))


def configured(folder: Path, mbed: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [path_of("cmake"), "-S", ".", "-B", "build", *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "MBED_OS": mbed})


def built_names(folder: Path, *more: str) -> set[str]:
    """Functions of the program that CMake makes."""
    done = configured(folder, str(FIXTURES / "mbed"), *more)
    assert done.returncode == 0, done.stderr
    built = subprocess.run([path_of("cmake"), "--build", "build"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    names = subprocess.run(["arm-none-eabi-nm", "build/node.elf"], cwd=folder, capture_output=True, text=True).stdout
    return set(re.findall(r" T (\w+)$", names, re.MULTILINE))


def test_files_and_sources(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node, board = tmp_path / "node", boards.load("nucleo-wb55rg")
    call_json("new", node, f"{tmp_path / 'net.py'}:net", "--board", board.name, "--template", "mbed")

    settings = json5((node / "mbed_app.json5").read_text())["target_overrides"]["*"]
    assert settings["rtos.main-thread-stack-size"] >= 4096 and settings["platform.stdio-baud-rate"] == 115200
    assert settings["platform.stack-stats-enabled"] is True and settings["platform.heap-stats-enabled"] is True

    missing = configured(node, "")
    said = " ".join(missing.stderr.split())
    assert missing.returncode != 0 and "mbed-os is not Mbed CE: let the environment variable MBED_OS name" in said
    done = configured(node, str(FIXTURES / "mbed"), "-DRUNS=1")
    assert done.returncode == 0, done.stderr
    assert f"target=NUCLEO_WB55RG pyocd=TRUE:{board.flashing.pyocd}:4000k" in done.stdout
    assert "openocd=TRUE:-f;board/st_nucleo_wb55.cfg" in done.stdout
    assert built_names(node, "-DRUNS=1") >= {"main", "net_run", "board_ram_left"}
    assert call_json("build", node, "--dry-run")["commands"] == [
        "cmake -S . -B build -GNinja -DCMAKE_BUILD_TYPE=Develop", "cmake --build build",
    ]
    (node / "src" / "main.cpp").write_text("// mine\n")
    (node / "src" / "input.c").write_text("/* mine */\n")
    assert call_json("update", node)["written"] == []
    assert (node / "src" / "main.cpp").read_text() == "// mine\n"


def test_a_program_that_answers(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node = tmp_path / "node"
    choices = ["--board", "nucleo-f746zg", "--template", "mbed", "--app", "server"]
    call_json("new", node, f"{tmp_path / 'net.py'}:net", *choices)
    settings = json5((node / "mbed_app.json5").read_text())["target_overrides"]["*"]
    assert settings["drivers.uart-serial-rxbuf-size"] >= 1024 and settings["platform.stack-stats-enabled"] is True
    names = built_names(node)
    assert names >= {"main", "net_run", "pl_serve", "pl_io_read", "pl_io_write", "pl_io_stack", "pl_step"}
    assert call_json("update", node)["written"] == []


def test_boards() -> None:
    taken = {row["name"] for row in call_json("boards", "--template", "mbed")["boards"]}
    assert taken == {board.name for board in boards.all_boards() if board.names.mbed} and "nucleo-wb55rg" in taken
    error = call_error("new", "node", "no-such.py:net", "--template", "mbed", "--board", "esp32")
    assert error["message"] == "the template mbed does not take esp32: its file has no names.mbed"
