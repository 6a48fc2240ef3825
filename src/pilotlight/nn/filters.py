"""Recursive filters in second-order sections, with state over calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from pilotlight.nn.checks import below_nyquist, has_lead, is_signal, positive, refusal
from pilotlight.nn.lfilter import lfilter

Q = 0.707  # torchaudio's


class Recursion(torch.nn.Module):
    """Second-order sections over time, the last dimension.

    With `state`, the dimensions before time, a call goes on where the last one ended; without, each call starts anew.
    """

    def __init__(self, b: torch.Tensor, a: torch.Tensor, state: Sequence[int] | None):
        super().__init__()
        self.register_buffer("b", b.to(torch.float32))
        self.register_buffer("a", a.to(torch.float32))
        self.state = None if state is None else tuple(state)
        if self.state is not None:
            self.register_buffer("z", torch.zeros(*self.state, b.shape[0], 2))
            self.register_buffer("running", torch.zeros(1, dtype=torch.bool))
        self.a: torch.Tensor
        self.b: torch.Tensor
        self.z: torch.Tensor
        self.running: torch.Tensor

    def filtered(self, x: torch.Tensor, first: torch.Tensor | None = None) -> torch.Tensor:
        """The filtered signal; `first` is the state before the first sample, 0 if it is not given."""
        name = type(self).__name__
        if self.state is None:
            is_signal(x, 0, name)
            z = x.new_zeros(*x.shape[:-1], self.b.shape[0], 2) if first is None else first
            return lfilter(x, self.b, self.a, z)[0]
        is_signal(x, 1, name)
        has_lead(x, self.state, name)
        z = self.z.clone() if first is None else torch.where(self.running.clone(), self.z, first)
        y, z = lfilter(x, self.b, self.a, z)
        self.z.copy_(z.detach())
        if first is not None:
            self.running.fill_(True)
        return y

    def reset(self) -> None:
        """Forget the signal so far."""
        if self.state is not None:
            self.z.zero_()
            self.running.zero_()

    def extra_repr(self) -> str:
        return f"sections={self.b.shape[0]}" + ("" if self.state is None else f", state={self.state}")


class Biquad(Recursion):
    """Second-order sections `sos` (sections, 6), as `scipy.signal` gives them, or one of the designs below.

    The designs are torchaudio's, except that the result is not clamped to -1..1.
    """

    def __init__(self, sos: Any, state: Sequence[int] | None = None):
        sections = torch.as_tensor(sos, dtype=torch.float64)
        if sections.ndim != 2 or sections.shape[1] != 6 or not sections.shape[0]:
            raise refusal(
                f"second-order sections of shape (sections, 6) are expected, not {tuple(sections.shape)}",
                'scipy.signal.butter(..., output="sos") gives them',
            )
        if not bool(torch.isfinite(sections).all()) or bool((sections[:, 3] == 0).any()):
            raise refusal("a section's a0 is 0, or a coefficient is not finite")
        sections = sections / sections[:, 3:4]
        a1, a2 = sections[:, 4], sections[:, 5]
        if bool(((a2.abs() >= 1) | (a1.abs() >= 1 + a2)).any()):
            raise refusal("a section is not stable: its poles must be inside the unit circle", "check the design")
        super().__init__(sections[:, :3], sections[:, 3:], state)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.filtered(x)

    @classmethod
    def cascade(cls, *filters: Biquad, state: Sequence[int] | None = None) -> Biquad:
        """One filter after the other, as one."""
        return cls(torch.cat([torch.cat((f.b, f.a), 1) for f in filters]), state)

    @classmethod
    def _design(
        cls, b: tuple[float, float, float], a: tuple[float, float, float], state: Sequence[int] | None
    ) -> Biquad:
        return cls([[*b, *a]], state)

    @classmethod
    def lowpass(
        cls, sample_rate: float, cutoff_freq: float, Q: float = Q, state: Sequence[int] | None = None  # noqa: N803
    ) -> Biquad:
        cos, _, alpha = _angle(sample_rate, "cutoff_freq", cutoff_freq, Q)
        return cls._design(((1 - cos) / 2, 1 - cos, (1 - cos) / 2), _poles(cos, alpha), state)

    @classmethod
    def highpass(
        cls, sample_rate: float, cutoff_freq: float, Q: float = Q, state: Sequence[int] | None = None  # noqa: N803
    ) -> Biquad:
        cos, _, alpha = _angle(sample_rate, "cutoff_freq", cutoff_freq, Q)
        return cls._design(((1 + cos) / 2, -1 - cos, (1 + cos) / 2), _poles(cos, alpha), state)

    @classmethod
    def bandpass(
        cls, sample_rate: float, central_freq: float, Q: float = Q, const_skirt_gain: bool = False,  # noqa: N803
        state: Sequence[int] | None = None,
    ) -> Biquad:
        cos, sin, alpha = _angle(sample_rate, "central_freq", central_freq, Q)
        gain = sin / 2 if const_skirt_gain else alpha
        return cls._design((gain, 0.0, -gain), _poles(cos, alpha), state)

    @classmethod
    def notch(
        cls, sample_rate: float, central_freq: float, Q: float = Q, state: Sequence[int] | None = None  # noqa: N803
    ) -> Biquad:
        """torchaudio's bandreject: hum at 50 Hz, say."""
        cos, _, alpha = _angle(sample_rate, "central_freq", central_freq, Q)
        return cls._design((1.0, -2 * cos, 1.0), _poles(cos, alpha), state)

    @classmethod
    def allpass(
        cls, sample_rate: float, central_freq: float, Q: float = Q, state: Sequence[int] | None = None  # noqa: N803
    ) -> Biquad:
        cos, _, alpha = _angle(sample_rate, "central_freq", central_freq, Q)
        return cls._design((1 - alpha, -2 * cos, 1 + alpha), _poles(cos, alpha), state)

    @classmethod
    def equalizer(
        cls, sample_rate: float, center_freq: float, gain: float, Q: float = Q,  # noqa: N803
        state: Sequence[int] | None = None,
    ) -> Biquad:
        """`gain` decibels around a frequency."""
        cos, _, alpha = _angle(sample_rate, "center_freq", center_freq, Q)
        root = 10 ** (gain / 40)
        return cls._design((1 + alpha * root, -2 * cos, 1 - alpha * root), _poles(cos, alpha / root), state)

    @classmethod
    def bass(
        cls, sample_rate: float, gain: float, central_freq: float = 100.0, Q: float = Q,  # noqa: N803
        state: Sequence[int] | None = None,
    ) -> Biquad:
        """`gain` decibels below a frequency: a low shelf."""
        b, a = _shelf(sample_rate, gain, central_freq, Q, 1.0)
        return cls._design(b, a, state)

    @classmethod
    def treble(
        cls, sample_rate: float, gain: float, central_freq: float = 3000.0, Q: float = Q,  # noqa: N803
        state: Sequence[int] | None = None,
    ) -> Biquad:
        """`gain` decibels above a frequency: a high shelf."""
        b, a = _shelf(sample_rate, gain, central_freq, Q, -1.0)
        return cls._design(b, a, state)


def _angle(sample_rate: float, name: str, frequency: float, q: float) -> tuple[float, float, float]:
    """Cosine and sine of a frequency, and alpha = sin / 2Q."""
    angle = 2 * math.pi * below_nyquist(name, frequency, sample_rate) / sample_rate
    return math.cos(angle), math.sin(angle), math.sin(angle) / 2 / positive("Q", q)


def _poles(cos: float, alpha: float) -> tuple[float, float, float]:
    return 1 + alpha, -2 * cos, 1 - alpha


def _shelf(
    sample_rate: float, gain: float, frequency: float, q: float, side: float
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """A shelf to the left (side 1) or right (-1): mirrored, the signs of odd powers of z and of cos change."""
    cos, _, alpha = _angle(sample_rate, "central_freq", frequency, q)
    root = 10 ** (gain / 40)
    width, less, more = 2 * math.sqrt(root) * alpha, (root - 1) * cos * side, (root + 1) * cos * side
    b = (
        root * (root + 1 - less + width), 2 * root * side * (root - 1 - more), root * (root + 1 - less - width),
    )
    a = root + 1 + less + width, -2 * side * (root - 1 + more), root + 1 + less - width
    return b, a


class RemoveDC(Recursion):
    """A signal without its constant part: y[n] = x[n] - x[n-1] + pole * y[n-1].

    It starts as if the first sample had been there forever, so that the offset of a microphone makes no thump.
    """

    def __init__(self, pole: float = 0.995, state: Sequence[int] | None = None):
        if not 0 <= pole < 1:
            raise refusal(f"pole must be at least 0 and below 1, not {pole:g}")
        super().__init__(torch.tensor([[1.0, -1.0, 0.0]]), torch.tensor([[1.0, -pole, 0.0]]), state)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        is_signal(x, 1, "RemoveDC")
        first = x[..., :1]
        return self.filtered(x, torch.stack((-first, torch.zeros_like(first)), -1))
