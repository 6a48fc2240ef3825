"""Words from speech synthesizers, as 16 kHz samples: festival to test with, all others to train with.

README.md says what has to be installed.
"""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
import wave
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import gcd
from pathlib import Path
from threading import Lock

import numpy as np
from scipy.signal import resample_poly

import neural

RATE = 16000
ACCENTS = ("en-us", "en-gb", "en-gb-x-rp", "en-gb-scotland", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029", "en-us-nyc")
# Variants of espeak-ng that training never hears; the rest it does.
HELD_OUT = ("f3", "m4", "klatt3", "Andrea", "edward", "Hugo", "linda", "Michael", "steph2", "victor")


@dataclass(frozen=True)
class Voice:
    """How a text is spoken; pitch and pace are relative to the voice's own."""

    synthesizer: str
    name: str
    pitch: float = 1.0
    pace: float = 1.0


def variants() -> list[str]:
    """The voices that espeak-ng makes from one accent."""
    lines = _run("espeak-ng", "--voices=variant").decode()
    return sorted(set(re.findall(r"!v/(\w+)", lines)))


def say(lines: Sequence[tuple[str, Voice]]) -> list[np.ndarray]:
    """The samples of each line, float32 in -1..1, silence at both ends cut off."""
    sounds: list[np.ndarray] = [np.zeros(0)] * len(lines)
    for synthesizer in {voice.synthesizer for _, voice in lines}:
        its = [i for i, (_, voice) in enumerate(lines) if voice.synthesizer == synthesizer]
        for i, sound in zip(its, _all_of(synthesizer, [lines[i] for i in its]), strict=True):
            sounds[i] = trimmed(sound)
    return sounds


def _all_of(synthesizer: str, lines: Sequence[tuple[str, Voice]]) -> list[np.ndarray]:
    if synthesizer == "festival":
        return _festival(lines)
    if synthesizer in NEURAL:
        say_all, rate = NEURAL[synthesizer]
        return [at_16k(x, rate) for x in say_all([(text, voice.name, voice.pace) for text, voice in lines])]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(_say, lines))


NEURAL = {"kokoro": (neural.kokoro, neural.KOKORO_RATE), "joe": (neural.joe, neural.JOE_RATE)}


def _run(program: str, *arguments: str) -> bytes:
    """What a synthesizer prints."""
    try:
        return subprocess.run([program, *arguments], capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise SystemExit(f"{program} is not installed; README.md says what to install") from None


def _say(line: tuple[str, Voice]) -> np.ndarray:
    text, voice = line
    if voice.synthesizer == "espeak":
        pitch, pace = round(np.clip(50 * voice.pitch, 0, 99)), round(170 * voice.pace)
        command = ["espeak-ng", "-v", voice.name, "-p", str(pitch), "-s", str(pace), "-z", "--stdout", text]
        return read_wav(_run(*command))
    if voice.synthesizer == "pico":
        return _pico(text, voice)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "said.wav"
        mean = {"kal16": 95, "awb": 130, "rms": 95, "slt": 170}[voice.name] * voice.pitch
        options = ["--setf", f"duration_stretch={1 / voice.pace:.3f}", "--setf", f"int_f0_target_mean={mean:.1f}"]
        _run("flite", "-voice", voice.name, *options, "-t", text, "-o", str(target))
        return read_wav(target.read_bytes())


def _pico(text: str, voice: Voice) -> np.ndarray:
    """SVOX Pico's voice of a language, which gives 16 kHz; one text at a time."""
    with _PICO_LOCK:
        engine = _pico_engine(voice.name)
        engine.rate, engine.pitch, engine.volume = round(100 * voice.pace), round(100 * voice.pitch), 50
        return np.frombuffer(engine.speak(text), "<i2").astype(np.float32) / 32768


_PICO_LOCK = Lock()


@cache
def _pico_engine(language: str):
    from ttspico import TtsEngine

    return TtsEngine(language)


def _festival(lines: Sequence[tuple[str, Voice]]) -> list[np.ndarray]:
    """All lines in one process: festival takes long to start. It ignores the pitch."""
    with tempfile.TemporaryDirectory() as folder:
        script = ["(define (line text file) (let ((u (utt.synth (eval (list 'Utterance 'Text text)))))",
                  f"  (utt.wave.resample u {RATE}) (utt.save.wave u file 'riff)))"]  # fmt: skip
        for i, (text, voice) in enumerate(lines):
            plain = re.sub(r'["\\]', "", text)
            script += [f"(voice_{voice.name})", f"(Parameter.set 'Duration_Stretch {1 / voice.pace:.3f})"]
            script += [f'(line "{plain}" "{folder}/{i}.wav")']
        (Path(folder) / "script.scm").write_text("\n".join(script))
        _run("festival", "-b", f"{folder}/script.scm")
        return [read_wav((Path(folder) / f"{i}.wav").read_bytes()) for i in range(len(lines))]


def read_wav(data: bytes) -> np.ndarray:
    """A mono wav file's samples at 16 kHz; espeak-ng writes to a pipe, where it cannot know the length."""
    with wave.open(io.BytesIO(data)) as file:
        rate = file.getframerate()
        samples = np.frombuffer(file.readframes(1 << 28), "<i2").astype(np.float32) / 32768
    return at_16k(samples, rate)


def at_16k(samples: np.ndarray, rate: int) -> np.ndarray:
    common = gcd(rate, RATE)
    return samples if rate == RATE else resample_poly(samples, RATE // common, rate // common).astype(np.float32)


def write_wav(target: Path, samples: np.ndarray) -> None:
    with wave.open(str(target), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.clip(np.rint(samples * 32768), -32768, 32767).astype("<i2").tobytes())


def trimmed(samples: np.ndarray) -> np.ndarray:
    """From the first to the last 10 ms above a hundredth of the loudest, at a peak of one half."""
    blocks = samples[: len(samples) // 160 * 160].reshape(-1, 160)
    loud = np.abs(blocks).max(1, initial=0)
    kept = np.flatnonzero(loud > 0.01 * loud.max(initial=1e-9))
    if not len(kept):
        return np.zeros(160, np.float32)
    cut = samples[kept[0] * 160 : (kept[-1] + 1) * 160]
    return cut * (0.5 / np.abs(cut).max())
