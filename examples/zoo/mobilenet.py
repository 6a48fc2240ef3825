"""MobileNetV2 (inverted residuals, ReLU6) and MobileNetV3-small (squeeze-excite, hardswish)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


def width(channels, multiplier, divisor=8):
    """The nearest multiple of eight, but never more than ten percent below what was asked for."""
    wanted = channels * multiplier
    rounded = max(divisor, int(wanted + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * wanted else rounded


def conv_bn(cin, cout, kernel, stride=1, groups=1, act: type[nn.Module] | None = None):
    conv = nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(cout), *([act(inplace=True)] if act else []))


class SqueezeExcite(nn.Module):
    """Scales each channel by a number made from the average of all channels."""

    def __init__(self, channels):
        super().__init__()
        inner = width(channels, 0.25)
        self.fc1 = nn.Conv2d(channels, inner, 1)
        self.fc2 = nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        scale = F.adaptive_avg_pool2d(x, 1)
        return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(scale))))


class InvertedResidual(nn.Module):
    """Expand by 1x1, filter each channel, project back by 1x1; added to the input where shapes allow."""

    def __init__(self, cin, hidden, cout, kernel, stride, act, excite=False):
        super().__init__()
        self.add = stride == 1 and cin == cout
        layers = [] if hidden == cin else [conv_bn(cin, hidden, 1, act=act)]
        layers.append(conv_bn(hidden, hidden, kernel, stride, groups=hidden, act=act))
        if excite:
            layers.append(SqueezeExcite(hidden))
        layers.append(conv_bn(hidden, cout, 1))
        self.block = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.block(x) if self.add else self.block(x)


class MobileNetV2(nn.Module):
    # expansion, channels, repeats, stride of the first
    STAGES = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )

    def __init__(self, multiplier, classes):
        super().__init__()
        channels = width(32, multiplier)
        layers = [conv_bn(3, channels, 3, 2, act=nn.ReLU6)]
        for expansion, out, repeats, stride in self.STAGES:
            cout = width(out, multiplier)
            for step in (stride, *[1] * (repeats - 1)):
                layers.append(InvertedResidual(channels, channels * expansion, cout, 3, step, nn.ReLU6))
                channels = cout
        self.features = nn.Sequential(*layers, conv_bn(channels, 1280, 1, act=nn.ReLU6))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class MobileNetV3Small(nn.Module):
    # kernel, hidden, channels, squeeze-excite, activation, stride
    BLOCKS = (
        (3, 16, 16, True, nn.ReLU, 2),
        (3, 72, 24, False, nn.ReLU, 2),
        (3, 88, 24, False, nn.ReLU, 1),
        (5, 96, 40, True, nn.Hardswish, 2),
        (5, 240, 40, True, nn.Hardswish, 1),
        (5, 240, 40, True, nn.Hardswish, 1),
        (5, 120, 48, True, nn.Hardswish, 1),
        (5, 144, 48, True, nn.Hardswish, 1),
        (5, 288, 96, True, nn.Hardswish, 2),
        (5, 576, 96, True, nn.Hardswish, 1),
        (5, 576, 96, True, nn.Hardswish, 1),
    )

    def __init__(self, multiplier, classes):
        super().__init__()
        channels = width(16, multiplier)
        layers = [conv_bn(3, channels, 3, 2, act=nn.Hardswish)]
        for kernel, hidden, out, excite, act, stride in self.BLOCKS:
            inner, cout = width(hidden, multiplier), width(out, multiplier)
            layers.append(InvertedResidual(channels, inner, cout, kernel, stride, act, excite))
            channels = cout
        last = channels * 6
        self.features = nn.Sequential(*layers, conv_bn(channels, last, 1, act=nn.Hardswish))
        hidden = width(1024, multiplier)
        self.classifier = nn.Sequential(
            nn.Linear(last, hidden), nn.Hardswish(inplace=True), nn.Dropout(0.2), nn.Linear(hidden, classes)
        )

    def forward(self, x):
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(self.features(x), 1), 1))


@seeded
def mobilenet_v2() -> Model:
    """MobileNetV2 x0.35 at 96x96. Ten classes, not a thousand: those alone would take 5 MB of flash."""
    net = MobileNetV2(0.35, classes=10)
    return settle(net, torch.rand(8, 3, 96, 96)), (torch.rand(1, 3, 96, 96),)


@seeded
def mobilenet_v3() -> Model:
    """MobileNetV3-small x0.5 at 64x64, ten classes."""
    net = MobileNetV3Small(0.5, classes=10)
    return settle(net, torch.rand(16, 3, 64, 64)), (torch.rand(1, 3, 64, 64),)
