"""Small and old: a multilayer perceptron, LeNet, AlexNet, and a softmax with nothing around it."""

from __future__ import annotations

import torch
from torch import nn

from seeding import Model, seeded


@seeded
def mlp() -> Model:
    """Three linear layers on 64 features."""
    net = nn.Sequential(
        nn.Linear(64, 48), nn.ReLU(),
        nn.Linear(48, 32), nn.Tanh(),
        nn.Linear(32, 10), nn.LogSoftmax(dim=1),
    )
    return net, (torch.randn(1, 64),)


@seeded
def lenet() -> Model:
    """LeNet-5 on a 28x28 image: tanh and average pooling, as in 1998."""
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120), nn.Tanh(),
        nn.Linear(120, 84), nn.Tanh(),
        nn.Linear(84, 10),
    )
    return net, (torch.randn(1, 1, 28, 28),)


class AlexNet(nn.Module):
    """The one-column form: five convolutions, three linear layers, 61 M parameters."""

    def __init__(self, classes=1000):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(inplace=True),
            nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(inplace=True),
            nn.Linear(4096, classes),
        )

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


@seeded
def alexnet() -> Model:
    """AlexNet at 224x224: 244 MB of weights, so for the host only."""
    return AlexNet(), (torch.randn(1, 3, 224, 224),)


@seeded
def softmax_only() -> Model:
    """Nothing but a softmax; the smallest model there is, and it has no weights."""
    return nn.Softmax(dim=-1), (4 * torch.randn(3, 10),)
