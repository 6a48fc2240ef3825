"""The device server stays small, and its share of a run too."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import pilotlight as pl
from support.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import server


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="the figures are GCC's")
@pytest.mark.parametrize("optimize", ["-Os", "-O2"])
def test_flash_and_ram(optimize: str, tmp_path: Path) -> None:
    flash, variables, stack = server.sizes(optimize, tmp_path)
    assert 1000 < flash < 4096
    assert variables > 256 and stack > 64 and variables + stack < 600


def test_instructions_between_question_and_answer() -> None:
    """As many bytes of input as kws has, whose run takes 2,995,556 instructions."""
    build = pl.compile(pl.capture(torch.nn.ReLU(), (torch.randn(122),), "net"), board="mps2-an386", emulator="unicorn")
    found, own = server.added(build.runnable_info, [np.zeros(122, np.float32)])
    assert 10_000 < found < 0.05 * 2_995_556 and own > 200
