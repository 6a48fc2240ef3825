"""Several inputs and several outputs: an image and a vector in, a dict with floats and an integer out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from seeding import Model, seeded, settle


class ImageAndVector(nn.Module):
    """The vector gates the image's features; the class is an int64, and the features go out as well."""

    def __init__(self, extra, channels, classes):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.gate = nn.Linear(extra, channels)
        self.head = nn.Linear(channels + extra, classes)
        nn.init.normal_(self.head.weight)  # scores that clearly differ

    def forward(self, image, vector):
        features = F.relu(self.norm(self.conv(image)))
        features = features * torch.sigmoid(self.gate(vector))[:, :, None, None]
        pooled = features.amax(dim=(2, 3))
        scores = torch.softmax(self.head(torch.cat([pooled, vector], dim=1)), dim=1)
        return {"scores": scores, "class": scores.argmax(dim=1), "features": features}


@seeded
def several() -> Model:
    """A 16x16 RGB image and 6 numbers in; 5 scores, the class and a feature map of 8x8x12 out."""
    net = settle(ImageAndVector(6, 12, 5), torch.rand(16, 3, 16, 16), torch.randn(16, 6))
    return net, (torch.rand(1, 3, 16, 16), torch.randn(1, 6))
