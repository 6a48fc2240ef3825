"""The hand-written model of fixtures/tiny, its outside truth in PyTorch, and altered copies of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import torch

from pilotlight import boards
from support.paths import FIXTURES

FOLDER = FIXTURES / "tiny"
EMULATED = [board.name for board in boards.all_boards() if board.emulator]
REAL = [board.name for board in boards.all_boards() if not board.emulator and not board.is_host]


class Tiny(torch.nn.Module):
    """What tiny.c computes, operation by operation, so that float32 results are the same bits."""

    def __init__(self) -> None:
        super().__init__()
        self.w0 = torch.tensor([1.5, -0.5, 2.0, 0.25])
        self.w1 = torch.tensor([0.5, 3.0, -1.0, 0.75])
        self.b = torch.tensor([0.125, -0.25, 0.5, 1.0])
        self.sums = torch.zeros(4)

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        x = (x + self.b) * self.w0
        x = (x + self.b) * self.w1
        for _ in range(int(n)):
            for row in x:
                self.sums = self.sums + row
        return x / (1.0 + self.sums.abs()) + self.sums


def inputs(seed: int = 0, n: int = 2) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((2, 4)).astype(np.float32), np.array([n], np.int32)]


def altered(
    target: Path,
    replace: dict[str, str] | None = None,
    files: dict[str, str] | None = None,
    **metadata: object,
) -> Path:
    """A copy of the folder: text replaced in tiny.c and tiny.h, files added, metadata changed."""
    shutil.copytree(FOLDER, target)
    for name in ("tiny.c", "tiny.h"):
        text = (target / name).read_text()
        for old, new in (replace or {}).items():
            text = text.replace(old, new)
        (target / name).write_text(text)
    for name, text in (files or {}).items():
        (target / name).write_text(text)
    data = json.loads((target / "metadata.json").read_text())
    data["sources"] = [*data["sources"], *(n for n in files or {} if n.endswith((".c", ".S")))]
    (target / "metadata.json").write_text(json.dumps(data | metadata))
    return target
