"""A ShuffleNetV2-style net: half the channels pass by, half are filtered, then the halves interleave."""

from __future__ import annotations

import torch
from torch import nn

from seeding import Model, seeded, settle


def channel_shuffle(x, groups):
    """Channel g * (C / groups) + i becomes channel i * groups + g."""
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


def filtered(cin, cout, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, stride, 1, groups=cout, bias=False), nn.BatchNorm2d(cout),
        nn.Conv2d(cout, cout, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class Unit(nn.Module):
    """Stride 1: split, filter one half. Stride 2: filter all of it twice, doubling the channels."""

    def __init__(self, channels, stride):
        super().__init__()
        self.stride = stride
        half = channels // 2
        if stride == 1:
            self.right = filtered(half, half, 1)
        else:
            self.right = filtered(half, half, 2)
            self.left = nn.Sequential(
                nn.Conv2d(half, half, 3, 2, 1, groups=half, bias=False), nn.BatchNorm2d(half),
                nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(inplace=True),
            )

    def forward(self, x):
        if self.stride == 1:
            left, right = x.chunk(2, dim=1)
        else:
            left, right = self.left(x), x
        return channel_shuffle(torch.cat([left, self.right(right)], dim=1), 2)


class ShuffleNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU(inplace=True)
        )
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.stages = nn.Sequential(
            *(Unit(48, 2), Unit(48, 1), Unit(48, 1)),
            *(Unit(96, 2), Unit(96, 1), Unit(96, 1)),
            *(Unit(192, 2), Unit(192, 1)),
        )
        # A grouped convolution before the classifier: groups that are neither 1 nor the channel count.
        self.mix = nn.Sequential(nn.Conv2d(192, 128, 1, groups=4, bias=False), nn.BatchNorm2d(128), nn.ReLU())
        self.fc = nn.Linear(128, classes)

    def forward(self, x):
        x = self.mix(self.stages(self.pool(self.stem(x))))
        return self.fc(x.mean([2, 3]))


@seeded
def shufflenet() -> Model:
    """Channel shuffle by view and transpose, at 64x64, ten classes."""
    return settle(ShuffleNet(10), torch.rand(16, 3, 64, 64)), (torch.rand(1, 3, 64, 64),)
