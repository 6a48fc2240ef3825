"""Recurrent networks in integers: stacks, both directions, final states; nothing stays float."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.graph.evaluate import evaluate
from pilotlight.quantize import quantize
from support.c_compilers import SANITIZERS


class FinalStates(nn.Module):
    """The last layer's final states of both directions."""

    def __init__(self, kind: str):
        super().__init__()
        self.layer = getattr(nn, kind)(10, 12, 2, bidirectional=True, batch_first=True)
        self.last = nn.Linear(24, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, state = self.layer(x)
        hidden = state[0] if isinstance(state, tuple) else state
        return self.last(torch.cat([hidden[-2], hidden[-1]], -1))


class TwoReaders(nn.Module):
    """The final state and every step, for layers that want different scales."""

    def __init__(self, kind: str):
        super().__init__()
        self.layer = getattr(nn, kind)(10, 12, batch_first=True)
        self.last, self.every = nn.Linear(12, 4), nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, state = self.layer(x)
        hidden = state[0] if isinstance(state, tuple) else state
        return torch.cat([self.last(hidden[0]), self.every(y).mean(1)], -1)


class Steps(nn.Module):
    """Two layers, one after the other, averaged."""

    def __init__(self, kind: str):
        super().__init__()
        self.layer = getattr(nn, kind)(10, 12, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0].mean(1)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("model", [FinalStates, TwoReaders, Steps])
def test_every_layer_computes_in_integers(model: type[nn.Module], kind: str) -> None:
    torch.manual_seed(5)
    module = model(kind).eval()
    samples = [[torch.randn(2, 15, 10)] for _ in range(12)]
    graph = quantize(pl.capture(module, samples[0], "net"), samples)
    build = pl.compile(graph, float_io=True)
    assert not build.lowered.fallbacks
    signal = noise = 0.0
    with build.open("host", sanitize=SANITIZERS) as running, torch.no_grad():
        for row in samples[:4]:
            (y,) = running.flat(row)
            (reference,) = evaluate(build.lowered, row)
            assert torch.equal(y, reference)
            real = module(*row)
            signal += float(real.square().sum())
            noise += float((y - real).square().sum())
    assert signal > 300 * noise  # 25 dB
