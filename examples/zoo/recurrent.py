"""Classifiers over a sequence: LSTM, two-layer bidirectional LSTM, GRU."""

from __future__ import annotations

import torch
from torch import nn

from seeding import Model, seeded


class LastStep(nn.Module):
    """Scores from the recurrent net's output at the last step."""

    def __init__(self, rnn, features, classes):
        super().__init__()
        self.rnn = rnn
        self.fc = nn.Linear(features, classes)

    def forward(self, x):  # (N, T, I)
        out, _ = self.rnn(x)
        return self.fc(out[:, -1])


class FinalHidden(nn.Module):
    """Scores from the last layer's final hidden states, forward and backward side by side."""

    def __init__(self, rnn, features, classes):
        super().__init__()
        self.rnn = rnn
        self.fc = nn.Linear(features, classes)

    def forward(self, x):  # (T, N, I)
        _, (h, _) = self.rnn(x)
        return self.fc(torch.cat([h[-2], h[-1]], dim=1))


@seeded
def lstm() -> Model:
    """One layer, batch first: 24 steps of 16 features, 8 classes."""
    return LastStep(nn.LSTM(16, 32, batch_first=True), 32, 8), (torch.randn(1, 24, 16),)


@seeded
def bilstm() -> Model:
    """Two layers in both directions, time first; dropout between the layers is off in eval mode."""
    rnn = nn.LSTM(16, 24, num_layers=2, bidirectional=True, dropout=0.3)
    return FinalHidden(rnn, 48, 8), (torch.randn(20, 1, 16),)


@seeded
def gru() -> Model:
    """One layer, batch first: 24 steps of 16 features, 8 classes."""
    return LastStep(nn.GRU(16, 40, batch_first=True), 40, 8), (torch.randn(1, 24, 16),)
