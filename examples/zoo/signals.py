"""Nets for signals over time: a 1D-CNN on a window, and a dilated TCN that takes one frame at a time."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


@seeded
def cnn1d() -> Model:
    """Six accelerometer and gyroscope channels over 128 samples, six activities."""
    net = nn.Sequential(
        nn.Conv1d(6, 16, 7, stride=2, padding=3), nn.BatchNorm1d(16), nn.ReLU(),
        nn.MaxPool1d(2),
        nn.Conv1d(16, 32, 5, padding="same"), nn.BatchNorm1d(32), nn.ELU(),
        nn.MaxPool1d(3, stride=2, padding=1),
        nn.Conv1d(32, 32, 3, padding=2, dilation=2, groups=4), nn.ReLU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        nn.Linear(128, 6),
    )
    return settle(net, torch.randn(32, 6, 128)), (torch.randn(1, 6, 128),)


class CausalConv(nn.Module):
    """A dilated convolution over the past, one step at a time.

    `past` holds the last (kernel - 1) * dilation inputs, oldest first; each call shifts the new one in.
    """

    def __init__(self, channels, kernel, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.register_buffer("past", torch.zeros(1, channels, (kernel - 1) * dilation))

    def forward(self, x):  # (1, C, 1)
        window = torch.cat([self.past, x], dim=2)
        self.past.copy_(window[:, :, 1:])
        return self.conv(window)


class StreamingTCN(nn.Module):
    """Residual dilated layers with dilation 1, 2, 4, 8: each answer depends on the last 31 frames."""

    def __init__(self, features, channels, classes):
        super().__init__()
        self.inlet = nn.Conv1d(features, channels, 1)
        self.layers = nn.ModuleList(CausalConv(channels, 3, 2**i) for i in range(4))
        self.outlet = nn.Linear(channels, classes)

    def forward(self, frame):  # (1, features)
        x = self.inlet(frame.unsqueeze(2))
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return self.outlet(x.squeeze(2))


@seeded
def tcn() -> Model:
    """A frame of 20 features in, scores of 8 classes out; the past lives in buffers."""
    return StreamingTCN(20, 32, 8), (torch.randn(1, 20),)
