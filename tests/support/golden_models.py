"""The models of tests/models/golden; their lines are named in the generated files."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Gate(nn.Module):
    """A fused loop, a reduction, a state and an integer output."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("level", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.level.copy_(0.75 * self.level + 0.25 * x.abs())
        gated = torch.where(self.level > 0.5, torch.tanh(x), x * 0.125)
        return gated, gated.argmax()


class Image(nn.Module):
    """Convolution with batch norm and relu, depthwise, pooling, linear, softmax: channels first, as PyTorch has it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.conv(x)))
        x = F.relu6(self.depthwise(x))
        return torch.softmax(self.head(x.mean((2, 3))), dim=1)


def set_weights(net: nn.Module) -> nn.Module:
    """Numbers that need no random generator: PyTorch's may change."""
    for k, tensor in enumerate(net.state_dict().values()):
        if tensor.is_floating_point():
            numbers = np.arange(tensor.numel()) * 7 % 13 / 8.0 + 0.25 * (k + 1)
            tensor.copy_(torch.from_numpy(numbers).reshape(tensor.shape))
    return net.eval()


def models() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...], str]]:
    return {
        "perceptron": (set_weights(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))),
                       (torch.zeros(1, 4),), "host"),
        "gate": (Gate().eval(), (torch.zeros(4),), "host"),
        "image": (set_weights(Image()), (torch.zeros(1, 2, 6, 6),), "mps2-an386"),
    }
