"""SqueezeNet 1.1: fire modules (a 1x1 squeeze, then 1x1 and 3x3 side by side), pooling that rounds up."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded


class Fire(nn.Module):
    def __init__(self, cin, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(cin, squeeze, 1)
        self.expand1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], dim=1)


def pool():
    return nn.MaxPool2d(3, stride=2, ceil_mode=True)


class SqueezeNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, stride=2), nn.ReLU(inplace=True), pool(),
            Fire(64, 16, 64), Fire(128, 16, 64), pool(),
            Fire(128, 32, 128), Fire(256, 32, 128), pool(),
            Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(0.5), nn.Conv2d(512, classes, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)
        )

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


@seeded
def squeezenet() -> Model:
    """SqueezeNet 1.1 at 64x64 with 10 classes.

    With 1000 classes it has 1.24 M parameters, 4.9 MB in float32: too much for 4 MB of flash. The ten
    classes change the last layer alone and leave 0.73 M parameters, 2.9 MB.
    """
    net = SqueezeNet(10)
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
            nn.init.normal_(layer.bias, 0.05, 0.1)
    return net, (torch.randn(1, 3, 64, 64),)
