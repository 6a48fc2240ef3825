"""A small U-Net: down by max pooling, up once by transposed convolution and once by bilinear resizing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


def double(cin, cout):
    """Two 3x3 convolutions, each with batch norm and a leaky ReLU."""
    layers = []
    for channels in (cin, cout):
        layers += [nn.Conv2d(channels, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.LeakyReLU(0.1)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.down1 = double(3, 8)
        self.down2 = double(8, 16)
        self.bottom = double(16, 32)
        self.up2 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.join2 = double(32, 16)
        self.squeeze = nn.Conv2d(16, 8, 1)
        self.join1 = double(16, 8)
        self.head = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        b = self.join2(torch.cat([self.up2(c), b], dim=1))
        up = F.interpolate(self.squeeze(b), scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.head(self.join1(torch.cat([up, a], dim=1)))


@seeded
def unet() -> Model:
    """Segmentation of a 48x64 RGB image into three classes."""
    return settle(UNet(3), torch.rand(8, 3, 48, 64)), (torch.rand(1, 3, 48, 64),)
