"""Assembly as a file of C: the same code, from flags that files of assembly may not get."""

from __future__ import annotations

import subprocess
from pathlib import Path

import torch
from torch import nn

import pilotlight as pl
from pilotlight import boards
from pilotlight.projects.assembly import assembly_as_c
from pilotlight.toolchain.find import compiler


def code(source: Path, board: boards.Board) -> list[str]:
    """The functions of a source and their instructions, as the disassembler shows them."""
    built = source.with_suffix(".o")
    subprocess.run([compiler(board), *board.flags, "-O2", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", built],
                   check=True)
    shown = subprocess.run(["arm-none-eabi-objdump", "-d", built], capture_output=True, text=True, check=True).stdout
    return shown.splitlines()[3:]  # without the file's name


def test_the_same_instructions(tmp_path: Path) -> None:
    board = boards.load("arduino-nano-33-ble")
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8), nn.Flatten(), nn.Linear(128, 5))
    graph = pl.capture(net.eval(), (torch.randn(1, 3, 8, 8),), "net")
    text = pl.compile(graph, board.name).module.files["net_kernels.S"]
    assert isinstance(text, str)
    (tmp_path / "as.S").write_text(text)
    (tmp_path / "c.c").write_text(assembly_as_c(text, "net_kernels"))
    shown = code(tmp_path / "as.S", board)
    assert shown == code(tmp_path / "c.c", board)
    assert any("<net_mac_f32_" in line for line in shown) and len(shown) > 100
    small = boards.load("pico")  # where the file is empty but for the name
    assert code(tmp_path / "c.c", small) == []
