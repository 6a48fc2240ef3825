"""Levels that follow the signal: running mean and variance, and per-channel energy normalization."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from pilotlight.nn.checks import is_signal, positive, refusal
from pilotlight.nn.filters import Recursion


def _smoothing(share: float) -> tuple[torch.Tensor, torch.Tensor]:
    """m[t] = (1 - share) * m[t-1] + share * x[t], as a section."""
    if not 0 < share <= 1:
        raise refusal(f"the share of a new sample must be above 0 and at most 1, not {share:g}")
    return torch.tensor([[share, 0.0, 0.0]]), torch.tensor([[1.0, share - 1.0, 0.0]])


class _Average(Recursion):
    """An exponential average over time; it starts from a given average, or from the first sample."""

    def __init__(self, share: float, state: Sequence[int] | None, start: float | None = None):
        super().__init__(*_smoothing(share), state)
        self.start = start

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = x[..., :1] if self.start is None else torch.full_like(x[..., :1], self.start)
        return self.filtered(x, torch.stack((-self.a[0, 1] * before, torch.zeros_like(before)), -1))


class RunningNorm(torch.nn.Module):
    """(x - mean) / sqrt(variance + eps) with exponential averages of a signal (..., time), its last sample included.

        d = x[t] - mean[t-1]        mean[t] = mean[t-1] + share*d        var[t] = (1 - share) * (var[t-1] + share*d²)

    Mean 0 and variance 1 come before the first sample. With `state`, the dimensions before time, they are kept over
    calls.
    """

    def __init__(self, share: float = 0.01, eps: float = 1e-5, state: Sequence[int] | None = None):
        super().__init__()
        self.eps, self.share = positive("eps", eps), share
        self.mean = _Average(share, state, 0.0)
        self.variance = _Average(share, state, 1.0)
        if share == 1:
            raise refusal("the share of a new sample must be below 1: nothing else would be left")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        is_signal(x, 1, "RunningNorm")
        rest = x - self.mean(x)  # (1 - share) * d
        variance = self.variance(rest * rest / (1.0 - self.share))
        return rest / torch.sqrt(variance + self.eps)

    def reset(self) -> None:
        """Forget the signal so far."""
        self.mean.reset()
        self.variance.reset()


class PCEN(torch.nn.Module):
    """Per-channel energy normalization of energies (..., channels, frames), instead of a logarithm:

        m[t] = (1 - smooth) * m[t-1] + smooth * e[t]        (e / (eps + m)**gain + bias)**power - bias**power

    The average starts from the first frame. With `state`, the dimensions before frames, it is kept over calls; with
    `trainable`, gain, bias and power are parameters.
    """

    def __init__(
        self, smooth: float = 0.025, gain: float = 0.98, bias: float = 2.0, power: float = 0.5, eps: float = 1e-6,
        trainable: bool = False, state: Sequence[int] | None = None,
    ):
        super().__init__()
        self.eps = positive("eps", eps)
        self.average = _Average(smooth, state)
        for name, number in (("gain", gain), ("bias", bias), ("power", power)):
            value = torch.tensor(positive(name, number))
            if trainable:
                self.register_parameter(name, torch.nn.Parameter(value))
            else:
                self.register_buffer(name, value)
        self.gain: torch.Tensor
        self.bias: torch.Tensor
        self.power: torch.Tensor

    def forward(self, energy: torch.Tensor) -> torch.Tensor:
        is_signal(energy, 1, "PCEN")
        level = torch.exp(-self.gain * torch.log(self.eps + self.average(energy)))
        return (energy * level + self.bias) ** self.power - self.bias**self.power

    def reset(self) -> None:
        """Forget the signal so far."""
        self.average.reset()
