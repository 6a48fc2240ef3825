"""The demo: 360 handwritten digits classified on an emulated board, next to PyTorch.

The network is `model.py`, trained by examples/digits/train.py, which also wrote the images that it had not seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from pilotlight import api
from pilotlight.api import Build
from pilotlight.capture import capture
from pilotlight.demo.model import digits
from pilotlight.session import Session

IMAGES = Path(__file__).with_name("held_out.npz")


def compile_digits(board: str, **choices: Any) -> Build:
    """The network for a board; `choices` are fields of Options."""
    net, example = digits()
    return api.compile(capture(net, example, "digits"), board=board, source="pilotlight.demo.model:digits", **choices)


def held_out() -> tuple[torch.Tensor, torch.Tensor]:
    """(N, 1, 8, 8) float32 in 0..1, and (N,) int64: images that the network was not trained with."""
    with np.load(IMAGES) as data:
        return torch.from_numpy(data["images"]).float().unsqueeze(1) / 16, torch.from_numpy(data["labels"]).long()


def classify(build: Build) -> Session:
    """Every image on the board, and by PyTorch."""
    images, labels = held_out()
    return api.run(build, images.split(1), labels=labels)  # (1, 1, 8, 8) each
