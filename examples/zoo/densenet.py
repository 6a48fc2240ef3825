"""A DenseNet-style net: every layer sees the concatenation of all layers before it; norm comes first."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


class DenseLayer(nn.Module):
    """norm-ReLU-1x1, norm-ReLU-3x3. The first norm has no convolution before it to fold into."""

    def __init__(self, cin, growth):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(cin)
        self.conv1 = nn.Conv2d(cin, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(F.relu(self.norm1(x)))
        return self.conv2(F.relu(self.norm2(y)))


class DenseBlock(nn.Module):
    def __init__(self, cin, growth, count):
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(cin + i * growth, growth) for i in range(count))

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(layer(torch.cat(features, dim=1)))
        return torch.cat(features, dim=1)


class Transition(nn.Module):
    """Halves the channels and the size."""

    def __init__(self, cin):
        super().__init__()
        self.norm = nn.BatchNorm2d(cin)
        self.conv = nn.Conv2d(cin, cin // 2, 1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv(F.relu(self.norm(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, growth, classes):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.block1 = DenseBlock(16, growth, 3)
        self.down1 = Transition(16 + 3 * growth)
        channels = (16 + 3 * growth) // 2
        self.block2 = DenseBlock(channels, growth, 4)
        channels += 4 * growth
        self.down2 = Transition(channels)
        self.norm = nn.BatchNorm2d(channels // 2)
        self.fc = nn.Linear(channels // 2, classes)

    def forward(self, x):
        x = self.down1(self.block1(self.stem(x)))
        x = F.relu(self.norm(self.down2(self.block2(x))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


@seeded
def densenet() -> Model:
    """Two dense blocks at 32x32, growth 12, ten classes."""
    return settle(DenseNet(12, 10), torch.rand(16, 3, 32, 32)), (torch.rand(1, 3, 32, 32),)
