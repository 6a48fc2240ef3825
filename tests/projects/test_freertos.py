"""Projects of the template freertos: built against the kernel in the folder that FREERTOS_KERNEL names, and booted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.projects.boot import boot_project
from pilotlight.projects.template import load_template
from support.booted_projects import (
    BOARDS,
    NET,
    ask_and_compare,
    built,
    check_fault,
    check_other_memories,
    compare_with_pytorch,
)
from support.command_line import call_json

needs_kernel = pytest.mark.skipif(
    "FREERTOS_KERNEL" not in os.environ, reason="FREERTOS_KERNEL names no folder of the FreeRTOS kernel: not run"
)


@needs_kernel
@pytest.mark.parametrize("name", BOARDS)
def test_a_task_prints_what_pytorch_gives(name: str, tmp_path: Path) -> None:
    compare_with_pytorch("freertos", name, tmp_path)


@needs_kernel
@pytest.mark.parametrize("name", BOARDS)
def test_a_task_answers(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    choices = ["--board", name, "--template", "freertos", "--app", "server"]
    call_json("new", tmp_path / "node", f"{tmp_path / 'net.py'}:net", *choices)
    built(tmp_path / "node")
    with boot_project(tmp_path / "node") as device:
        ask_and_compare(device, tmp_path / "net.py")


@needs_kernel
def test_code_weights_and_arena_in_other_memories(tmp_path: Path) -> None:
    check_other_memories("freertos", tmp_path)


@needs_kernel
@pytest.mark.parametrize("name", BOARDS)
def test_a_fault_leaves_a_record(name: str, tmp_path: Path) -> None:
    check_fault("freertos", name, tmp_path)


def test_without_the_kernel_cmake_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    call_json("new", tmp_path / "node", f"{tmp_path / 'net.py'}:net", "--template", "freertos")
    environment = {key: value for key, value in os.environ.items() if key != "FREERTOS_KERNEL"}
    command = ["cmake", "-S", ".", "-B", "build"]
    done = subprocess.run(command, cwd=tmp_path / "node", capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    assert "FREERTOS_KERNEL is ''; expected the folder of the FreeRTOS kernel" in " ".join(done.stderr.split())


def test_boards() -> None:
    template = load_template("freertos")
    taken = {board.name for board in boards.all_boards() if template.reason_against(board) is None}
    assert {board.name for board in boards.all_boards() if board.emulator} <= taken
