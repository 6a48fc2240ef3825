"""The demo's network: a small CNN for 8x8 images of handwritten digits, trained by train.py."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

CHECKPOINT = Path(__file__).resolve().with_name("digits.pt")


class DigitsNet(nn.Module):
    """Two convolutions, a depthwise-separable one, and a linear layer on what is left of the image."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 24, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(24)
        self.depthwise = nn.Conv2d(24, 24, 3, padding=1, groups=24, bias=False)
        self.pointwise = nn.Conv2d(24, 32, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # (N, 1, 8, 8), 0..1
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        x = F.max_pool2d(F.relu(self.norm3(self.pointwise(self.depthwise(x)))), 2)
        return self.fc(self.dropout(torch.flatten(x, 1)))


def digits() -> tuple[DigitsNet, tuple[torch.Tensor]]:
    """The trained network and one blank image of the shape it takes."""
    net = DigitsNet()
    net.load_state_dict(torch.load(CHECKPOINT, weights_only=True))
    return net.eval(), (torch.zeros(1, 1, 8, 8),)
