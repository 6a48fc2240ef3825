"""Writes the test recording, a text file with its words and when they end, and sound to calibrate int8 with.

    python examples/listen/record.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import sounds
from model import listen
from unheard import for_tests
from voices import ACCENTS, HELD_OUT, RATE, Voice, say, variants, write_wav
from windows import Conditions, heard
from words import WORDS

RECORDINGS = Path(__file__).resolve().with_name("recordings")
SEED = 21
SAID = [
    ("yes", Voice("festival", "kal_diphone")),
    ("left", Voice("festival", "ked_diphone")),
    ("seven", Voice("festival", "kal_diphone", pace=0.95)),
    ("stop", Voice("festival", "ked_diphone", pace=0.95)),
    ("go", Voice("festival", "kal_diphone", pace=0.9)),
    ("table", Voice("festival", "ked_diphone")),
    ("down", Voice("festival", "kal_diphone", pace=0.95)),
    ("right", Voice("festival", "ked_diphone", pace=0.9)),
    ("off", Voice("festival", "kal_diphone", pace=0.9)),
]


def commands(seconds: float = 10.0) -> tuple[np.ndarray, list[tuple[float, str]]]:
    """Seven words and two others in two voices, in a room with noise; when each of the seven ends."""
    rng = np.random.default_rng(SEED)
    said = say(SAID)
    x, ends, at = np.zeros(int(seconds * RATE)), [], int(1.1 * RATE)
    for (text, _), sound in zip(SAID, said, strict=True):
        x[at : at + len(sound)] = sound[: len(x) - at]
        if text in WORDS:
            ends.append(((at + len(sound)) / RATE, text))
        at += len(sound) + int(rng.uniform(0.5, 0.7) * RATE)
    how = replace(for_tests().noisy, snr=(12, 20))
    return heard(rng, x, len(x), how), ends


def calibration() -> np.ndarray:
    """(4, samples) of voices that training heard, from loud to quiet: words and noise as training has them."""
    rng, length = np.random.default_rng(SEED + 1), listen()[1][0].shape[1]
    names = [name for name in variants() if name not in HELD_OUT]
    voices = [Voice("espeak", f"{ACCENTS[k % len(ACCENTS)]}+{rng.choice(names)}") for k in range(len(WORDS))]
    said = say(list(zip(WORDS, voices, strict=True)))
    noises = sounds.Bank(SEED, sounds.TRAINING, said, seconds=10)
    rows = []
    for k, loudness in enumerate((6, 14, 24, 40)):
        how = Conditions(noises, (0, 20), (loudness, loudness), (0.1, 0.3), 0.0, (1, 1))
        x = np.concatenate([part for word in said[k * 2 : k * 2 + 4] for part in (np.zeros(RATE // 8), word)])
        rows.append(heard(rng, np.pad(x, (0, length))[:length], length, how))
    return np.rint(np.stack(rows) * 32767).astype(np.float32) / 32768


def main() -> None:
    RECORDINGS.mkdir(exist_ok=True)
    samples, ends = commands()
    write_wav(RECORDINGS / "commands.wav", samples)
    (RECORDINGS / "commands.txt").write_text("".join(f"{end:.2f} {word}\n" for end, word in ends))
    np.savez_compressed(RECORDINGS / "calibrate.npz", samples=calibration())


if __name__ == "__main__":
    main()
