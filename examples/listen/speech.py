"""What training hears: the words and other speech of espeak-ng, in as many voices and manners as it has, of two
voices of flite, two of pico, Kokoro's, Joe's, and those of MBROLA.

Half of the words are spoken again by another throat: resonances moved, and the voice replaced by one made here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from neural import kokoro_voices
from sounds import Random
from voices import ACCENTS, HELD_OUT, RATE, Voice, say, variants
from words import SAID, SPOKEN, WORDS, near, sentences, word_list

FOLDER = Path("build/listen")
LANGUAGES = ("de", "sv", "nb", "it", "pt-br", "cs", "ro", "cy")  # whose sounds are near to English ones
MARKS = ("", "", ".", "!", "?", ",")
FRAME, EVERY = 400, 120  # samples of a spectrum, and to the next one

Group = list[np.ndarray]


def voice(rng: Random, names: Sequence[str], language: str | None = None) -> Voice:
    """American as often as all other accents together."""
    accent = language or ("en-us" if rng.random() < 0.4 else rng.choice(ACCENTS))
    return Voice("espeak", f"{accent}+{rng.choice(names)}", rng.uniform(0.3, 1.9), rng.uniform(0.65, 1.35))


def word_line(rng: Random, word: str, names: Sequence[str]) -> tuple[str, Voice]:
    """By the accent's dictionary, or by sounds, which a voice of another language may say."""
    mark = rng.choice(MARKS)
    if rng.random() < 0.5:
        return f"{word}{mark}", voice(rng, names)
    language = str(rng.choice(LANGUAGES)) if word != "right" and rng.random() < 0.35 else None  # they roll its r
    return f"[[{rng.choice(SAID[word])}]]{mark}", voice(rng, names, language)


def espeak(names: Sequence[str], each: int, texts: int, seed: int) -> list[Group]:
    """Every word `each` times, and other speech, in random voices of espeak-ng."""
    rng = np.random.default_rng(seed)
    others = [*near() * 4, *word_list(seed, texts), *sentences("GFDL-1.3", "LGPL-2.1", "Artistic")[: texts // 2]]
    lines = [word_line(rng, word, names) for word in WORDS for _ in range(each)]
    for text in others:
        language = str(rng.choice(LANGUAGES)) if rng.random() < 0.15 else None
        lines.append((text, voice(rng, names, language)))
    return _groups(rng, lines, each)


def recorded(synthesizer: str, names: Sequence[str], each: int, texts: int, seed: int) -> list[Group]:
    """The same in voices that were put together from what people said."""
    rng = np.random.default_rng(seed)
    others = [*word_list(seed, texts), *sentences("GFDL-1.3", "LGPL-2.1")[-texts // 2 :]]
    said = [f"{word}{rng.choice(MARKS)}" for word in WORDS for _ in range(each)]
    lines = [
        (text, Voice(synthesizer, str(rng.choice(names)), rng.uniform(0.7, 1.35), rng.uniform(0.7, 1.4)))
        for text in (*said, *others)
    ]
    return _groups(rng, lines, each)


def kokoro(each: int, texts: int, seed: int) -> list[Group]:
    """The same in Kokoro's voices and mixtures of two; most are of people who speak English."""
    rng = np.random.default_rng(seed)
    names = kokoro_voices()
    english = [name for name in names if name[0] in "ab"]

    def one() -> Voice:
        first, second = (rng.choice(english if rng.random() < 0.8 else names) for _ in range(2))
        mixed = f"{first} {second} {rng.random():.2f}" if rng.random() < 0.6 else str(first)
        return Voice("kokoro", mixed, pace=rng.uniform(0.75, 1.3))

    random = word_list(seed, 3 * texts)[len(near()) :]
    threes = [". ".join(random[i : i + 3]) for i in range(0, len(random), 3)]
    others = [*near() * 3, *threes, *sentences("GFDL-1.2", "Artistic")[:texts]]
    said = [f"[[{rng.choice(SPOKEN[word])}]]{rng.choice(('.', '.', '!', '?'))}" for word in WORDS for _ in range(each)]
    return _groups(rng, [(text, one()) for text in (*said, *others)], each)


def _groups(rng: Random, lines: Sequence[tuple[str, Voice]], each: int) -> list[Group]:
    """What is said of each word, then other speech; half of the words and some of the rest from another throat."""
    said = say(lines)
    other = rng.random(len(said)) < [0.5 if len(x) < RATE else 0.2 for x in said]
    seeds = rng.integers(1 << 62, size=len(said))
    with ProcessPoolExecutor(2) as pool:
        said = list(pool.map(_perhaps_revoiced, said, other, seeds, chunksize=64))
    words = [said[i * each : (i + 1) * each] for i in range(len(WORDS))]
    return [*words, said[each * len(WORDS) :]]


def _perhaps_revoiced(x: np.ndarray, other: bool, seed: int) -> np.ndarray:
    return revoiced(np.random.default_rng(seed), x) if other else x


def kept(name: str, make: Callable[[], list[Group]]) -> tuple[list[Group], Group]:
    """Speech that is made once: the words, then all else."""
    file = FOLDER / f"{name}.npz"
    if not file.exists():
        groups = make()
        flat = [x for group in groups for x in group]
        FOLDER.mkdir(parents=True, exist_ok=True)
        np.savez(
            file, samples=np.rint(np.concatenate(flat) * 32767).astype(np.int16),
            cuts=np.cumsum([len(x) for x in flat]), sizes=[len(group) for group in groups],
        )  # fmt: skip
    with np.load(file) as data:
        flat = np.split(data["samples"].astype(np.float32) / 32767, data["cuts"][:-1])
        ends = np.cumsum(data["sizes"])
    groups = [flat[end - size : end] for end, size in zip(ends, np.diff([0, *ends]), strict=True)]
    return groups[:-1], groups[-1]


def of_espeak() -> tuple[list[Group], Group]:
    return kept("espeak", lambda: espeak([name for name in variants() if name not in HELD_OUT], 1300, 2600, seed=1))


def of_flite() -> tuple[list[Group], Group]:
    return kept("flite", lambda: recorded("flite", ("awb", "rms"), 400, 900, seed=9))


def of_pico() -> tuple[list[Group], Group]:
    return kept("pico", lambda: recorded("pico", ("en-US", "en-GB"), 400, 900, seed=10))


def of_kokoro() -> tuple[list[Group], Group]:
    return kept("kokoro", lambda: kokoro(350, 250, seed=14))


def of_joe() -> tuple[list[Group], Group]:
    return kept("joe", lambda: recorded("joe", ("joe",), 250, 500, seed=15))


def of_mbrola() -> tuple[list[Group], Group]:
    """espeak-ng's sounds, spoken by pieces of four people's speech."""
    return kept("mbrola", lambda: recorded("espeak", ("mb-us1", "mb-us2", "mb-us3", "mb-en1"), 400, 600, seed=16))


def of_accents() -> tuple[list[Group], Group]:
    """The same with pieces of people who speak other languages."""
    languages = ("af1", "de2", "de4", "de5", "fr1", "gr2", "hu1", "nl2", "pl1", "ro1", "sw1", "sw2")
    return kept("accents", lambda: recorded("espeak", [f"mb-{name}-en" for name in languages], 400, 600, seed=17))


def held_out() -> tuple[list[Group], Group]:
    """Of voices of espeak-ng that training does not hear."""
    return kept("held-out", lambda: espeak(HELD_OUT, 60, 300, seed=2))


def revoiced(rng: Random, x: np.ndarray) -> np.ndarray:
    """The same sounds from another throat: linear prediction, its resonances moved and widened, and what excites them
    mixed with pulses of another pitch and with breath."""
    order, width = int(rng.integers(14, 23)), rng.uniform(0.95, 1.0)
    bend, slope = rng.uniform(-0.12, 0.12), rng.uniform(-0.08, 0.08)
    mix = rng.choice([0.0, rng.uniform(0, 1), 1.0])  # of the new voice
    breath = rng.choice([rng.uniform(0, 0.25), rng.uniform(0.2, 1.0)], p=[0.85, 0.15])
    bright = rng.uniform(0.8, 0.97)
    lifted = lfilter([1, -0.95], [1], np.concatenate([np.zeros(FRAME // 2), x, np.zeros(FRAME)]))
    pulses = _pulses(rng, len(lifted))
    window, powers = np.hanning(FRAME), width ** np.arange(order + 1)
    y, memory, inverse = np.zeros(len(x)), np.zeros(order), np.zeros(order)
    for at in range(0, len(x) - EVERY, EVERY):
        frame = lifted[at : at + FRAME] * window
        spectrum = np.abs(np.fft.rfft(frame, 1024)) ** 2
        likeness = np.fft.irfft(spectrum)
        if likeness[0] < 1e-7:
            memory *= 0.9
            continue
        r = likeness[: order + 1].copy()
        r[0] *= 1.0001
        filter_ = np.concatenate([[1.0], -solve_toeplitz(r[:-1], r[1:])])
        middle = slice(at + FRAME // 2, at + FRAME // 2 + EVERY)
        rest, inverse = lfilter(filter_, [1], lifted[middle], zi=inverse)
        strength = np.sqrt(np.mean(rest**2) + 1e-12)
        voiced = likeness[40:267].max() / likeness[0] > 0.35  # 60 to 400 Hz
        noise = rng.standard_normal(EVERY)
        made = (1 - breath) * pulses[middle] + breath * noise if voiced else noise
        excitation = (1 - mix) * rest + mix * strength * made
        moved = _moved(filter_, bend, slope) * powers
        y[at : at + EVERY], memory = lfilter([1.0], moved, excitation, zi=memory)
    y = np.clip(lfilter([1.0], [1.0, -bright], y), -1e3, 1e3)
    return (y * (0.5 / (np.abs(y).max() + 1e-9))).astype(np.float32)


def _moved(filter_: np.ndarray, bend: float, slope: float) -> np.ndarray:
    """Resonances at other frequencies: all by a share, and low against high ones."""
    poles = np.roots(filter_)
    angle = np.angle(poles)
    share = np.abs(angle) / np.pi
    moved = np.clip(angle * (1 + bend + slope * np.cos(2 * np.pi * share)), -np.pi, np.pi)
    return np.poly(np.minimum(np.abs(poles), 0.995) * np.exp(1j * moved)).real


def _pulses(rng: Random, n: int) -> np.ndarray:
    """A voice's pulses: a pitch that falls or rises and wavers, of mean square one."""
    pitch = np.exp(rng.uniform(np.log(75), np.log(280))) * np.linspace(1, rng.uniform(0.7, 1.3), n)
    points = np.arange(0, n + 400, 400)
    waver = np.interp(np.arange(n), points, rng.normal(0, 0.02, len(points)))
    phase = np.cumsum(pitch * (1 + waver)) / RATE
    x = np.zeros(n)
    x[1:][np.diff(np.floor(phase)) > 0] = 1
    x = lfilter([1.0, -0.9], [1.0], lfilter([1.0], [1.0, -rng.uniform(0.5, 0.95)], x))
    return x / np.sqrt(np.mean(x**2) + 1e-9)
