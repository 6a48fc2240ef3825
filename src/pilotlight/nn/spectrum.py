"""`pilotlight::spectrum`: frames of a signal, their spectra, and what features make of these, in one operator.

    spectrum(x, window, bank, n_fft, hop, scale, power, offset) -> y
        x (..., T)    window (win_length,), in the middle of n_fft samples    bank (n_fft/2 + 1, n_mels) or None
        y (..., frames, n_fft/2 + 1 or n_mels), frames = 1 + (T - n_fft) // hop

    s = |rfft(scale * window * frame)| ** power        y = s, s @ bank, log(s @ bank + offset)

It is one operator so that a compiler can work frame by frame: frames that overlap are never stored, a triangle of the
bank is visited only where it is not zero, and integers can take the place of all of it. Anything else that reads an
exported program gets PyTorch's own operators from `run_decompositions`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from pilotlight.nn.checks import refusal, whole

_library = torch.library.Library("pilotlight", "FRAGMENT")
_library.define(
    "spectrum(Tensor x, Tensor window, Tensor? bank, int n_fft, int hop, float scale, float power, float? offset)"
    " -> Tensor"
)


def _composed(
    x: torch.Tensor, window: torch.Tensor, bank: torch.Tensor | None, n_fft: int, hop: int, scale: float,
    power: float, offset: float | None,
) -> torch.Tensor:
    spectra = complex_spectra(x, window, n_fft, hop, scale)
    if power == 2.0:
        s = spectra.real**2 + spectra.imag**2
    else:
        s = spectra.abs() if power == 1.0 else spectra.abs() ** power
    if bank is not None:
        s = s @ bank
    return s if offset is None else torch.log(s + offset)


_library.impl("spectrum", _composed, "CompositeImplicitAutograd")


def complex_spectra(x: torch.Tensor, window: torch.Tensor, n_fft: int, hop: int, scale: float) -> torch.Tensor:
    """(..., frames, n_fft/2 + 1), complex."""
    before = (n_fft - window.shape[0]) // 2
    padded = F.pad(window * scale, (before, n_fft - window.shape[0] - before))
    return torch.fft.rfft(x.unfold(-1, n_fft, hop) * padded)


def spectrum(
    x: torch.Tensor, window: torch.Tensor, bank: torch.Tensor | None = None, *, n_fft: int, hop: int,
    scale: float = 1.0, power: float = 2.0, offset: float | None = None,
) -> torch.Tensor:
    """The operator, with its arguments checked."""
    whole("hop", hop)
    if window.ndim != 1 or not 1 <= window.shape[0] <= n_fft:
        raise refusal(f"a window of 1 to {n_fft} samples is expected, not of shape {tuple(window.shape)}")
    if bank is not None and (bank.ndim != 2 or bank.shape[0] != n_fft // 2 + 1):
        raise refusal(f"a filter bank of {n_fft // 2 + 1} rows is expected, not of shape {tuple(bank.shape)}")
    result: torch.Tensor = torch.ops.pilotlight.spectrum(x, window, bank, n_fft, hop, scale, power, offset)
    return result
