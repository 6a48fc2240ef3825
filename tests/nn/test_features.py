"""Spectra and mel features against numpy and scipy, from torchaudio's and librosa's published formulas."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.signal
import torch

from pilotlight import nn
from pilotlight.errors import PilotlightError
from pilotlight.nn.mel import dct_matrix, hz_to_mel, mel_filters, mel_to_hz


def _sound(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, 0.2, shape).astype(np.float32))


def _stft(x: np.ndarray, n_fft: int, win: int, hop: int, center: bool, mode: str = "reflect") -> np.ndarray:
    """(..., n_fft/2 + 1, frames), frame by frame in float64."""
    window = np.zeros(n_fft)
    window[(n_fft - win) // 2 :][:win] = scipy.signal.get_window("hann", win)
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)], mode=mode)  # type: ignore[call-overload]
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    return np.stack([np.fft.rfft(x[..., s : s + n_fft] * window) for s in starts], -1)


@pytest.mark.parametrize("shape", [(700,), (1, 700), (2, 3, 450)])
@pytest.mark.parametrize(("n_fft", "win", "hop"), [(400, None, None), (512, 480, 320), (64, 33, 70), (101, 50, 7)])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("power", [2.0, 1.0, 3.0, None])
def test_spectrogram(
    shape: tuple[int, ...], n_fft: int, win: int | None, hop: int | None, center: bool, power: float | None
) -> None:
    if not center and shape[-1] < n_fft:
        return
    x = _sound(*shape)
    got = nn.Spectrogram(n_fft, win, hop, power=power, center=center)(x)
    win = win or n_fft
    spectra = _stft(x.numpy().astype(float), n_fft, win, hop or win // 2, center)
    expected = spectra if power is None else np.abs(spectra) ** power
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("mode", ["reflect", "constant", "replicate", "circular"])
def test_paddings_and_norms_are_those_of_torch_stft(mode: str) -> None:
    x = _sound(2, 300)
    options = {"n_fft": 64, "win_length": 60, "hop_length": 20}
    window = torch.hamming_window(60)
    common = {**options, "window": window, "pad_mode": mode, "return_complex": True}
    got = nn.Spectrogram(**options, window_fn=torch.hamming_window, power=None, pad_mode=mode, pad=3)(x)
    longer = torch.nn.functional.pad(x, (3, 3))
    expected = torch.stft(longer, **common)  # type: ignore[arg-type]
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    framed = nn.Spectrogram(**options, window_fn=torch.hamming_window, pad_mode=mode, normalized="frame_length")(x)
    torch.testing.assert_close(framed, torch.stft(x, normalized=True, **common).abs() ** 2)  # type: ignore[arg-type]
    by_window = nn.Spectrogram(**options, window_fn=torch.hamming_window, pad_mode=mode, normalized=True)(x)
    expected = torch.stft(x, **common).abs() ** 2 / window.square().sum()  # type: ignore[arg-type]
    torch.testing.assert_close(by_window, expected)


def test_mel_scales_are_inverse_and_known() -> None:
    hz = torch.tensor([0.0, 60.0, 999.0, 1000.0, 1001.0, 8000.0], dtype=torch.float64)
    for scale in ("htk", "slaney"):
        torch.testing.assert_close(mel_to_hz(hz_to_mel(hz, scale), scale), hz, atol=1e-9, rtol=1e-12)
    assert float(hz_to_mel(torch.tensor(1000.0), "slaney")) == 15.0
    assert math.isclose(float(hz_to_mel(torch.tensor(1000.0))), 999.9856, abs_tol=1e-3)


def _triangles(
    n_freqs: int, n_mels: int, rate: int, low: float, high: float, scale: str, norm: str | None
) -> np.ndarray:
    """One weight at a time."""
    def to_mel(f: float) -> float:
        if scale == "htk":
            return 2595 * math.log10(1 + f / 700)
        return f * 3 / 200 if f < 1000 else 15 + 27 * math.log(f / 1000) / math.log(6.4)

    def to_hz(m: float) -> float:
        if scale == "htk":
            return 700 * (10 ** (m / 2595) - 1)
        return m * 200 / 3 if m < 15 else 1000 * 6.4 ** ((m - 15) / 27)

    ends = to_mel(low), to_mel(high)
    corners = [to_hz(ends[0] + (ends[1] - ends[0]) * k / (n_mels + 1)) for k in range(n_mels + 2)]
    bank = np.zeros((n_freqs, n_mels))
    for m, (left, middle, right) in enumerate(zip(corners, corners[1:], corners[2:], strict=False)):
        for k in range(n_freqs):
            f = rate / 2 * k / (n_freqs - 1)
            weight = min((f - left) / (middle - left), (right - f) / (right - middle))
            bank[k, m] = max(weight, 0) * (2 / (right - left) if norm else 1)
    return bank


@pytest.mark.parametrize("scale", ["htk", "slaney"])
@pytest.mark.parametrize("norm", [None, "slaney"])
def test_mel_filters(scale: str, norm: str | None) -> None:
    got = mel_filters(257, 20.0, 4000.0, 40, 16000, norm, scale)
    np.testing.assert_allclose(got.numpy(), _triangles(257, 40, 16000, 20, 4000, scale, norm), atol=1e-7)


# librosa 0.11: filters.mel(sr=16000, n_fft=512, n_mels=40), some rows from their first weight on; then, for
# y = sin(0.3 k + 0.0005 k²), k < 1600, with hop_length=160, feature.melspectrogram(center=False), bands 21 to 28 of
# frame 3, and feature.mfcc(n_mfcc=13), frame 5.
LIBROSA_FILTERS = {
    0: (1, [0.0057736, 0.0115472, 0.00986414, 0.00409054]),
    19: (49, [0.00163702, 0.00376706, 0.00589711, 0.00802716, 0.00618918, 0.00421476, 0.00224034, 0.000265928]),
}
LIBROSA_MELS = [0.00501476, 0.268149, 4.60217, 22.6317, 44.6146, 38.4473, 12.1026, 0.720998]
LIBROSA_MFCC = [
    -305.86, -59.7418, -69.8462, 109.435, -34.0347, -50.9939, 59.7858, -14.8164, -17.3106, 16.6123, -7.61295, 5.83139,
    -3.76703,
]


def test_librosa_gives_the_same() -> None:
    k = torch.arange(1600, dtype=torch.float64)
    y = torch.sin(0.3 * k + 0.0005 * k * k).float()[None]
    options = {"n_fft": 512, "hop_length": 160, "n_mels": 40, "norm": "slaney", "mel_scale": "slaney"}
    mels = nn.MelSpectrogram(16000, center=False, **options)
    for row, (first, weights) in LIBROSA_FILTERS.items():
        column = mels.mel_scale.fb[:, row].numpy()
        np.testing.assert_allclose(column[first : first + len(weights)], weights, rtol=1e-5)
        assert np.count_nonzero(column) == len(weights)
    np.testing.assert_allclose(mels(y)[0, 21:29, 3], LIBROSA_MELS, rtol=1e-3)
    cepstra = nn.MFCC(16000, 13, melkwargs={**options, "pad_mode": "constant"})
    np.testing.assert_allclose(cepstra(y)[0, :, 5], LIBROSA_MFCC, atol=0.02)


def test_mel_spectrogram_and_log_mel() -> None:
    x = _sound(2, 2000)
    options = {"n_fft": 512, "win_length": 480, "hop_length": 320, "n_mels": 40, "center": False, "f_min": 20.0}
    power = np.abs(_stft(x.numpy().astype(float), 512, 480, 320, False)) ** 2
    expected = _triangles(257, 40, 16000, 20, 8000, "htk", None).T @ power
    np.testing.assert_allclose(nn.MelSpectrogram(16000, **options)(x).numpy(), expected, rtol=1e-4)
    log = nn.LogMel(16000, **options, offset=0.5)(x)
    np.testing.assert_allclose(log.numpy(), np.log(expected + 0.5), atol=1e-4)
    scaled = nn.MelScale(40, 16000, 20.0, n_stft=257)(nn.Spectrogram(512, 480, 320, center=False)(x))
    np.testing.assert_allclose(scaled.numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("top", [None, 80.0, 5.0])
@pytest.mark.parametrize("shape", [(7,), (4, 7), (2, 4, 7), (3, 2, 4, 7)])
def test_amplitude_to_db(top: float | None, shape: tuple[int, ...]) -> None:
    x = _sound(*shape).abs() ** 4
    x.view(-1)[3] = 0.0
    got = nn.AmplitudeToDB("power", top)(x).numpy()
    expected = 10 * np.log10(np.maximum(x.numpy().astype(float), 1e-10))
    if top is not None:  # each recording by itself
        recordings = expected.reshape(-1, *shape[-3:]) if len(shape) > 3 else expected[None]
        expected = np.stack([np.maximum(r, r.max() - top) for r in recordings]).reshape(shape)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)
    magnitude = nn.AmplitudeToDB("magnitude")(x).numpy()
    np.testing.assert_allclose(magnitude, 20 * np.log10(np.maximum(x.numpy(), 1e-10)), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_dct_is_scipys(norm: str | None) -> None:
    mels = np.random.default_rng(0).normal(size=(3, 20))
    got = mels @ dct_matrix(13, 20, norm).numpy()
    np.testing.assert_allclose(got, scipy.fft.dct(mels, 2, norm=norm)[:, :13], atol=1e-5)


@pytest.mark.parametrize("log_mels", [False, True])
def test_mfcc(log_mels: bool) -> None:
    x = _sound(1, 2000)
    options = {"n_fft": 256, "hop_length": 128, "n_mels": 23}
    got = nn.MFCC(16000, 13, log_mels=log_mels, melkwargs=options)(x).numpy()
    mels = nn.MelSpectrogram(16000, **options)(x).numpy().astype(float)
    db = 10 * np.log10(np.maximum(mels, 1e-10))
    logs = np.log(mels + 1e-6) if log_mels else np.maximum(db, db.max() - 80)
    expected = scipy.fft.dct(logs, 2, axis=-2, norm="ortho")[:, :13]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-3)


def test_gradients_reach_the_sound_and_the_filters() -> None:
    x = _sound(1, 600).requires_grad_()
    features = nn.LogMel(16000, 128, 100, 50, n_mels=12)
    features.mel_scale.fb.requires_grad_()
    net = torch.nn.Sequential(features, torch.nn.Flatten(), torch.nn.Linear(12 * 13, 3))
    net(x).square().sum().backward()
    for gradient in (x.grad, features.mel_scale.fb.grad):
        assert gradient is not None and bool(gradient.isfinite().all()) and bool(gradient.any())
    silence = torch.zeros(1, 600, requires_grad=True)  # the magnitude has a corner at 0
    nn.Spectrogram(64, power=1.0)(silence).sum().backward()
    assert silence.grad is not None and bool(silence.grad.isfinite().all())


def test_empty_filters_are_named() -> None:
    with pytest.warns(UserWarning, match="mel filter 0 of 128 .* is empty"):
        nn.MelSpectrogram(16000, 256)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.MelSpectrogram(16000, 512, n_mels=40)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.Spectrogram(0), "n_fft must be a whole number of at least 2, not 0"),
        (lambda: nn.Spectrogram(64, win_length=80), "win_length must be at most n_fft, 64, not 80"),
        (lambda: nn.Spectrogram(64, win_length=0), "win_length must be a whole number of at least 1"),
        (lambda: nn.Spectrogram(64, hop_length=0), "hop_length .* not 0"),
        (lambda: nn.Spectrogram(64, hop_length=-5), "hop_length .* not -5"),
        (lambda: nn.Spectrogram(64, hop_length=2.5), "hop_length .* not 2.5"),
        (lambda: nn.Spectrogram(64, power=0), "power must be a positive number"),
        (lambda: nn.Spectrogram(64, pad_mode="wrap"), "pad_mode must be 'reflect' or"),
        (lambda: nn.MelSpectrogram(16000, 512, f_max=9000.0), r"f_max .* \(8000 Hz at 16000 Hz\), not 9000"),
        (lambda: nn.MelSpectrogram(16000, 512, f_min=8000.0), "f_min must be at least 0 and below f_max, 8000"),
        (lambda: nn.MelSpectrogram(0), "sample_rate must be a whole number"),
        (lambda: nn.MelSpectrogram(16000, norm="area"), "norm must be None or 'slaney', not 'area'"),
        (lambda: nn.LogMel(16000, n_mels=40, offset=0.0), "offset must be a positive number"),
        (lambda: nn.MFCC(16000, 41, melkwargs={"n_mels": 40}), "n_mfcc must be at most n_mels, 40, not 41"),
        (lambda: nn.MFCC(16000, dct_type=3), "dct_type must be 2"),
        (lambda: nn.AmplitudeToDB("energy"), "stype must be 'power' or 'magnitude'"),
        (lambda: nn.AmplitudeToDB(top_db=-1), "top_db must not be negative"),
        (lambda: nn.Framing(8, 9, state=(1,)), "hop must be at most 8, not 9"),
        (lambda: nn.LogMel(8000, 512, n_mels=9, center=False)(torch.zeros(1, 511)), r"at least 512 .* \(1, 511\)"),
        (lambda: nn.LogMel(8000, 512, n_mels=9)(torch.zeros(1, 256)), "at least 257 samples"),
        (lambda: nn.LogMel(8000, 512, n_mels=9)(torch.zeros(16000, 2)), r"shape \(16000, 2\)(.|\n)*time is the last"),
        (lambda: nn.LogMel(8000, 512, n_mels=9)(torch.zeros(1, 999, dtype=torch.int16)), "float samples, not int16"),
        (lambda: nn.Framing(8, 4, state=(1,))(torch.zeros(2, 8)), r"shape \(1, time\), and got \(2, 8\)"),
        (lambda: nn.Framing(8, 4, state=(1,))(torch.zeros(1, 9)), "a multiple of 4 samples, and got 9"),
        (lambda: nn.MelScale(40)(torch.zeros(257, 3)), "201 frequencies is expected"),
    ],
)
def test_what_does_not_fit_is_refused(make: object, words: str) -> None:
    with pytest.raises(PilotlightError, match=words):
        make()  # type: ignore[operator]


def test_frames_over_calls_are_the_frames_of_the_whole() -> None:
    x = _sound(2, 48)
    frames = nn.Framing(12, 4, state=(2,))
    expected = torch.nn.functional.pad(x, (8, 0)).unfold(-1, 12, 4)
    for _ in range(2):
        got = torch.cat([frames(part) for part in x.split([4, 8, 16, 20], -1)], 1)
        assert torch.equal(got, expected)
        frames.reset()
    assert torch.equal(nn.Framing(12, 5)(x), x.unfold(-1, 12, 5))
