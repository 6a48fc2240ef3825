"""Mel spectrograms, their logarithms, and cepstra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from pilotlight.nn.checks import one_of, positive, refusal, whole
from pilotlight.nn.mel import dct_matrix, mel_filters
from pilotlight.nn.spectrogram import Spectrogram

LOG_OFFSET = 1e-6  # torchaudio's in MFCC(log_mels=True)


class MelScale(torch.nn.Module):
    """torchaudio.transforms.MelScale: a spectrogram (..., n_stft, frames) to (..., n_mels, frames)."""

    def __init__(
        self, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0, f_max: float | None = None,
        n_stft: int = 201, norm: str | None = None, mel_scale: str = "htk",
    ):
        super().__init__()
        self.sample_rate = whole("sample_rate", sample_rate)
        top = float(sample_rate // 2) if f_max is None else f_max
        self.register_buffer("fb", mel_filters(n_stft, f_min, top, n_mels, sample_rate, norm, mel_scale))
        self.fb: torch.Tensor

    def forward(self, spectrogram: torch.Tensor) -> torch.Tensor:
        if spectrogram.ndim < 2 or spectrogram.shape[-2] != self.fb.shape[0]:
            raise refusal(
                f"a spectrogram of {self.fb.shape[0]} frequencies is expected, (..., frequencies, frames), not "
                f"{tuple(spectrogram.shape)}",
                "n_stft is n_fft // 2 + 1 of the spectrogram",
            )
        return (spectrogram.transpose(-1, -2) @ self.fb).transpose(-1, -2)


class MelSpectrogram(torch.nn.Module):
    """torchaudio.transforms.MelSpectrogram: (..., time) to (..., n_mels, frames)."""

    def __init__(
        self, sample_rate: int = 16000, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
        f_min: float = 0.0, f_max: float | None = None, pad: int = 0, n_mels: int = 128,
        window_fn: Callable[..., torch.Tensor] = torch.hann_window, power: float = 2.0,
        normalized: bool | str = False, wkwargs: Mapping[str, Any] | None = None, center: bool = True,
        pad_mode: str = "reflect", norm: str | None = None, mel_scale: str = "htk",
    ):
        super().__init__()
        self.spectrogram = Spectrogram(
            n_fft, win_length, hop_length, pad, window_fn, positive("power", power), normalized, wkwargs, center,
            pad_mode,
        )
        self.mel_scale = MelScale(n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1, norm, mel_scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.spectrogram.spectrum(x, self.mel_scale.fb).transpose(-1, -2)


class LogMel(MelSpectrogram):
    """log(mel + offset) of a MelSpectrogram with the same arguments.

    Compiled in int8 it takes 16-bit samples and needs no float: see docs/signals.md.
    """

    def __init__(self, *args: Any, offset: float = LOG_OFFSET, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offset = positive("offset", offset)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.spectrogram.spectrum(x, self.mel_scale.fb, self.offset).transpose(-1, -2)

    def extra_repr(self) -> str:
        return f"offset={self.offset:g}"


class AmplitudeToDB(torch.nn.Module):
    """torchaudio.transforms.AmplitudeToDB: decibels of power or magnitude, at most `top_db` below the loudest."""

    AMIN = 1e-10

    def __init__(self, stype: str = "power", top_db: float | None = None):
        super().__init__()
        one_of("stype", stype, ("power", "magnitude"))
        if top_db is not None and top_db < 0:
            raise refusal(f"top_db must not be negative, and is {top_db:g}")
        self.stype, self.top_db = stype, top_db
        self.factor = 10.0 if stype == "power" else 20.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        db = self.factor * torch.log10(torch.clamp(x, min=self.AMIN))
        if self.top_db is None:
            return db
        together = tuple(range(-min(x.ndim, 3), 0))  # channels, frequencies and frames of one recording
        return torch.maximum(db, db.amax(together, keepdim=True) - self.top_db)

    def extra_repr(self) -> str:
        return f"stype={self.stype!r}, top_db={self.top_db}"


class MFCC(torch.nn.Module):
    """torchaudio.transforms.MFCC: (..., time) to (..., n_mfcc, frames).

    In int8 with `log_mels=True` only: decibels down to `top_db` depend on the whole recording.
    """

    def __init__(
        self, sample_rate: int = 16000, n_mfcc: int = 40, dct_type: int = 2, norm: str | None = "ortho",
        log_mels: bool = False, melkwargs: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        if dct_type != 2:
            raise refusal(f"dct_type must be 2, not {dct_type!r}")
        options = dict(melkwargs or {})
        n_mels = options.get("n_mels", 128)
        if whole("n_mfcc", n_mfcc) > n_mels:
            raise refusal(f"n_mfcc must be at most n_mels, {n_mels}, not {n_mfcc}")
        self.log_mels = log_mels
        self.MelSpectrogram = (LogMel if log_mels else MelSpectrogram)(sample_rate, **options)
        self.amplitude_to_DB = None if log_mels else AmplitudeToDB("power", 80.0)
        self.register_buffer("dct_mat", dct_matrix(n_mfcc, n_mels, norm))
        self.dct_mat: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mels = self.MelSpectrogram(x)
        if self.amplitude_to_DB is not None:
            mels = self.amplitude_to_DB(mels)
        return torch.nn.functional.linear(mels.transpose(-1, -2), self.dct_mat.T).transpose(-1, -2)
