"""The truth of a stream: the user's module over the whole recording up to now, or over each of its windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from pilotlight.graph import Answers, Reference
from pilotlight.graph.streaming import FRAMES, WINDOW, StreamedOutput, Streaming


class StepAnswers:
    """The module, given the samples of one step after another."""

    def __init__(self, model: Answers, streaming: Streaming):
        self._model, self._streaming = model, streaming
        self.reset()

    def reset(self) -> None:
        self._model.reset()
        self._heard: list[torch.Tensor] = []
        self._steps = 0

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        new = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
        axis = self._streaming.axis
        self._heard = new if not self._heard else [
            torch.cat(pair, axis) for pair in zip(self._heard, new, strict=True)]
        self._steps += 1
        return answers_of_step(self._model, self._streaming, self._heard, self._steps - 1)


class StepReference:
    """A model's reference as that of its step."""

    stateful = True

    def __init__(self, model: Reference, streaming: Streaming):
        self._model, self._streaming = model, streaming
        self.name, self.keywords = model.name, model.keywords
        self.example = [x.narrow(streaming.axis, 0, streaming.hop) for x in model.example]

    def in_float32(self) -> Answers:
        return StepAnswers(self._model.in_float32(), self._streaming)

    def in_float64(self) -> Iterator[Answers]:
        for model in self._model.in_float64():
            yield StepAnswers(model, self._streaming)


def answers_of_step(
    model: Answers, streaming: Streaming, heard: Sequence[torch.Tensor], step: int
) -> list[torch.Tensor]:
    """What the model has for one step, given all samples up to its end."""
    kinds = [output.kind for output in streaming.outputs]
    whole = model(*heard) if FRAMES in kinds else []
    windows = model(*window_of(streaming, heard, step)) if WINDOW in kinds else []
    results = []
    for k, output in enumerate(streaming.outputs):
        if output.kind == FRAMES:
            results.append(frames_of_step(output, whole[k], step))
        elif output.kind == WINDOW:
            results.append(windows[k])
        else:
            results.append(model(*without_end(streaming, output, heard))[k])
    return results


def without_end(
    streaming: Streaming, output: StreamedOutput, heard: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """All samples but the last ones, which are not part of an answer yet."""
    return [x.narrow(streaming.axis, 0, x.shape[streaming.axis] - output.latency) for x in heard]


def window_of(streaming: Streaming, heard: Sequence[torch.Tensor], step: int) -> list[torch.Tensor]:
    """The samples of the model's window in a step, zeros before the first and after the last one."""
    start = step * streaming.hop + streaming.start
    return [_narrowed(x, streaming.axis, start, streaming.window) for x in heard]


def frames_of_step(output: StreamedOutput, whole: torch.Tensor, step: int) -> torch.Tensor:
    return _narrowed(whole, output.axis, step * output.frames + output.offset, output.frames)


def _narrowed(x: torch.Tensor, axis: int, start: int, length: int) -> torch.Tensor:
    """A part of a tensor along one axis; what is outside of it is zeros."""
    size = x.shape[axis]
    first, last = max(start, 0), min(start + length, size)
    shape = list(x.shape)
    shape[axis] = length
    result = x.new_zeros(shape)
    if first < last:
        result.narrow(axis, first - start, last - first).copy_(x.narrow(axis, first, last - first))
    return result
