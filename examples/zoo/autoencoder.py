"""A convolutional autoencoder: strided convolutions down to a short code, transposed ones back up."""

from __future__ import annotations

import torch
from torch import nn

from seeding import Model, seeded, settle


class Autoencoder(nn.Module):
    def __init__(self, code):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.SiLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
            nn.Flatten(), nn.Linear(16 * 7 * 7, code),
        )
        self.decoder = nn.Sequential(
            nn.Linear(code, 16 * 7 * 7), nn.ReLU(), nn.Unflatten(1, (16, 7, 7)),
            nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1),
            nn.BatchNorm2d(8), nn.PReLU(8),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Sigmoid(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


@seeded
def autoencoder() -> Model:
    """A 28x28 image through a code of 16 numbers."""
    return settle(Autoencoder(16), torch.rand(16, 1, 28, 28)), (torch.rand(1, 1, 28, 28),)
