"""Projects of the template platformio: the files as PlatformIO reads them, and the sources by the board's compiler.

PlatformIO's packages are in no registry that tests may use, so Arduino's header is stood in for.
"""

from __future__ import annotations

import configparser
import json
import subprocess
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.toolchain.find import compiler
from support.command_line import call_json
from support.paths import FIXTURES

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.randn(1, 4),)
"""


@pytest.mark.parametrize(("name", "app"), [("nucleo-wb55rg", "run"), ("pico", "run"), ("teensy41", "server")])
def test_files_and_sources(name: str, app: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node, board = tmp_path / "node", boards.load(name)
    choices = ["--board", name, "--template", "platformio", "--app", app]
    call_json("new", node, f"{tmp_path / 'net.py'}:net", *choices)

    settings = configparser.ConfigParser()
    settings.read(node / "platformio.ini", encoding="utf-8")
    environment = dict(settings[f"env:{settings['platformio']['default_envs']}"])
    assert environment == {
        "platform": board.names.platformio_platform, "board": board.names.platformio, "framework": "arduino",
        "monitor_speed": "115200",
    }
    library = json.loads((node / "lib" / "model" / "library.json").read_text())
    source = node / "lib" / "model" / "src"
    assert library["name"] == "net" and (source / library["headers"]).is_file()
    assert {path.suffix for path in source.iterdir()} <= {".c", ".h"}

    for path in sorted([*(node / "src").iterdir(), *source.iterdir()]):
        if path.suffix == ".h":
            continue
        kind = ["-std=gnu++17", "-fno-exceptions"] if path.suffix == ".cpp" else []
        kind += library["build"]["flags"] if path.parent == source else ["-Os"]
        flags = [*board.flags, "-ffreestanding", "-Wall", "-Wextra", "-Werror", *kind]
        include = ["-I", str(FIXTURES / "arduino"), "-I", str(node / "src"), "-I", str(source)]
        command = [compiler(board), *flags, *include, "-c", str(path), "-o", str(tmp_path / "out.o")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    assert call_json("build", node, "--dry-run")["commands"] == ["pio run"]
    (node / "src" / "application.c").write_text("/* mine */\n")
    assert call_json("update", node)["written"] == []
