"""Frames of a signal and their spectra."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from pilotlight.nn.checks import has_lead, is_signal, one_of, positive, refusal, whole
from pilotlight.nn.spectrum import complex_spectra, spectrum

PADDINGS = ("reflect", "constant", "replicate", "circular")


class Framing(torch.nn.Module):
    """Frames (..., frames, length) of a signal (..., time), `hop` samples apart.

    With `state`, the dimensions before time, the samples that later frames need are kept over calls, silence at first:
    each call takes a multiple of `hop` samples and gives a frame for every `hop` of them.
    """

    def __init__(self, length: int, hop: int, state: Sequence[int] | None = None):
        super().__init__()
        self.length, self.hop = whole("length", length), whole("hop", hop)
        self.state = None if state is None else tuple(state)
        if self.state is not None:
            if hop > length:
                raise refusal(f"frames with state overlap or touch: hop must be at most {length}, not {hop}")
            self.register_buffer("kept", torch.zeros(*self.state, length - hop))
        self.kept: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.state is None:
            is_signal(x, self.length, "Framing")
            return x.unfold(-1, self.length, self.hop)
        is_signal(x, self.hop, "Framing")
        has_lead(x, self.state, "Framing")
        if x.shape[-1] % self.hop:
            raise refusal(f"Framing with state takes a multiple of {self.hop} samples, and got {x.shape[-1]}")
        longer = torch.cat((self.kept, x), -1)
        self.kept.copy_(longer[..., x.shape[-1] :].detach())
        return longer.unfold(-1, self.length, self.hop)

    def reset(self) -> None:
        """Forget the signal so far."""
        if self.state is not None:
            self.kept.zero_()

    def extra_repr(self) -> str:
        return f"length={self.length}, hop={self.hop}" + ("" if self.state is None else f", state={self.state}")


class Spectrogram(torch.nn.Module):
    """torchaudio.transforms.Spectrogram: (..., time) to (..., n_fft/2 + 1, frames).

    `power` is 2 for power, 1 for magnitude, None for complex numbers. `center` pads the signal so that frame k is
    centred at sample k*hop; without it frames start there, as a model that hears sound live wants it.
    """

    def __init__(
        self, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None, pad: int = 0,
        window_fn: Callable[..., torch.Tensor] = torch.hann_window, power: float | None = 2.0,
        normalized: bool | str = False, wkwargs: Mapping[str, Any] | None = None, center: bool = True,
        pad_mode: str = "reflect",
    ):
        super().__init__()
        self.n_fft = whole("n_fft", n_fft, 2)
        self.win_length = whole("win_length", n_fft if win_length is None else win_length)
        self.hop_length = whole("hop_length", max(self.win_length // 2, 1) if hop_length is None else hop_length)
        self.pad = whole("pad", pad, 0)
        if self.win_length > n_fft:
            raise refusal(f"win_length must be at most n_fft, {n_fft}, not {win_length}", "give a larger n_fft")
        self.power = None if power is None else positive("power", power)
        one_of("normalized", normalized, (False, True, "window", "frame_length"))
        one_of("pad_mode", pad_mode, PADDINGS)
        self.normalized, self.center, self.pad_mode = normalized, center, pad_mode
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))
        self.window: torch.Tensor
        self.scale = self._scale()

    def _scale(self) -> float:
        """What the window is multiplied with: True and "window" make its squares add up to 1."""
        if self.normalized == "frame_length":
            return float(self.n_fft**-0.5)
        return float(self.window.double().square().sum() ** -0.5) if self.normalized else 1.0

    def padded(self, x: torch.Tensor) -> torch.Tensor:
        """The signal that is cut into frames."""
        half = self.n_fft // 2 if self.center else 0
        reach = {"reflect": half + 1, "circular": half}.get(self.pad_mode, 1) if half else 1
        is_signal(x, max(self.n_fft - 2 * half, reach) - 2 * self.pad, "a spectrogram of this n_fft")
        if self.pad:
            x = F.pad(x, (self.pad, self.pad))
        if half:
            lead = x.shape[:-1]
            x = F.pad(x.reshape(1, -1, x.shape[-1]), (half, half), self.pad_mode).reshape(*lead, -1)
        return x

    def spectrum(self, x: torch.Tensor, bank: torch.Tensor | None = None, offset: float | None = None) -> torch.Tensor:
        """(..., frames, bins): what the operator of the same name gives."""
        assert self.power is not None
        return spectrum(
            self.padded(x), self.window, bank, n_fft=self.n_fft, hop=self.hop_length, scale=self.scale,
            power=self.power, offset=offset,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.power is None:
            spectra = complex_spectra(self.padded(x), self.window, self.n_fft, self.hop_length, self.scale)
            return spectra.transpose(-1, -2)
        return self.spectrum(x).transpose(-1, -2)

    def extra_repr(self) -> str:
        return (
            f"n_fft={self.n_fft}, win_length={self.win_length}, hop_length={self.hop_length}, power={self.power}, "
            f"center={self.center}"
        )
