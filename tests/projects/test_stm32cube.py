"""Folders of the template stm32cube: dropped into projects in the form of CubeMX, for CMake and for Make.

ST's HAL is in no registry, so its header is stood in for; docs/projects/stm32cube.md says what was built with it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.command_line import call, call_error, call_json
from support.paths import FIXTURES
from support.programs import path_of

NET = """
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (torch.randn(1, 4),)
"""


def made(top: Path, *more: str) -> Path:
    """A project of CubeMX with the folder in it."""
    (top / "net.py").write_text(NET)
    shutil.copytree(FIXTURES / "stm32cube", top / "cube")
    choices = ["--board", "nucleo-l4r5zi", "--template", "stm32cube", "--option", "uart=hlpuart1", *more]
    call_json("new", top / "cube" / "node", f"{top / 'net.py'}:net", *choices)
    return top / "cube"


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("stm32cube"))


def symbols(program: Path) -> dict[str, str]:
    names = subprocess.run(["arm-none-eabi-nm", program], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1]: line.split()[-2] for line in names.splitlines()}


def built(cube: Path, way: str) -> Path:
    ways = {"cmake": [["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]], "make": [["make"]]}
    for command in ways[way]:
        done = subprocess.run([path_of(command[0]), *command[1:]], cwd=cube, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return cube / ("build/cube" if way == "cmake" else "made/cube.elf")


@pytest.mark.parametrize("way", ["cmake", "make"])
def test_the_folder_builds_in_a_project(cube: Path, way: str) -> None:
    found = symbols(built(cube, way))
    assert all(found[name] == "T" for name in ("main", "application_step", "net_run", "board_sleep"))
    assert found["hlpuart1"] == "B"


def test_a_folder_that_answers(tmp_path: Path) -> None:
    """Steps are counted with CMake, which can give a file options of its own."""
    cube = made(tmp_path, "--app", "server")
    counted, plain = symbols(built(cube, "cmake")), symbols(built(cube, "make"))
    for found in (counted, plain):
        assert all(found[name] == "T" for name in ("main", "net_run", "pl_serve", "pl_io_read", "pl_io_cycles"))
    assert "pl_step" in counted and counted["board_reset"] == "T"


def test_one_main_and_no_command(cube: Path) -> None:
    """CubeIDE compiles every source in the folder."""
    sources = [path for path in (cube / "node").rglob("*") if path.suffix in (".c", ".S")]
    assert len(sources) >= 7 and not any(re.search(r"\bmain\(", path.read_text()) for path in sources)
    assert "has no command to build it" in call_error("build", cube / "node")["message"]
    readme = (cube / "node" / "README.md").read_text()
    assert "`hlpuart1`" in readme and "add_subdirectory(node)" in readme
    assert call_json("update", cube / "node")["written"] == []
    assert call("update", cube / "node").output.endswith(f"next: see {cube / 'node' / 'README.md'}\n")


def test_only_boards_of_the_vendor() -> None:
    error = call_error("new", "node", "no-such.py:net", "--template", "stm32cube", "--board", "pico")
    assert error["message"] == "the template stm32cube does not take pico: it is not one of STMicroelectronics"
