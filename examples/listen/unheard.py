"""Speech and noise that training never heard: flite's and festival's voices, and other kinds of noise.

Two voices of flite, with training's kinds of noise, are for choosing: thresholds, and how training varies its speech.
Those of festival, with noise of other kinds, are for the figures in README.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import sounds
from model import SAMPLES
from sounds import Random
from voices import RATE, Voice, say
from windows import Conditions, heard
from words import UNKNOWN, WORDS, sentences, word_list

CHOOSING = (("flite", "kal16"), ("flite", "slt"))
TESTING = (("festival", "kal_diphone"), ("festival", "ked_diphone"), ("festival", "cmu_us_slt_arctic_hts"))
TEXTS = {CHOOSING: ("LGPL-3", "GPL-1", "GPL-2"), TESTING: ("GPL-3", "MPL-2.0", "Apache-2.0", "CC0-1.0")}
Voices = Sequence[tuple[str, str]]


class Unheard:
    """Sound of some voices and kinds of noise, from a seed."""

    def __init__(self, seed: int, voices: Voices, kinds: Sequence[sounds.Noise]) -> None:
        self.seed, self.voices = seed, voices
        rng = np.random.default_rng(seed)
        chatter = [(text, self.voice(rng)) for text in self.texts()[:60]] if sounds.babble in kinds else []
        self.noises = sounds.Bank(seed, kinds, say(chatter))
        self.quiet = Conditions(self.noises, (25, 40), (12, 30), (0.1, 0.2), 2.0, (1, 1))
        self.noisy = Conditions(self.noises, (5, 20), (12, 30), (0.1, 0.4), 3.0, (1, 1))

    def texts(self) -> list[str]:
        return sentences(*TEXTS[tuple(self.voices)])

    def voice(self, rng: Random) -> Voice:
        synthesizer, name = self.voices[rng.integers(len(self.voices))]
        return Voice(synthesizer, name, rng.uniform(0.85, 1.2), rng.uniform(0.8, 1.25))

    def single_words(self, each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Voice]]:
        """Windows with one word each, quiet and noisy, their classes and voices; a tenth as many other words."""
        rng = np.random.default_rng(self.seed + 1)
        others = word_list(self.seed + 1000, 100)[-each:]
        lines = [(text, self.voice(rng)) for text in [*(w for w in WORDS for _ in range(each)), *others]]
        labels = np.array([*np.repeat(np.arange(len(WORDS)), each), *[UNKNOWN] * len(others)])
        said = say(lines)
        quiet, noisy = (np.stack([_placed(rng, x, how) for x in said]) for how in (self.quiet, self.noisy))
        return quiet, noisy, labels, [v for _, v in lines]

    def conversation(self, seconds: float) -> np.ndarray:
        """Other speech with pauses, in rooms, with noise that changes each half a minute: nothing to find in it."""
        rng = np.random.default_rng(self.seed + 2)
        texts = self.texts()
        order, parts, length = iter(rng.permutation(len(texts))), [], 0
        while length < seconds * RATE:
            chosen = [texts[next(order)] for _ in range(12)]
            who = [self.voice(rng)] * 6 + [self.voice(rng)] * 6
            said = say(list(zip(chosen, who, strict=True)))
            gaps = [np.zeros(int(rng.uniform(0.1, 1.5) * RATE)) for _ in said]
            speech = np.concatenate([x for pair in zip(said, gaps, strict=True) for x in pair])
            parts.append(heard(rng, speech, len(speech), self.noisy if rng.random() < 0.7 else self.quiet))
            length += len(speech)
        return np.concatenate(parts)[: int(seconds * RATE)]

    def commands(self, count: int) -> tuple[np.ndarray, list[tuple[float, str]]]:
        """Words, one after the other, in rooms with noise; when each of the words ends, in seconds."""
        rng = np.random.default_rng(self.seed + 3)
        lines = [(WORDS[k % len(WORDS)], self.voice(rng)) for k in rng.permutation(count)]
        said, parts, ends, at = say(lines), [], [], 0
        for start in range(0, count, 10):
            piece: list[np.ndarray] = []
            for (text, _), sound in zip(lines[start : start + 10], said[start : start + 10], strict=True):
                piece += [np.zeros(int(rng.uniform(0.4, 1.2) * RATE)), sound]
                ends.append(((at + sum(map(len, piece))) / RATE, text))
            speech = np.concatenate([*piece, np.zeros(RATE // 2)])
            parts.append(heard(rng, speech, len(speech), self.noisy if rng.random() < 0.7 else self.quiet))
            at += len(speech)
        return np.concatenate(parts), ends

    def noise(self, seconds: float) -> np.ndarray:
        """Noise alone, of any kind and level."""
        rng = np.random.default_rng(self.seed + 4)
        parts = []
        for _ in range(int(np.ceil(seconds / 20))):
            x = self.noises(rng, 20 * RATE)
            parts.append(x / sounds.level(x) * 10 ** (-rng.uniform(12, 50) / 20))
        return np.clip(np.concatenate(parts)[: int(seconds * RATE)], -1, 1).astype(np.float32)


def _placed(rng: Random, said: np.ndarray, how: Conditions) -> np.ndarray:
    """The word near the end of its second, as a stream has it when it should answer."""
    x = np.zeros(SAMPLES)
    said = said[: SAMPLES - 1600]
    at = int(rng.uniform(0.3, 0.9) * (SAMPLES - len(said)))
    x[at : at + len(said)] = said
    return np.rint(heard(rng, x, SAMPLES, how) * 32767).astype(np.int16)


def for_tests() -> Unheard:
    return Unheard(11, TESTING, sounds.UNHEARD)


def kept(choosing: bool = False, folder: Path = Path("build/listen")) -> dict[str, np.ndarray]:
    """All of it, made once: making an hour of speech takes minutes."""
    target = folder / ("choosing.npz" if choosing else "testing.npz")
    if not target.exists():
        found = Unheard(71, CHOOSING, sounds.TRAINING) if choosing else for_tests()
        quiet, noisy, labels, voices = found.single_words(60)
        spoken, ends = found.commands(300)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(
            target, quiet=quiet, noisy=noisy, labels=labels, voices=[f"{v.synthesizer} {v.name}" for v in voices],
            commands=_int16(spoken), ends=[end for end, _ in ends], words=[word for _, word in ends],
            conversation=_int16(found.conversation(1800 if choosing else 3600)), noise=_int16(found.noise(1800)),
        )  # fmt: skip
    with np.load(target) as data:
        return dict(data)


def _int16(samples: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16)


if __name__ == "__main__":
    kept()
