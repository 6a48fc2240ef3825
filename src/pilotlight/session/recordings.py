"""Recordings from wav files, as a model takes them."""

from __future__ import annotations

import wave
from math import prod
from pathlib import Path

import numpy as np
import torch

from pilotlight.errors import PilotlightError, no_file
from pilotlight.graph import Graph

_UNKNOWN = 0x7FFE0000  # bytes, or more: the length in the header of a file that was written to a pipe
_FULL = {1: 128.0, 2: 32768.0, 3: 8388608.0, 4: 2147483648.0}  # by bytes of a sample: what stands for 1.0


def read_recording(path: Path, step: Graph) -> tuple[list[torch.Tensor], int]:
    """The samples of a wav file in the shape of the model's input, from -1 to 1 in a float model, and their rate.

    The file has as many channels as the model has numbers for each sample, and the model's rate where that is known.
    """
    streaming = step.streaming
    assert streaming is not None
    samples, width, rate = _read(path)
    if streaming.rate is not None and rate != streaming.rate:
        raise PilotlightError(
            f"{path} has {rate:,} samples a second; the model takes {streaming.rate:,g}",
            hint=f"resample it, such as with: sox {path.name} -r {streaming.rate:g} resampled.wav", kind="wrong-input",
        )
    if len(step.inputs) != 1:
        raise PilotlightError(
            f"{step.name} has {len(step.inputs)} inputs; a wav file is one",
            hint="give the recordings as an .npz file with one array for each input", kind="wrong-input",
        )
    if len(samples) < streaming.hop:
        raise PilotlightError(
            f"{path} has {len(samples)} samples; the hop alone has {streaming.hop}", kind="wrong-input")
    return [_shaped(path, samples, width, step)], rate


def _read(path: Path) -> tuple[np.ndarray, int, int]:
    """Integers (samples, channels), bytes in each, and samples a second."""
    if not path.is_file():
        raise no_file(path)
    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate, count = file.getparams()[:4]
            data = file.readframes(count)
    except (wave.Error, EOFError, OSError, ValueError) as error:
        raise PilotlightError(
            f"{path} cannot be read: {str(error) or 'it ends before any samples'}",
            hint="write it as a wav file of integers (PCM)", kind="broken-file",
        ) from error
    if width not in _FULL or not channels:
        raise PilotlightError(
            f"{path} has samples of {8 * width} bits; expected 8, 16, 24 or 32", kind="broken-file")
    if len(data) < count * channels * width < _UNKNOWN:
        raise PilotlightError(
            f"{path} is cut short: expected {count:,} samples, got {len(data) // (channels * width):,}",
            hint="record or copy it again; a sound editor can save what is there", kind="broken-file",
        )
    whole = len(data) - len(data) % (channels * width)
    bytes_ = np.frombuffer(data[:whole], np.uint8).reshape(-1, channels, width)
    if width == 1:
        return bytes_[..., 0].astype(np.int64) - 128, width, rate
    numbers = sum(bytes_[..., k].astype(np.int64) << (8 * k) for k in range(width))
    return np.where(numbers >= 1 << (8 * width - 1), numbers - (1 << (8 * width)), numbers), width, rate


def _shaped(path: Path, samples: np.ndarray, width: int, step: Graph) -> torch.Tensor:
    port, wanted = step.inputs[0], channels_of(step)
    if samples.shape[1] != wanted:
        channels = samples.shape[1]
        what = {1: "one channel", 2: "two channels (stereo)"}.get(channels, f"{channels} channels")
        raise PilotlightError(
            f"{path} has {what}; the model takes {wanted} number{'s' if wanted != 1 else ''} for each sample",
            hint=f"mix it down, such as with: sox {path.name} mono.wav remix -" if channels > wanted else None,
            kind="wrong-input",
        )
    dtype = port.value.dtype
    if dtype.kind == "f":
        data = (samples / _FULL[width]).astype(np.float32)
    elif dtype.kind in "iu" and 8 * width <= 8 * dtype.size:
        data = samples.astype(dtype.numpy)
    else:
        raise PilotlightError(
            f"{path} has samples of {8 * width} bits; input {port.name} is {dtype}", kind="wrong-input")
    return laid_out(data, step)


def channels_of(step: Graph) -> int:
    """Numbers that a model takes for each sample."""
    assert step.streaming is not None
    return prod(step.inputs[0].shape) // step.streaming.hop


def laid_out(data: np.ndarray, step: Graph) -> torch.Tensor:
    """Samples (samples, channels) in the order of a model's dimensions."""
    assert step.streaming is not None
    shape = step.inputs[0].shape
    axis = step.streaming.axis % len(shape)
    others = [size for k, size in enumerate(shape) if k != axis]
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(data.reshape(len(data), *others), 0, axis)))
