"""Filters, rates and levels against scipy and the formulas sample by sample; state over calls."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.signal
import torch

from pilotlight import nn
from pilotlight.errors import PilotlightError

RATE = 16000


def _sound(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, 0.2, shape).astype(np.float32))


def _gain(section: nn.Biquad, hz: float) -> float:
    sos = torch.cat((section.b, section.a), 1).double().numpy()
    _, response = scipy.signal.sosfreqz(sos, [hz], fs=RATE)
    return float(np.abs(response[0]))


@pytest.mark.parametrize(
    ("section", "gains"),  # at 0, at the frequency, at half the rate
    [
        (nn.Biquad.lowpass(RATE, 1000), (1, 0.707, 0)),
        (nn.Biquad.lowpass(RATE, 1000, Q=2.0), (1, 2.0, 0)),
        (nn.Biquad.highpass(RATE, 1000), (0, 0.707, 1)),
        (nn.Biquad.bandpass(RATE, 1000, Q=3.0), (0, 1, 0)),
        (nn.Biquad.bandpass(RATE, 1000, Q=3.0, const_skirt_gain=True), (0, 3, 0)),
        (nn.Biquad.notch(RATE, 1000, Q=3.0), (1, 0, 1)),
        (nn.Biquad.allpass(RATE, 1000), (1, 1, 1)),
        (nn.Biquad.equalizer(RATE, 1000, 6.0), (1, 10 ** (6 / 20), 1)),
        (nn.Biquad.bass(RATE, 6.0, 1000), (10 ** (6 / 20), 10 ** (3 / 20), 1)),
        (nn.Biquad.treble(RATE, -6.0, 1000), (1, 10 ** (-3 / 20), 10 ** (-6 / 20))),
    ],
)
def test_designs_do_what_their_names_say(section: nn.Biquad, gains: tuple[float, float, float]) -> None:
    got = [_gain(section, hz) for hz in (0.0, 1000.0, RATE / 2)]
    np.testing.assert_allclose(got, gains, atol=2e-3)


def test_notch_and_peak_are_scipys() -> None:
    notch = nn.Biquad.notch(RATE, 50, Q=30.0)
    b, a = scipy.signal.iirnotch(50, 30, fs=RATE)
    np.testing.assert_allclose(notch.b[0], b, atol=1e-6)
    np.testing.assert_allclose(notch.a[0], a, atol=1e-6)


def test_biquads_filter_as_scipy_does() -> None:
    x = _sound(2, 3, 200)
    sos = scipy.signal.butter(5, [300, 3000], "bandpass", fs=RATE, output="sos")
    rounded = sos.astype(np.float32).astype(float)
    got = nn.Biquad(sos)(x)
    np.testing.assert_allclose(got.numpy(), scipy.signal.sosfilt(rounded, x.numpy().astype(float)), atol=2e-5)
    cascade = nn.Biquad.cascade(nn.Biquad.highpass(RATE, 100), nn.Biquad.notch(RATE, 50))
    torch.testing.assert_close(cascade(x), nn.Biquad.notch(RATE, 50)(nn.Biquad.highpass(RATE, 100)(x)))


STATEFUL: list[Callable[[tuple[int, ...] | None], torch.nn.Module]] = [
    lambda state: nn.Biquad.lowpass(RATE, 500, state=state),
    lambda state: nn.RemoveDC(state=state),
    lambda state: nn.RunningNorm(0.05, state=state),
    lambda state: nn.PCEN(state=state),
]


@pytest.mark.parametrize("make", STATEFUL)
def test_parts_continue_the_signal_until_reset(make: Callable[[tuple[int, ...] | None], torch.nn.Module]) -> None:
    x = _sound(2, 3, 60).abs()
    whole, parts = make(None)(x), make((2, 3))
    for _ in range(2):
        got = torch.cat([parts(part) for part in x.split([1, 20, 39], -1)], -1)
        torch.testing.assert_close(got, whole, atol=1e-6, rtol=1e-6)
        parts.reset()  # type: ignore[operator]


@pytest.mark.parametrize("make", STATEFUL)
def test_training_goes_through_every_call(make: Callable[[tuple[int, ...] | None], torch.nn.Module]) -> None:
    module, x = make((1,)), _sound(1, 30).abs().requires_grad_()
    (module(x[:, :10]).sum() + module(x[:, 10:]).square().sum()).backward()
    assert x.grad is not None and bool(x.grad.isfinite().all()) and bool(x.grad.any())


def test_remove_dc() -> None:
    x = _sound(1, 100) + 0.7
    got = nn.RemoveDC(0.9)(x)[0].tolist()
    last_x, last_y = float(x[0, 0]), 0.0
    for k in range(100):
        last_y = float(x[0, k]) - last_x + 0.9 * last_y
        last_x = float(x[0, k])
        assert math.isclose(got[k], last_y, abs_tol=1e-5)
    assert float(nn.RemoveDC()(torch.full((1, 50), 0.3)).abs().max()) == 0.0


def test_running_norm_follows_mean_and_variance() -> None:
    x = _sound(1, 80) * 3 + 1
    got = nn.RunningNorm(0.1, eps=1e-3)(x)[0].tolist()
    mean, variance = 0.0, 1.0
    for k in range(80):
        d = float(x[0, k]) - mean
        mean += 0.1 * d
        variance = 0.9 * (variance + 0.1 * d * d)
        assert math.isclose(got[k], (float(x[0, k]) - mean) / math.sqrt(variance + 1e-3), abs_tol=1e-5)


def test_pcen() -> None:
    e = _sound(2, 4, 30).square()
    got = nn.PCEN(0.1, 0.9, 1.5, 0.4, 1e-5, trainable=True)(e).detach().numpy()
    level = e[..., 0].double().numpy()
    for t in range(30):
        now = e[..., t].double().numpy()
        level = 0.9 * level + 0.1 * now
        np.testing.assert_allclose(got[..., t], (now / (1e-5 + level) ** 0.9 + 1.5) ** 0.4 - 1.5**0.4, atol=1e-5)
    assert len(list(nn.PCEN(trainable=True).parameters())) == 3 and not list(nn.PCEN().parameters())


@pytest.mark.parametrize(("old", "new"), [(16000, 8000), (8000, 16000), (44100, 16000), (3, 7), (5, 5), (48000, 44100)])
@pytest.mark.parametrize("method", ["sinc_interp_hann", "sinc_interp_kaiser"])
def test_resample_is_a_windowed_sinc(old: int, new: int, method: str) -> None:
    length, width, rolloff = 203, 6, 0.99
    x = _sound(2, 1, length)
    got = nn.Resample(old, new, method, width, rolloff)(x)
    count = math.ceil(new * length / old)
    assert got.shape == (2, 1, count)
    if old == new:
        assert torch.equal(got, x)
        return
    cutoff = min(old, new) / old * rolloff  # in input samples
    for n in (0, 1, count // 2, count - 1):
        t = (np.arange(length) - n * old / new) * cutoff
        inside = np.abs(t) < width
        if method == "sinc_interp_hann":
            window = np.cos(np.pi * t / width / 2) ** 2
        else:
            beta = 14.769656459379492
            window = np.i0(beta * np.sqrt(np.clip(1 - (t / width) ** 2, 0, 1))) / np.i0(beta)
        weights = np.where(inside, np.sinc(t) * window * cutoff, 0)
        np.testing.assert_allclose(got[:, 0, n], x[:, 0].double().numpy() @ weights, atol=2e-6)


def test_resample_keeps_a_tone() -> None:
    seconds = torch.arange(4410) / 44100
    got = nn.Resample(44100, 16000)(torch.sin(2 * math.pi * 440 * seconds)[None])[0]
    expected = torch.sin(2 * math.pi * 440 * torch.arange(1600) / 16000)
    torch.testing.assert_close(got[50:-50], expected[50:-50], atol=5e-3, rtol=0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.Biquad.lowpass(RATE, 9000), r"cutoff_freq .* \(8000 Hz at 16000 Hz\), not 9000"),
        (lambda: nn.Biquad.lowpass(RATE, 8000), r"above 0 and below half the sample rate \(8000 Hz .*, not 8000"),
        (lambda: nn.Biquad.lowpass(RATE, 0), "cutoff_freq must be above 0"),
        (lambda: nn.Biquad.lowpass(0, 100), "sample_rate must be a positive number"),
        (lambda: nn.Biquad.notch(RATE, 50, Q=0), "Q must be a positive number"),
        (lambda: nn.Biquad([[1, 0, 0, 1, 0]]), r"\(sections, 6\) are expected, not \(1, 5\)"),
        (lambda: nn.Biquad([[1, 0, 0, 0, 1, 0]]), "a0 is 0"),
        (lambda: nn.Biquad([[1, 0, 0, 1, -2.1, 1.1]]), "not stable"),
        (lambda: nn.Biquad.lowpass(RATE, 50, state=(1,))(torch.zeros(2, 9)), r"and got \(2, 9\)(.|\n)*mono"),
        (lambda: nn.Biquad.lowpass(RATE, 50)(torch.zeros(9, dtype=torch.int16)), "float samples, not int16"),
        (lambda: nn.RemoveDC(1.0), "pole must be at least 0 and below 1"),
        (lambda: nn.RemoveDC()(torch.zeros(1, 0)), "at least 1 samples"),
        (lambda: nn.RunningNorm(0.0), "the share of a new sample must be above 0"),
        (lambda: nn.RunningNorm(1.0), "must be below 1"),
        (lambda: nn.PCEN(power=-1.0), "power must be a positive number"),
        (lambda: nn.Resample(16000, 0), "new_freq must be a whole number"),
        (lambda: nn.Resample(16000, 8000.5), "new_freq must be a whole number"),  # type: ignore[arg-type]
        (lambda: nn.Resample(16000, 8000, rolloff=0.0), "rolloff must be above 0"),
        (lambda: nn.Resample(16000, 8000, "linear"), "resampling_method must be"),
    ],
)
def test_what_does_not_fit_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(PilotlightError, match=words):
        make()
