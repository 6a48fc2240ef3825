"""Windows of about a second to train and to test with: a word, other speech or none, in a room, with noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sounds import Random, Speech, level, microphone, resampled, room
from voices import RATE
from words import SILENCE, UNKNOWN


@dataclass(frozen=True)
class Conditions:
    """How hard it is made; ranges are (least, most)."""

    noises: Callable[[Random, int], np.ndarray]
    snr: tuple[float, float]
    loudness: tuple[float, float]  # dB below full scale
    ring: tuple[float, float]  # seconds
    response: float  # dB of the microphone
    size: tuple[float, float]  # of the speaker: pitch, formants and pace together


def heard(rng: Random, x: np.ndarray, n: int, how: Conditions) -> np.ndarray:
    """n samples of x as a microphone in a room with noise would give them."""
    if rng.random() < 0.6:
        x = room(rng, x, how.ring)[:n]
    loudness = 10 ** (-rng.uniform(*how.loudness) / 20)
    signal = level(x) if x.any() else 0.1
    noise = how.noises(rng, n)
    mixed = x + noise * (signal / level(noise) * 10 ** (-rng.uniform(*how.snr) / 20))
    if how.response > 0:
        mixed = microphone(rng, mixed, how.response)
    return np.clip(mixed * (loudness / signal), -1, 1).astype(np.float32)


def word_window(rng: Random, said: np.ndarray, n: int, others: Speech, how: Conditions) -> np.ndarray:
    """The word anywhere in the window, all of it, sometimes with speech before and after it."""
    said = resampled(said, rng.uniform(*how.size))[: n - 800]
    x = np.zeros(n)
    at = int(rng.integers(0, n - len(said)))
    if rng.random() < 0.4:
        before, after = (others[rng.integers(len(others))] for _ in range(2))
        gap, later = rng.integers(600, 5000, 2)
        end = max(at - int(gap), 0)
        x[max(end - len(before), 0) : end] = before[len(before) - min(end, len(before)) :]
        start = min(at + len(said) + int(later), n)
        x[start : start + len(after)] = after[: n - start]
        x *= rng.uniform(0.3, 1)
    x[at : at + len(said)] += said
    return heard(rng, x, n, how)


def other_window(rng: Random, others: Speech, n: int, how: Conditions) -> np.ndarray:
    """Other speech, cut anywhere."""
    factor, x = rng.uniform(*how.size), np.zeros(0)
    skipped = int(rng.integers(0, RATE // 2))
    while len(x) < n + skipped:
        gap = np.zeros(int(rng.integers(0, RATE // 3)))
        x = np.concatenate([x, gap, resampled(others[rng.integers(len(others))], factor)])
    return heard(rng, x[skipped : skipped + n], n, how)


def partial_window(rng: Random, said: np.ndarray, n: int, how: Conditions) -> np.ndarray:
    """Less than half of a word at an edge of the window: too early or too late to tell."""
    said = resampled(said, rng.uniform(*how.size))
    seen = int(rng.uniform(0.1, 0.4) * len(said))
    x = np.zeros(n)
    if rng.random() < 0.5:
        x[n - seen :] = said[:seen]
    else:
        x[:seen] = said[len(said) - seen :]
    return heard(rng, x, n, how)


def windows(
    seed: int, words: Sequence[Speech], others: Speech, n: int, counts: tuple[int, int, int], how: Conditions
) -> tuple[np.ndarray, np.ndarray]:
    """(count, n) int16 samples and their classes: counts of each word, of other speech, of silence."""
    rng = np.random.default_rng(seed)
    each, unknown, silence = counts
    total = each * len(words) + unknown + silence
    x, y = np.empty((total, n), np.int16), np.empty(total, np.int64)
    order = rng.permutation(total)
    for k, row in enumerate(order):
        if k < each * len(words):
            label = k % len(words)
            said = words[label][rng.integers(len(words[label]))]
            window = word_window(rng, said, n, others, how)
        elif k < each * len(words) + unknown:
            label = UNKNOWN
            if rng.random() < 0.15:
                spoken = words[rng.integers(len(words))]
                window = partial_window(rng, spoken[rng.integers(len(spoken))], n, how)
            else:
                window = other_window(rng, others, n, how)
        else:
            label = SILENCE
            window = heard(rng, np.zeros(n), n, how) * 10 ** rng.uniform(-1.5, 0)
        x[row], y[row] = np.rint(window * 32767), label
    return x, y
