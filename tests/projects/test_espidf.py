"""Projects of the template espidf: the files as ESP-IDF reads them, and the sources by the compiler of the ESP32-C3.

ESP-IDF and its Xtensa compilers are in no registry, so its headers are stood in for.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.toolchain.find import compiler
from support.command_line import call_error, call_json
from support.paths import FIXTURES

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.randn(1, 4),)
"""


@pytest.mark.parametrize(
    ("name", "app"), [("esp32-c3", "run"), ("esp32-s3", "run"), ("esp32", "server"), ("esp32-s3", "server")]
)
def test_files_and_sources(name: str, app: str, tmp_path: Path) -> None:
    """Sources of an application are compiled for the ESP32-C3: there is no compiler for the others."""
    (tmp_path / "net.py").write_text(NET)
    node, board, riscv = tmp_path / "node", boards.load(name), boards.load("esp32-c3")
    call_json("new", node, f"{tmp_path / 'net.py'}:net", "--board", name, "--template", "espidf", "--app", app)

    settings = dict(re.findall(r"^CONFIG_(\w+)=(\S+)$", (node / "sdkconfig.defaults").read_text(), re.MULTILINE))
    assert settings["IDF_TARGET"] == f'"{board.names.idf}"' and int(settings["ESP_MAIN_TASK_STACK_SIZE"]) >= 4096
    component = (node / "components" / "net" / "CMakeLists.txt").read_text()
    (sources,) = re.findall(r"idf_component_register\(SRCS (.*) INCLUDE_DIRS \$\{model\}\)", component)
    assert all((node / source.replace("${model}", "model")).is_file() for source in sources.split())
    main = (node / "main" / "CMakeLists.txt").read_text()
    pattern = r"idf_component_register\(SRCS ([^)]*?)\s+INCLUDE_DIRS \.(?: server)? REQUIRES net[\w ]*\)"
    (own,) = re.findall(pattern, main)
    assert "void app_main(void)" in (node / "main" / "main.c").read_text()
    for source in own.split():
        assert (node / "main" / source).is_file()
        flags = [*riscv.flags, "-std=gnu17", "-ffreestanding", "-Os", "-Wall", "-Wextra", "-Werror"]
        include = [f"-I{folder}" for folder in (FIXTURES / "espidf", "main", "main/server", "model")]
        command = [compiler(riscv), *flags, *include, "-fsyntax-only", f"main/{source}"]
        done = subprocess.run(command, cwd=node, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    commands = call_json("build", node, "--dry-run")["commands"]
    assert commands == [f"idf.py -DIDF_TARGET={board.names.idf} build"]


def test_code_in_ram(tmp_path: Path) -> None:
    """A linker fragment, as ESP-IDF's linker script generator reads it: a mapping of an archive to a scheme."""
    (tmp_path / "net.py").write_text(NET)
    source, choices = f"{tmp_path / 'net.py'}:net", ["--template", "espidf", "--board", "esp32-s3"]
    call_json("new", tmp_path / "node", source, *choices, "--code-in", "ram")
    folder = tmp_path / "node" / "components" / "net"
    assert " LDFRAGMENTS linker.lf)" in (folder / "CMakeLists.txt").read_text()
    rows = [line for line in (folder / "linker.lf").read_text().splitlines() if not line.startswith("#")]
    assert rows == ["[mapping:net]", "archive: libnet.a", "entries:", "    * (noflash_text)"]
    error = call_error("new", tmp_path / "other", source, *choices, "--code-in", "psram")
    assert error["message"] == "the template espidf cannot put the code of a project for esp32-s3 into psram"
