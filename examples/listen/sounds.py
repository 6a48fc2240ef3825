"""Noises, rooms and microphones: what is between a spoken word and the samples that a board gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.signal import fftconvolve

from voices import RATE

Random = np.random.Generator
Speech = Sequence[np.ndarray]


def coloured(rng: Random, n: int, power: float) -> np.ndarray:
    """Noise whose power falls with frequency to the given power: 0 white, 1 pink, 2 brown."""
    spectrum = np.fft.rfft(rng.standard_normal(n))
    spectrum *= np.maximum(np.arange(len(spectrum)), n / RATE * 20) ** (-power / 2)
    return np.fft.irfft(spectrum, n)


def hum(rng: Random, n: int, _: Speech) -> np.ndarray:
    """Mains at 50 or 60 Hz with harmonics."""
    t = np.arange(n) / RATE * rng.choice([50, 60]) * 2 * np.pi
    parts = sum(rng.uniform(0, 1) / k * np.sin(k * t + rng.uniform(0, 6)) for k in range(1, 12))
    return parts + 0.02 * rng.standard_normal(n)


def clicks(rng: Random, n: int, _: Speech) -> np.ndarray:
    """Short decaying bursts now and then."""
    x = 0.003 * rng.standard_normal(n)
    for start in rng.integers(0, n, 1 + rng.poisson(4 * n / RATE)):
        length = min(n - start, int(rng.integers(80, 1600)))
        burst = rng.standard_normal(length) * np.exp(-np.arange(length) / rng.uniform(20, 300))
        x[start : start + length] += rng.uniform(0.1, 1) * burst
    return x


def babble(rng: Random, n: int, speech: Speech) -> np.ndarray:
    """Five talkers at once, each going from one thing to the next."""
    return sum(_talk(rng, n, speech) for _ in range(5))


def _talk(rng: Random, n: int, speech: Speech) -> np.ndarray:
    x, at = np.zeros(n), -int(rng.integers(0, RATE // 2))
    while at < n:
        said = speech[rng.integers(len(speech))]
        begin, end = max(at, 0), min(at + len(said), n)
        if end > begin:
            x[begin:end] += said[begin - at : end - at]
        at += len(said) + int(rng.integers(0, RATE // 8))
    return x


def whistles(rng: Random, n: int, _: Speech) -> np.ndarray:
    """Tones with overtones that slide, waver, begin and end: alarms, birds, brakes."""
    x = 0.003 * rng.standard_normal(n)
    for start in rng.integers(0, n, 1 + rng.poisson(3 * n / RATE)):
        length = min(n - start, int(rng.integers(RATE // 20, RATE)))
        t = np.arange(length) / RATE
        pitch = rng.uniform(100, 3000) * np.exp(t * rng.normal(0, 0.7))
        pitch *= 1 + rng.uniform(0, 0.05) * np.sin(2 * np.pi * rng.uniform(2, 12) * t)
        phase = 2 * np.pi * np.cumsum(pitch) / RATE
        tone = sum(rng.uniform(0, 1) / k * np.sin(k * phase) for k in range(1, int(rng.integers(2, 9))))
        x[start : start + length] += rng.uniform(0.1, 1) * tone * np.hanning(length) ** rng.uniform(0.1, 1)
    return x


def rustle(rng: Random, n: int, _: Speech) -> np.ndarray:
    """Noise in bands that come and go, slowly or many times a second."""
    x = np.zeros(n)
    for _ in range(int(rng.integers(1, 4))):
        low = 50 * 2 ** rng.uniform(0, 6)
        spectrum = np.fft.rfft(rng.standard_normal(n))
        frequencies = np.fft.rfftfreq(n, 1 / RATE)
        spectrum[(frequencies < low) | (frequencies > low * 2 ** rng.uniform(0.5, 4))] *= 0.02
        every = int(RATE * 10 ** rng.uniform(-2, 0))
        points = np.arange(0, n + every, every)
        x += np.fft.irfft(spectrum, n) * np.interp(np.arange(n), points, rng.exponential(1, len(points)))
    return x


def music(rng: Random, n: int, _: Speech) -> np.ndarray:
    """Chords of plucked notes over a beat."""
    x, beat = np.zeros(n), int(rng.uniform(0.2, 0.5) * RATE)
    for start in range(0, n, beat):
        t = np.arange(min(n - start, 3 * beat)) / RATE
        for note in rng.choice([0, 2, 4, 5, 7, 9, 11, 12, 16, 19], rng.integers(1, 4), replace=False):
            pitch = 130.8 * 2 ** (note / 12) * rng.choice([1, 2])
            tone = sum(np.sin(2 * np.pi * pitch * k * t) / k**1.3 for k in range(1, 6))
            x[start : start + len(t)] += rng.uniform(0.3, 1) * tone * np.exp(-t * rng.uniform(3, 8))
    return x


def wind(rng: Random, n: int, _: Speech) -> np.ndarray:
    """Low noise that swells and fades."""
    points = np.arange(0, n + RATE, RATE // 3)
    swell = np.interp(np.arange(n), points, rng.uniform(0.1, 1, len(points)))
    return coloured(rng, n, 1.6) * swell


def rain(rng: Random, n: int, _: Speech) -> np.ndarray:
    """Hundreds of drops a second on a bright hiss."""
    drops = np.zeros(n)
    places = rng.integers(0, n, rng.poisson(400 * n / RATE))
    drops[places] = rng.exponential(1, len(places))
    ring = np.exp(-np.arange(64) / 8) * np.sin(np.arange(64) * 2 * np.pi * rng.uniform(0.12, 0.3))
    return fftconvolve(drops, ring)[:n] + 0.1 * rng.standard_normal(n)


def engine(rng: Random, n: int, _: Speech) -> np.ndarray:
    """A motor: harmonics of a wandering pitch and rough low noise."""
    pitch = rng.uniform(60, 140) * (1 + 0.02 * np.cumsum(rng.standard_normal(n)) / np.sqrt(n))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    tone = sum(rng.uniform(0.2, 1) / np.sqrt(k) * np.sin(k * phase) for k in range(1, 20))
    low = coloured(rng, n, 1.0)
    return tone + 2 * low / low.std()


Noise = Callable[[Random, int, Speech], np.ndarray]
TRAINING: tuple[Noise, ...] = (
    lambda rng, n, _: coloured(rng, n, 0.0),
    lambda rng, n, _: coloured(rng, n, rng.uniform(0.5, 2.0)),
    hum,
    clicks,
    babble,
    whistles,
    rustle,
)
UNHEARD: tuple[Noise, ...] = (music, wind, rain, engine)  # for tests only


class Bank:
    """Noise of some kinds, a minute of each, of which any part can be had: making it anew each time takes long."""

    def __init__(self, seed: int, kinds: Sequence[Noise], speech: Speech, seconds: int = 60) -> None:
        rng = np.random.default_rng(seed)
        pieces = [np.concatenate([kind(rng, 5 * RATE, speech) for _ in range(seconds // 5)]) for kind in kinds]
        self.kinds = [(x / x.std()).astype(np.float32) for x in pieces]

    def __call__(self, rng: Random, n: int) -> np.ndarray:
        noise = self.kinds[rng.integers(len(self.kinds))]
        start = int(rng.integers(len(noise)))
        return np.take(noise, np.arange(start, start + n), mode="wrap")


def room(rng: Random, x: np.ndarray, seconds: tuple[float, float]) -> np.ndarray:
    """The sound in a room that rings for a random time (60 dB): decaying noise after the direct sound."""
    ring = rng.uniform(*seconds)
    t = np.arange(int(ring * RATE)) / RATE
    echo = rng.standard_normal(len(t)) * 10 ** (-3 * t / ring)
    echo[: int(rng.integers(16, 160))] = 0
    echo *= rng.uniform(0.1, 0.8) / np.sqrt(np.sum(echo**2) + 1e-9)
    echo[0] = 1
    return fftconvolve(x.astype(np.float32), echo.astype(np.float32))


def microphone(rng: Random, x: np.ndarray, decibels: float) -> np.ndarray:
    """A random smooth frequency response and tilt."""
    n = 1 << (len(x) - 1).bit_length()
    octave = np.log2(np.maximum(np.arange(n // 2 + 1) * RATE / n, 50) / 50)  # 0..7.3
    points = rng.normal(0, decibels, 8) + rng.normal(0, decibels / 4) * np.linspace(-2, 2, 8)
    response = 10 ** (np.interp(octave, np.linspace(0, 7.4, 8), points) / 20)
    return np.fft.irfft(np.fft.rfft(x, n) * response, n)[: len(x)]


def resampled(x: np.ndarray, factor: float) -> np.ndarray:
    """Faster and higher by a factor, formants too: another size of speaker."""
    return np.interp(np.arange(0, len(x) - 1, factor), np.arange(len(x)), x)


def level(x: np.ndarray) -> float:
    """The root mean square of the loud tenths of seconds, which silence around a word does not change."""
    blocks = x[: len(x) // 1600 * 1600].reshape(-1, 1600) if len(x) >= 3200 else x[None]
    powers = np.sort((blocks**2).mean(1))
    return float(np.sqrt(powers[len(powers) // 2 :].mean() + 1e-12))
