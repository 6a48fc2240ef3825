"""A ConvNeXt-style net: depthwise 7x7, then channels last for norm and two linear layers, then back."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


class LayerNorm2d(nn.LayerNorm):
    """Layer norm over the channels of an image."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.empty(channels).uniform_(0.2, 1.0))

    def forward(self, x):
        y = self.depthwise(x).permute(0, 2, 3, 1)
        y = self.scale * self.down(F.gelu(self.up(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, widths, classes):
        super().__init__()
        layers = [nn.Conv2d(3, widths[0], 4, stride=4), LayerNorm2d(widths[0], eps=1e-6), Block(widths[0])]
        for cin, cout in pairwise(widths):
            layers += [LayerNorm2d(cin, eps=1e-6), nn.Conv2d(cin, cout, 2, stride=2), Block(cout)]
        self.features = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(widths[-1], eps=1e-6)
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x):
        return self.head(self.norm(self.features(x).mean([-2, -1])))


@seeded
def convnext() -> Model:
    """Three stages (24, 48, 96 channels) at 64x64, ten classes."""
    return settle(ConvNeXt([24, 48, 96], 10)), (torch.rand(1, 3, 64, 64),)
