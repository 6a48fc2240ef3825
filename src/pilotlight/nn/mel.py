"""Mel scales, filter banks and the cosine transform, as torchaudio defines them."""

from __future__ import annotations

import math
import warnings

import torch

from pilotlight.nn.checks import one_of, refusal, up_to_nyquist, whole

SCALES = ("htk", "slaney")
BREAK_HZ, BREAK_MEL = 1000.0, 15.0  # where Slaney's scale turns from linear to logarithmic
STEP = math.log(6.4) / 27


def hz_to_mel(hz: torch.Tensor, scale: str = "htk") -> torch.Tensor:
    """Frequencies as mel, by HTK's formula or by that of Slaney's Auditory Toolbox."""
    one_of("mel_scale", scale, SCALES)
    if scale == "htk":
        return 2595.0 * torch.log10(1.0 + hz / 700.0)
    above = BREAK_MEL + torch.log(hz.clamp(min=BREAK_HZ) / BREAK_HZ) / STEP
    return torch.where(hz >= BREAK_HZ, above, hz * BREAK_MEL / BREAK_HZ)


def mel_to_hz(mel: torch.Tensor, scale: str = "htk") -> torch.Tensor:
    one_of("mel_scale", scale, SCALES)
    if scale == "htk":
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    above = BREAK_HZ * torch.exp(STEP * (mel - BREAK_MEL))
    return torch.where(mel >= BREAK_MEL, above, mel * BREAK_HZ / BREAK_MEL)


def mel_filters(
    n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int, norm: str | None = None,
    mel_scale: str = "htk",
) -> torch.Tensor:
    """Triangles (n_freqs, n_mels), computed in float64. A filter that no frequency falls into is warned about."""
    whole("n_freqs", n_freqs, 2)
    whole("n_mels", n_mels)
    one_of("norm", norm, (None, "slaney"))
    up_to_nyquist("f_max", f_max, sample_rate)
    if not 0 <= f_min < f_max:
        raise refusal(f"f_min must be at least 0 and below f_max, {f_max:g}, not {f_min:g}")
    bins = torch.linspace(0, sample_rate // 2, n_freqs, dtype=torch.float64)
    low, high = hz_to_mel(torch.tensor([f_min, f_max], dtype=torch.float64), mel_scale)
    corners = mel_to_hz(torch.linspace(float(low), float(high), n_mels + 2, dtype=torch.float64), mel_scale)
    widths = corners.diff()
    distance = corners[None] - bins[:, None]  # (n_freqs, n_mels + 2)
    rising, falling = -distance[:, :-2] / widths[:-1], distance[:, 2:] / widths[1:]
    bank = torch.minimum(rising, falling).clamp(min=0.0)
    if norm == "slaney":
        bank = bank * (2.0 / (corners[2:] - corners[:-2]))
    empty = (bank.amax(0) == 0).nonzero().flatten().tolist()
    if empty:
        warnings.warn(
            f"mel filter {empty[0]} of {n_mels} ({corners[empty[0]]:.0f} to {corners[empty[0] + 2]:.0f} Hz) is empty: "
            f"the {n_freqs} frequencies are {sample_rate / 2 / (n_freqs - 1):.0f} Hz apart; {len(empty)} filters "
            "always give 0. Give fewer mels or a larger n_fft",
            stacklevel=2,
        )
    return bank.to(torch.float32)


def dct_matrix(n_mfcc: int, n_mels: int, norm: str | None = "ortho") -> torch.Tensor:
    """The cosine transform of type II as a matrix (n_mels, n_mfcc)."""
    one_of("norm", norm, (None, "ortho"))
    n = torch.arange(n_mels, dtype=torch.float64)[:, None]
    k = torch.arange(n_mfcc, dtype=torch.float64)[None]
    matrix = torch.cos(math.pi / n_mels * (n + 0.5) * k)
    if norm is None:
        return (2.0 * matrix).to(torch.float32)
    matrix[:, 0] /= math.sqrt(2.0)
    return (matrix * math.sqrt(2.0 / n_mels)).to(torch.float32)
