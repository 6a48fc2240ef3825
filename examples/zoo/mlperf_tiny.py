"""The four networks of MLPerf Tiny with random weights and batch norm still in place.

TensorFlow's "SAME" padding of a strided convolution is asymmetric; it is written out as F.pad.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


class ConvBN(nn.Module):
    """Convolution, batch norm and mostly ReLU; `pad` is (left, right, top, bottom) where not symmetric."""

    def __init__(self, cin, cout, kernel, stride=1, padding=0, groups=1, pad=None, bias=False, relu=True):
        super().__init__()
        self.pad = pad
        self.relu = relu
        self.conv = nn.Conv2d(cin, cout, kernel, stride, padding, groups=groups, bias=bias)
        self.norm = nn.BatchNorm2d(cout)

    def forward(self, x):
        if self.pad is not None:
            x = F.pad(x, self.pad)
        x = self.norm(self.conv(x))
        return F.relu(x) if self.relu else x


def conv3x3(cin, cout, stride=1, **options):
    """A 3x3 "SAME" convolution; with stride 2 on an even size that pads right and below only."""
    if stride == 1:
        return ConvBN(cin, cout, 3, padding=1, **options)
    return ConvBN(cin, cout, 3, stride, pad=(0, 1, 0, 1), **options)


def separable(cin, cout, stride=1, bias=False):
    """Depthwise 3x3, then pointwise 1x1, each with batch norm and ReLU."""
    return nn.Sequential(conv3x3(cin, cin, stride, groups=cin, bias=bias), ConvBN(cin, cout, 1, bias=bias))


class Classifier(nn.Module):
    """Features, the average over all positions, one linear layer, softmax."""

    def __init__(self, features, pool, channels, classes, dropout=0.0):
        super().__init__()
        self.features = features
        self.pool = nn.AvgPool2d(pool)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(channels, classes)
        nn.init.normal_(self.fc.weight, std=2 * channels**-0.5)  # scores that clearly differ

    def forward(self, x):
        x = self.dropout(self.pool(self.features(x)))
        return F.softmax(self.fc(torch.flatten(x, 1)), dim=1)


@seeded
def kws() -> Model:
    """Keyword spotting, DS-CNN: 49 frames of 10 MFCCs, 12 words. Convolutions have a bias before the norm."""
    stem = ConvBN(1, 64, (10, 4), stride=2, pad=(1, 1, 4, 5), bias=True)
    blocks = [separable(64, 64, bias=True) for _ in range(4)]
    net = Classifier(nn.Sequential(stem, nn.Dropout(0.2), *blocks), (25, 5), 64, 12, dropout=0.4)
    return settle(net, torch.randn(16, 1, 49, 10)), (torch.randn(1, 1, 49, 10),)


@seeded
def vww() -> Model:
    """Visual wake words, MobileNetV1 x0.25: a 96x96 RGB image, person or not."""
    widths = (32, 64, 128, 256)
    layers = [conv3x3(3, 8, stride=2), separable(8, 16)]
    channels = 16
    for width, repeats in zip(widths, (2, 2, 6, 2), strict=True):
        layers.append(separable(channels, width, stride=2))
        layers += [separable(width, width) for _ in range(repeats - 1)]
        channels = width
    net = Classifier(nn.Sequential(*layers), 3, 256, 2)
    return settle(net, torch.rand(16, 3, 96, 96)), (torch.rand(1, 3, 96, 96),)


class Residual(nn.Module):
    """Two 3x3 convolutions beside the input, which passes a bare 1x1 convolution where the shape changes."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = conv3x3(cin, cout, stride, bias=True)
        self.conv2 = conv3x3(cout, cout, bias=True, relu=False)
        self.skip = nn.Identity() if stride == 1 else nn.Conv2d(cin, cout, 1, stride)

    def forward(self, x):
        return F.relu(self.skip(x) + self.conv2(self.conv1(x)))


@seeded
def ic() -> Model:
    """Image classification, ResNet-8: a 32x32 RGB image, 10 classes."""
    blocks = [Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2)]
    net = Classifier(nn.Sequential(conv3x3(3, 16, bias=True), *blocks), 8, 64, 10)
    return settle(net, torch.rand(16, 3, 32, 32)), (torch.rand(1, 3, 32, 32),)


@seeded
def ad() -> Model:
    """Anomaly detection, a dense autoencoder: 5 frames of 128 log-mel energies in, the same reconstructed."""
    layers: list[nn.Module] = []
    sizes = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128]
    for cin, cout in pairwise(sizes):
        layers += [nn.Linear(cin, cout), nn.BatchNorm1d(cout), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Linear(128, 640))
    return settle(net, torch.randn(64, 640)), (torch.randn(1, 640),)
