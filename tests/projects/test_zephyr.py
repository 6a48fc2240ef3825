"""Projects of the template zephyr: the files as Zephyr's own tools read them, and the sources by the board's compiler.

Zephyr is in no registry, so its headers are stood in for; docs/projects/zephyr.md says what was built with it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

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
CONFIG = ["-DCONFIG_SRAM_BASE_ADDRESS=0x20000000", "-DCONFIG_SRAM_SIZE=192"]
ARM = ["-DCONFIG_ARM", "-DCONFIG_CPU_CORTEX_M", "-DCONFIG_ARMV7_M_ARMV8_M_MAINLINE"]


@pytest.mark.parametrize(("name", "app"), [("nucleo-wb55rg", "run"), ("riscv32-virt", "run"), ("mps2-an386", "server")])
def test_files_and_sources(name: str, app: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    node, board = tmp_path / "node", boards.load(name)
    call_json("new", node, f"{tmp_path / 'net.py'}:net", "--board", name, "--template", "zephyr", "--app", app)

    module = yaml.safe_load((node / "model" / "zephyr" / "module.yml").read_text())
    assert module == {"name": "pilotlight-net", "build": {"cmake": "zephyr", "kconfig": "zephyr/Kconfig"}}
    kconfig = (node / "model" / "zephyr" / "Kconfig").read_text()
    symbols = re.findall(r"^config (\w+)\n\tbool \".*\"\n\thelp\n(?:\t  .*\n)+\Z", kconfig, re.MULTILINE)
    assert symbols == ["PILOTLIGHT_NET"]
    settings = dict(re.findall(r"^CONFIG_(\w+)=(\S+)$", (node / "prj.conf").read_text(), re.MULTILINE))
    assert settings["PILOTLIGHT_NET"] == "y" and int(settings["MAIN_STACK_SIZE"]) >= 2048
    assert ("FPU" in settings) == ("fpu32" in board.isa)
    assert (settings.get("UART_INTERRUPT_DRIVEN"), settings.get("UART_CONSOLE")) == (
        ("y", "n") if app == "server" else (None, None)
    )
    lines = [line for line in (node / "prj.conf").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(settings)

    cmake = (node / "model" / "zephyr" / "CMakeLists.txt").read_text()
    assert "if(CONFIG_PILOTLIGHT_NET)" in cmake
    (sources,) = re.findall(r"zephyr_library_sources\((.*)\)", cmake)
    assert all((node / "model" / "zephyr" / source).is_file() for source in sources.split())
    (own,) = re.findall(r"target_sources\(app PRIVATE (.*)\)", (node / "CMakeLists.txt").read_text())
    for source in own.split():
        flags = [*board.flags, "-std=c17", "-ffreestanding", "-Os", "-Wall", "-Wextra", "-Werror", *CONFIG]
        flags += ARM if board.startup == "cortex-m" else ["-DCONFIG_RISCV"]
        include = [f"-I{folder}" for folder in (FIXTURES / "zephyr", "src", "server", "model/src")]
        done = subprocess.run(
            [compiler(board), *flags, *include, "-fsyntax-only", source], cwd=node, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    assert call_json("build", node, "--dry-run")["commands"] == [f"west build -b {board.names.zephyr} ."]


def test_memories_are_zephyrs(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    choices = ["--template", "zephyr", "--arena-in", "psram"]
    error = call_error("new", tmp_path / "node", f"{tmp_path / 'net.py'}:net", *choices)
    assert "the template zephyr does not choose memories" in error["message"] and "omit --arena-in" in error["hint"]


def test_code_in_another_memory(tmp_path: Path) -> None:
    """Zephyr relocates the model's library into a region of its linker script, where the board's file names one."""
    (tmp_path / "net.py").write_text(NET)
    source, choices = f"{tmp_path / 'net.py'}:net", ["--template", "zephyr", "--board", "teensy41"]
    call_json("new", tmp_path / "node", source, *choices, "--code-in", "itcm")
    assert "CONFIG_CODE_DATA_RELOCATION=y\n" in (tmp_path / "node" / "prj.conf").read_text()
    cmake = (tmp_path / "node" / "model" / "zephyr" / "CMakeLists.txt").read_text()
    assert "zephyr_code_relocate(LIBRARY pilotlight_net LOCATION ITCM_TEXT)" in cmake
    error = call_error("new", tmp_path / "other", source, *choices, "--code-in", "ram")
    assert error["message"] == "the template zephyr cannot put the code of a project for teensy41 into ram"
    assert error["hint"] == "omit --code-in, or choose itcm" and not (tmp_path / "other").exists()
