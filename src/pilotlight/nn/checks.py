"""What modules refuse, each with what was expected and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from pilotlight.errors import PilotlightError


def refusal(message: str, hint: str | None = None) -> PilotlightError:
    return PilotlightError(message, hint=hint, kind="usage")


def whole(name: str, number: int, least: int = 1) -> int:
    """A whole number that is not too small."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise refusal(f"{name} must be a whole number of at least {least}, not {number!r}")
    return number


def positive(name: str, number: float) -> float:
    if not (math.isfinite(number) and number > 0):
        raise refusal(f"{name} must be a positive number, not {number!r}")
    return float(number)


def below_nyquist(name: str, frequency: float, sample_rate: float) -> float:
    """A frequency that a filter can be designed for."""
    positive("sample_rate", sample_rate)
    if not (math.isfinite(frequency) and 0 < frequency < sample_rate / 2):
        raise _beyond(name, frequency, sample_rate, "below")
    return float(frequency)


def up_to_nyquist(name: str, frequency: float, sample_rate: float) -> float:
    """A frequency where a range can end."""
    positive("sample_rate", sample_rate)
    if not (math.isfinite(frequency) and 0 < frequency <= sample_rate / 2):
        raise _beyond(name, frequency, sample_rate, "at most")
    return float(frequency)


def _beyond(name: str, frequency: float, sample_rate: float, limit: str) -> PilotlightError:
    return refusal(
        f"{name} must be above 0 and {limit} half the sample rate ({sample_rate / 2:g} Hz at {sample_rate:g} Hz), "
        f"not {frequency:g}",
        f"lower {name}, or give the rate that the signal has",
    )


def one_of(name: str, word: object, known: Sequence[object]) -> None:
    if word not in known:
        raise refusal(f"{name} must be {' or '.join(repr(k) for k in known)}, not {word!r}")


def is_signal(x: torch.Tensor, least: int, what: str) -> None:
    """A float signal (..., time) of enough samples."""
    if not x.is_floating_point():
        raise refusal(
            f"{what} expects float samples, not {str(x.dtype).removeprefix('torch.')}",
            "divide 16-bit samples by 32768: x.float() / 32768; compiled with --quantize int8 the input is int16 again",
        )
    if x.ndim == 0 or x.shape[-1] < least:
        raise refusal(
            f"{what} needs at least {least} samples along the last dimension, and got a tensor of shape "
            f"{tuple(x.shape)}",
            "time is the last dimension: transpose channels-last sound, and pad sound that is too short",
        )


def has_lead(x: torch.Tensor, lead: tuple[int, ...], what: str) -> None:
    """A signal whose dimensions before time are those that state is kept for."""
    if tuple(x.shape[:-1]) != lead:
        raise refusal(
            f"{what} keeps state for a signal of shape {(*lead, 'time')}, and got {tuple(x.shape)}".replace("'", ""),
            "mix stereo to mono, x.mean(-2), or give state= the dimensions before time",
        )
