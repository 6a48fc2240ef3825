"""Projects of the template espidf: the files as ESP-IDF reads them, and the sources by the compiler of the ESP32-C3.

ESP-IDF and its Xtensa compilers are in no registry, so its headers are stood in for.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.toolchain.find import compiler, reason_without
from support.command_line import call_json
from support.paths import FIXTURES

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.randn(1, 4),)
"""


@pytest.mark.parametrize("name", ["esp32-c3", "esp32-s3"])
def test_files_and_sources(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node, board = tmp_path / "node", boards.load(name)
    call_json("new", node, f"{tmp_path / 'net.py'}:net", "--board", name, "--template", "espidf")

    settings = dict(re.findall(r"^CONFIG_(\w+)=(\S+)$", (node / "sdkconfig.defaults").read_text(), re.MULTILINE))
    assert settings["IDF_TARGET"] == f'"{board.names.idf}"' and int(settings["ESP_MAIN_TASK_STACK_SIZE"]) >= 4096
    component = (node / "components" / "net" / "CMakeLists.txt").read_text()
    (sources,) = re.findall(r"idf_component_register\(SRCS (.*) INCLUDE_DIRS \$\{model\}\)", component)
    assert all((node / source.replace("${model}", "model")).is_file() for source in sources.split())
    main = (node / "main" / "CMakeLists.txt").read_text()
    (own,) = re.findall(r"idf_component_register\(SRCS (.*) INCLUDE_DIRS \. REQUIRES net\)", main)
    assert "void app_main(void)" in (node / "main" / "main.c").read_text()
    for source in own.split():
        assert (node / "main" / source).is_file()
        if reason_without(board) is None:
            flags = [*board.flags, "-std=gnu17", "-ffreestanding", "-Os", "-Wall", "-Wextra", "-Werror"]
            include = ["-I", str(FIXTURES / "espidf"), "-I", "main", "-I", "model"]
            command = [compiler(board), *flags, *include, "-fsyntax-only", f"main/{source}"]
            done = subprocess.run(command, cwd=node, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    commands = call_json("build", node, "--dry-run")["commands"]
    assert commands == [f"idf.py -DIDF_TARGET={board.names.idf} build"]
