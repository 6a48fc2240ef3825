"""Which key of a telephone is pressed: the power at the eight frequencies of its keypad, in 205 samples at 8 kHz."""

import math

import torch
from goertzel import goertzel
from torch import nn

ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
RATE, SAMPLES = 8000, 205


class Tones(nn.Module):
    """Samples (batch, 205) → the row and the column of the key."""

    def __init__(self):
        super().__init__()
        turns = [2 * math.cos(2 * math.pi * f / RATE) for f in (*ROWS, *COLUMNS)]
        self.register_buffer("turns", torch.tensor(turns))

    def forward(self, x):
        power = goertzel(x, self.turns)
        return power[:, :4].argmax(-1), power[:, 4:].argmax(-1)


def key(row, column):
    """A key's two tones with a little noise."""
    n = torch.arange(SAMPLES) / RATE
    tones = torch.sin(2 * math.pi * ROWS[row] * n) + torch.sin(2 * math.pi * COLUMNS[column] * n)
    return tones + 0.1 * torch.randn(SAMPLES)


def tones():
    return Tones(), (torch.stack([key(1, 2), key(3, 0)]),)
