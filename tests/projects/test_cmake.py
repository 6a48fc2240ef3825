"""Projects of the template cmake: built with CMake and GCC, booted in QEMU, compared with eager PyTorch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pilotlight import boards
from support.booted_projects import BOARDS, check_fault, compare_with_pytorch


@pytest.mark.parametrize("name", BOARDS)
def test_a_project_prints_what_pytorch_gives(name: str, tmp_path: Path) -> None:
    compare_with_pytorch("cmake", name, tmp_path)


def test_code_weights_and_arena_in_other_memories(tmp_path: Path) -> None:
    """Start-up copies code and weights to where the program's symbols are."""
    choices = ["--code-in", "psram", "--weights-in", "psram", "--arena-in", "psram"]
    program = compare_with_pytorch("cmake", "mps2-an386", tmp_path, *choices)
    names = subprocess.run(["arm-none-eabi-nm", program], capture_output=True, text=True, check=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in names.splitlines() if len(line.split()) == 3}
    psram = boards.load("mps2-an386").memory("psram")
    assert all(psram.base <= at[name] < psram.base + psram.size for name in ("net_run", "net_weights", "arena"))
    assert at["main"] < psram.base


@pytest.mark.parametrize("name", BOARDS)
def test_a_fault_leaves_a_record(name: str, tmp_path: Path) -> None:
    check_fault("cmake", name, tmp_path)
