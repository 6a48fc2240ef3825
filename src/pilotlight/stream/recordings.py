"""What a stream gives over whole recordings, put together so that it can be compared with the model over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from pilotlight.errors import PilotlightError
from pilotlight.graph import Answers, Reference
from pilotlight.graph.streaming import FRAMES, WINDOW, StreamedOutput, Streaming
from pilotlight.stream.reference import window_of, without_end

Steps = list[list[torch.Tensor]]
MOST_WINDOWS = 64  # of a recording that are compared: the model runs once for each


def steps_of(streaming: Streaming, recording: Sequence[torch.Tensor]) -> Steps:
    """The samples of each step; what is left of the last one is not used."""
    count = recording[0].shape[streaming.axis] // streaming.hop
    return [[x.narrow(streaming.axis, n * streaming.hop, streaming.hop) for x in recording] for n in range(count)]


def compared_steps(streaming: Streaming, output: StreamedOutput, count: int) -> list[int]:
    """The steps of an answer that are compared, among `count`: all that are warm, or some of them."""
    warm = range(output.warm, count)
    if not warm:
        raise too_short(streaming, (output.warm + 1) * streaming.hop, count * streaming.hop)
    if len(warm) <= MOST_WINDOWS:
        return list(warm)
    return sorted({warm[round(k * (len(warm) - 1) / (MOST_WINDOWS - 1))] for k in range(MOST_WINDOWS)})


def put_together(streaming: Streaming, results: Steps) -> list[torch.Tensor]:
    """The outputs of all steps, each as one tensor: the frames that are warm, or the answers that are compared."""
    found = []
    for k, output in enumerate(streaming.outputs):
        if output.kind == FRAMES:
            frames = torch.cat([row[k] for row in results], output.axis)
            begin = output.warm - output.offset
            count = frames.shape[output.axis] - begin - output.unlike
            if count < 1:
                steps = -(-(begin + output.unlike + 1) // output.frames)
                raise too_short(streaming, steps * streaming.hop, len(results) * streaming.hop)
            found.append(frames.narrow(output.axis, begin, count))
        else:
            found.append(torch.stack([results[n][k] for n in compared_steps(streaming, output, len(results))]))
    return found


def over_recording(streaming: Streaming, model: Answers, recording: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The same of the model itself: over the whole recording, or over each window."""
    count = recording[0].shape[streaming.axis] // streaming.hop
    used = [x.narrow(streaming.axis, 0, count * streaming.hop) for x in recording]
    kinds = {output.kind for output in streaming.outputs}
    whole = model(*used) if FRAMES in kinds else []
    found = []
    for k, output in enumerate(streaming.outputs):
        if output.kind == FRAMES:
            last = count * output.frames + output.offset - output.unlike
            if last <= output.warm or whole[k].shape[output.axis] < last:
                raise too_short(streaming, (count + 1) * streaming.hop, count * streaming.hop)
            found.append(whole[k].narrow(output.axis, output.warm, last - output.warm))
            continue
        answers = []
        for n in compared_steps(streaming, output, count):
            heard = [x.narrow(streaming.axis, 0, (n + 1) * streaming.hop) for x in used]
            given = window_of(streaming, heard, n) if output.kind == WINDOW else without_end(streaming, output, heard)
            answers.append(model(*given)[k])
        found.append(torch.stack(answers))
    return found


class RecordingAnswers:
    """The model, called with whole recordings."""

    def __init__(self, model: Answers, streaming: Streaming):
        self._model, self._streaming = model, streaming

    def reset(self) -> None:
        self._model.reset()

    def __call__(self, *recording: torch.Tensor) -> list[torch.Tensor]:
        return over_recording(self._streaming, self._model, recording)


class RecordingReference:
    """The truth of streamed recordings: the user's own module."""

    stateful = False

    def __init__(self, model: Reference, streaming: Streaming):
        self._model, self._streaming = model, streaming
        self.name, self.keywords, self.example = model.name, model.keywords, model.example

    def in_float32(self) -> Answers:
        return RecordingAnswers(self._model.in_float32(), self._streaming)

    def in_float64(self) -> Iterator[Answers]:
        for model in self._model.in_float64():
            yield RecordingAnswers(model, self._streaming)


def too_short(streaming: Streaming, needed: int, given: int) -> PilotlightError:
    return PilotlightError(
        f"a recording of {given} samples is too short to compare: with hop {streaming.hop} the first result of the "
        f"whole model comes after {needed}",
        hint=f"give a recording of at least {needed} samples, or capture the model with an example that long",
        kind="wrong-input",
    )
