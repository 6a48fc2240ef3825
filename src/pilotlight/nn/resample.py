"""Another sample rate."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from pilotlight.nn.checks import is_signal, one_of, refusal, whole

HANN, KAISER = "sinc_interp_hann", "sinc_interp_kaiser"
BETA = 14.769656459379492  # torchaudio's, of Kaiser's window


class Resample(torch.nn.Module):
    """torchaudio.transforms.Resample: a windowed sinc as one convolution with a filter for each phase."""

    def __init__(
        self, orig_freq: int = 16000, new_freq: int = 16000, resampling_method: str = HANN,
        lowpass_filter_width: int = 6, rolloff: float = 0.99, beta: float | None = None,
    ):
        super().__init__()
        common = math.gcd(whole("orig_freq", orig_freq), whole("new_freq", new_freq))
        self.orig, self.new = orig_freq // common, new_freq // common
        whole("lowpass_filter_width", lowpass_filter_width)
        if not 0 < rolloff <= 1:
            raise refusal(f"rolloff must be above 0 and at most 1, not {rolloff:g}")
        one_of("resampling_method", resampling_method, (HANN, KAISER))
        cutoff = min(self.orig, self.new) * rolloff
        self.width = math.ceil(lowpass_filter_width * self.orig / cutoff)
        taps = torch.arange(-self.width, self.width + self.orig, dtype=torch.float64) / self.orig
        phases = torch.arange(0, -self.new, -1, dtype=torch.float64) / self.new
        t = ((taps[None] + phases[:, None]) * cutoff).clamp(-lowpass_filter_width, lowpass_filter_width)
        if resampling_method == HANN:
            window = torch.cos(t * math.pi / lowpass_filter_width / 2) ** 2
        else:
            b = torch.tensor(BETA if beta is None else beta, dtype=torch.float64)
            window = torch.special.i0(b * torch.sqrt(1 - (t / lowpass_filter_width) ** 2)) / torch.special.i0(b)
        kernel = torch.special.sinc(t) * window * (cutoff / self.orig)
        self.register_buffer("kernel", kernel[:, None].to(torch.float32), persistent=False)  # (new, 1, taps)
        self.kernel: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        is_signal(x, 1, "Resample")
        if self.orig == self.new:
            return x
        lead, length = x.shape[:-1], x.shape[-1]
        padded = F.pad(x.reshape(-1, 1, length), (self.width, self.width + self.orig))
        phases = F.conv1d(padded, self.kernel, stride=self.orig)  # (signals, new, steps)
        count = -(-self.new * length // self.orig)
        return phases.transpose(1, 2).reshape(*lead, -1)[..., :count]

    def extra_repr(self) -> str:
        return f"{self.orig} to {self.new}"
