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
    built = subprocess.run([path_of("cmake"), "--build", "build"], cwd=node, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    names = subprocess.run(["arm-none-eabi-nm", "build/node.elf"], cwd=node, capture_output=True, text=True).stdout
    assert re.search(r" T main$", names, re.MULTILINE) and re.search(r" T net_run$", names, re.MULTILINE)

    assert call_json("build", node, "--dry-run")["commands"] == [
        "cmake -S . -B build -GNinja -DCMAKE_BUILD_TYPE=Develop", "cmake --build build",
    ]
    (node / "src" / "main.cpp").write_text("// mine\n")
    (node / "src" / "input.c").write_text("/* mine */\n")
    assert call_json("update", node)["written"] == []
    assert (node / "src" / "main.cpp").read_text() == "// mine\n"


def test_boards() -> None:
    taken = {row["name"] for row in call_json("boards", "--template", "mbed")["boards"]}
    assert taken == {board.name for board in boards.all_boards() if board.names.mbed} and "nucleo-wb55rg" in taken
    error = call_error("new", "node", "no-such.py:net", "--template", "mbed", "--board", "esp32")
    assert error["message"] == "the template mbed does not take esp32: its file has no names.mbed"
