"""Speech and noise that training never heard: flite's and festival's voices, and other kinds of noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sounds
from model import SAMPLES
from sounds import Random
from voices import FESTIVAL, FLITE, RATE, Voice, say
from windows import Conditions, heard
from words import UNKNOWN, WORDS, sentences, word_list

NOISES = sounds.Bank(6, sounds.UNHEARD, ())
QUIET = Conditions(NOISES, (25, 40), (12, 30), (0.1, 0.2), 2.0, (1, 1))
NOISY = Conditions(NOISES, (5, 20), (12, 30), (0.1, 0.4), 3.0, (1, 1))


def voice(rng: Random) -> Voice:
    every = [("flite", name) for name in FLITE] + [("festival", name) for name in FESTIVAL]
    synthesizer, name = every[rng.integers(len(every))]
    return Voice(synthesizer, name, rng.uniform(0.85, 1.2), rng.uniform(0.8, 1.25))


def single_words(seed: int, each: int, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Voice]]:
    """Windows with one word each, quiet and noisy, their classes and voices; a tenth as many other words."""
    rng = np.random.default_rng(seed)
    others = word_list(seed + 1000, 100)[-each:]
    lines = [(text, voice(rng)) for text in [*(w for w in WORDS for _ in range(each)), *others]]
    labels = np.array([*np.repeat(np.arange(len(WORDS)), each), *[UNKNOWN] * len(others)])
    said = say(lines)
    quiet, noisy = (np.stack([_placed(rng, x, samples, how) for x in said]) for how in (QUIET, NOISY))
    return quiet, noisy, labels, [v for _, v in lines]


def _placed(rng: Random, said: np.ndarray, samples: int, how: Conditions) -> np.ndarray:
    """The word near the end of its second, as a stream has it when it should answer."""
    x = np.zeros(samples)
    said = said[: samples - 1600]
    at = int(rng.uniform(0.3, 0.9) * (samples - len(said)))
    x[at : at + len(said)] = said
    return np.rint(heard(rng, x, samples, how) * 32767).astype(np.int16)


def conversation(seed: int, seconds: float) -> np.ndarray:
    """Other speech with pauses, in rooms, with noise that changes each half a minute: nothing to find in it."""
    rng = np.random.default_rng(seed)
    texts = sentences("GPL-3", "MPL-2.0", "Apache-2.0", "CC0-1.0")
    order, parts, length = iter(rng.permutation(len(texts))), [], 0
    while length < seconds * RATE:
        chosen = [texts[next(order)] for _ in range(12)]
        who = [voice(rng)] * 6 + [voice(rng)] * 6
        said = say(list(zip(chosen, who, strict=True)))
        gaps = [np.zeros(int(rng.uniform(0.1, 1.5) * RATE)) for _ in said]
        speech = np.concatenate([x for pair in zip(said, gaps, strict=True) for x in pair])
        parts.append(heard(rng, speech, len(speech), NOISY if rng.random() < 0.7 else QUIET))
        length += len(speech)
    return np.concatenate(parts)[: int(seconds * RATE)]


def commands(seed: int, count: int) -> tuple[np.ndarray, list[tuple[float, str]]]:
    """Words, one after the other, in rooms with noise; when each of the words ends, in seconds."""
    rng = np.random.default_rng(seed)
    lines = [(WORDS[k % len(WORDS)], voice(rng)) for k in rng.permutation(count)]
    said, parts, ends, at = say(lines), [], [], 0
    for start in range(0, count, 10):
        piece: list[np.ndarray] = []
        for (text, _), sound in zip(lines[start : start + 10], said[start : start + 10], strict=True):
            piece += [np.zeros(int(rng.uniform(0.4, 1.2) * RATE)), sound]
            ends.append(((at + sum(map(len, piece))) / RATE, text))
        speech = np.concatenate([*piece, np.zeros(RATE // 2)])
        parts.append(heard(rng, speech, len(speech), NOISY if rng.random() < 0.7 else QUIET))
        at += len(speech)
    return np.concatenate(parts), ends


def noise(seed: int, seconds: float) -> np.ndarray:
    """Noise alone, of any kind and level."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(int(np.ceil(seconds / 20))):
        x = NOISES(rng, 20 * RATE)
        parts.append(x / sounds.level(x) * 10 ** (-rng.uniform(12, 50) / 20))
    return np.clip(np.concatenate(parts)[: int(seconds * RATE)], -1, 1).astype(np.float32)


def kept(folder: Path = Path("build/listen")) -> dict[str, np.ndarray]:
    """All of it, made once: making an hour of speech takes minutes."""
    target = folder / "unheard.npz"
    if not target.exists():
        quiet, noisy, labels, voices = single_words(11, 60, SAMPLES)
        spoken, ends = commands(13, 300)
        np.savez(
            target, quiet=quiet, noisy=noisy, labels=labels, voices=[f"{v.synthesizer} {v.name}" for v in voices],
            commands=_int16(spoken), ends=[end for end, _ in ends], words=[word for _, word in ends],
            conversation=_int16(conversation(12, 3600)), noise=_int16(noise(14, 1800)),
        )  # fmt: skip
    with np.load(target) as data:
        return dict(data)


def _int16(samples: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16)


if __name__ == "__main__":
    kept()
