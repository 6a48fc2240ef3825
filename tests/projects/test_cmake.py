"""Projects of the template cmake: built with CMake and GCC, booted in QEMU, compared with eager PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.booted_projects import BOARDS, check_fault, check_other_memories, check_stream, compare_with_pytorch


@pytest.mark.parametrize("name", BOARDS)
def test_a_project_prints_what_pytorch_gives(name: str, tmp_path: Path) -> None:
    compare_with_pytorch("cmake", name, tmp_path)


@pytest.mark.parametrize("name", BOARDS)
def test_samples_are_pushed_into_a_model_that_streams(name: str, tmp_path: Path) -> None:
    check_stream("cmake", name, tmp_path)


def test_code_weights_and_arena_in_other_memories(tmp_path: Path) -> None:
    """Start-up copies code and weights to where the program's symbols are."""
    check_other_memories("cmake", tmp_path)


@pytest.mark.parametrize("name", BOARDS)
def test_a_fault_leaves_a_record(name: str, tmp_path: Path) -> None:
    check_fault("cmake", name, tmp_path)
