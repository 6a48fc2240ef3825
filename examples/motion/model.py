"""The network that knows a motion from about two and a half seconds of raw acceleration, made to run on a stream.

Nothing is padded in time: each step of 8 samples (160 ms) adds one row to the last layers and one answer.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from simulate import CLASSES

CHECKPOINT = Path(__file__).resolve().with_name("motion.pt")
HOP = 8
STEPS = 10  # rows that are averaged
SAMPLES = 124  # what one answer is about


def layer(cin: int, cout: int, kernel: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv1d(cin, cout, kernel, stride, bias=False), nn.BatchNorm1d(cout), nn.ReLU())


class MotionNet(nn.Module):
    """(N, 3, samples) in g to (N, steps, 6) scores."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(layer(3, 16, 6, 2), layer(16, 24, 6, 2), layer(24, 32, 6, 2), layer(32, 32, 3, 1))
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(32, len(CLASSES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.avg_pool1d(self.layers(x), STEPS, stride=1)
        return self.fc(self.dropout(x.transpose(1, 2)))


def motion() -> tuple[MotionNet, tuple[torch.Tensor]]:
    """The trained network and a device at rest."""
    net = MotionNet()
    net.load_state_dict(torch.load(CHECKPOINT, weights_only=True))
    still = torch.zeros(1, 3, SAMPLES)
    still[:, 2] = 1
    return net.eval(), (still,)
