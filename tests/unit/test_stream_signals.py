"""What comes before a network that hears: frames, spectra and filters stream as the whole recording says."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.graph.streaming import FRAMES
from pilotlight.passes.pipeline import optimize
from pilotlight.stream import stream
from support.streaming import compared, integer_steps, offline_integers, quantized, steps_of


class Stft(nn.Module):
    def __init__(self, center: bool):
        super().__init__()
        self.center = center
        self.register_buffer("window", torch.hann_window(32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, 32, 16, window=self.window, center=self.center, return_complex=True).abs()


class Heard(nn.Module):
    """Log mels, a layer that looks ahead, and one that remembers."""

    def __init__(self):
        super().__init__()
        self.mels = pl.nn.LogMel(16000, n_fft=64, hop_length=32, n_mels=8, center=False)
        self.conv, self.gru = nn.Conv1d(8, 4, 3, padding=1), nn.GRU(4, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(torch.relu(self.conv(self.mels(x))).transpose(1, 2))[0]


@pytest.mark.parametrize(("net", "hop"), [
    (Stft(False), 16), (Stft(True), 32), (pl.nn.Spectrogram(64, hop_length=32), 32),
    (pl.nn.MelSpectrogram(16000, n_fft=64, hop_length=32, n_mels=8, center=False), 64), (Heard(), 32),
    (pl.nn.Biquad([[0.2, 0.3, 0.1, 1.0, -0.5, 0.2]]), 16), (pl.nn.RunningNorm(0.1), 16),
])
def test_signals_stream(net: nn.Module, hop: int) -> None:
    net, x = net.eval(), torch.randn(1, 320)
    step = stream(pl.capture(net, (x,)), -1, hop)
    assert step.streaming.outputs[0].kind == FRAMES
    rows = evaluate_runs(optimize(step.clone()), steps_of(x, hop))
    for got, want in compared(step, rows, [net(x).detach()]):
        assert bool((got - want).abs().max() <= 2e-5 * want.abs().max())


def test_log_mels_and_a_network_give_the_same_bytes() -> None:
    x = torch.randn(1, 320)
    graph = quantized(pl.capture(Heard().eval(), (x,)), x)
    step = stream(graph, -1, 64)
    for got, want in compared(step, integer_steps(step, x), offline_integers(graph, x)):
        assert torch.equal(got, want)
