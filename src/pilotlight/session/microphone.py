"""The microphone of this computer feeds a streaming model on a board.

`sounddevice`, which is optional, reads the microphone. A hop of samples at a time goes to the board; while that
computes, the sound card collects the next ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pilotlight.compiler import Build
from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.graph import Graph
from pilotlight.graph.streaming import FRAMES
from pilotlight.session.recordings import channels_of, laid_out

Heard = Callable[[int, list[torch.Tensor]], None]  # samples up to now, and the outputs of this step


@dataclass
class Listened:
    """How long it was listened, and how often samples were lost because the board had not finished."""

    samples: int = 0
    steps: int = 0
    lost: int = 0
    busy_s: float = 0.0  # computing, on this computer


def listen(build: Build, heard: Heard, seconds: float | None = None, microphone: str | None = None) -> Listened:
    """Feed the microphone to a streaming model until the time is over or Ctrl-C."""
    step, streaming = build.graph, build.graph.streaming
    if streaming is None:
        raise PilotlightError("only a streaming model listens", hint="add --stream hop=320 --rate 16000", kind="usage")
    if streaming.rate is None:
        raise PilotlightError("the samples a second are not known", hint="add --rate 16000", kind="usage")
    if len(step.inputs) != 1:
        raise PilotlightError(f"{step.name} has {len(step.inputs)} inputs; a microphone is one", kind="wrong-input")
    dtype = step.inputs[0].value.dtype
    kind = {"float32": "float32", "int16": "int16"}.get(str(dtype))
    if kind is None:
        raise PilotlightError(f"input {step.inputs[0].name} is {dtype}; a microphone gives float32 or int16",
                              kind="wrong-input")
    sounds = _sounddevice()
    listened = Listened()
    with build.open(count=False) as running, _opened(sounds, streaming.rate, streaming.hop, channels_of(step), kind,
                                                     microphone) as stream:
        try:
            while seconds is None or listened.samples < seconds * streaming.rate:
                data, overflowed = stream.read(streaming.hop)
                start = time.perf_counter()
                outputs = running.flat([laid_out(data, step)])
                listened.busy_s += time.perf_counter() - start
                listened.samples += streaming.hop
                listened.steps += 1
                listened.lost += bool(overflowed)
                heard(listened.samples, outputs)
        except KeyboardInterrupt:
            pass
    return listened


def newest(step: Graph, outputs: list[torch.Tensor]) -> torch.Tensor:
    """The first output: of several frames the last one."""
    assert step.streaming is not None
    output = step.streaming.outputs[0]
    return outputs[0].select(output.axis, -1) if output.kind == FRAMES else outputs[0]


def _sounddevice() -> Any:
    try:
        import sounddevice
    except ImportError:
        raise MissingToolError(
            "sounddevice", None, "to read the microphone", "pip install 'pilotlight[microphone]'"
        ) from None
    except OSError as error:  # the package is there, its library is not
        raise MissingToolError("PortAudio", "libportaudio2", f"by sounddevice ({error})") from None
    return sounddevice


def _opened(sounds: Any, rate: float, hop: int, channels: int, kind: str, microphone: str | None) -> Any:
    try:
        return sounds.InputStream(samplerate=rate, blocksize=hop, channels=channels, dtype=kind, device=microphone)
    except (sounds.PortAudioError, ValueError) as error:
        raise PilotlightError(
            f"the microphone cannot be opened with {channels} channel{'s' if channels != 1 else ''} of {rate:g} "
            f"samples a second: {error}",
            hint="python -m sounddevice lists what there is; --microphone names another", kind="no-device",
        ) from None
