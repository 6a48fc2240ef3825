"""Does a model do the same in a longer recording? A graph has one length, and numbers that come from it are constants
there; only the module itself can tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import torch

from pilotlight.capture.reference import ModuleReference, one_thread, variations
from pilotlight.errors import PilotlightError
from pilotlight.graph import Answers, Graph
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.graph.streaming import FRAMES, LATEST, WINDOW, StreamedOutput, Streaming
from pilotlight.stream.recordings import steps_of
from pilotlight.stream.reference import without_end

NEAR = 1e-3  # of the largest element
MOST_STEPS = 64  # that are computed here
HINT = ("take the length of the recording out of the model: numbers from x.shape, pooling to a number of frames, "
        "chunk, ceil_mode and x[..., -n:] mean something else in a longer one")


def check_lengths(graph: Graph, step: Graph) -> None:
    """Refuse a stream whose module gives other frames when more samples follow, or whose last frame of a shorter
    recording is not what the step gives. Neither a module that takes one length alone nor a file that holds a graph,
    whose numbers are constants too, can be asked."""
    streaming = step.streaming
    assert streaming is not None
    reference = graph.reference
    if not isinstance(reference, ModuleReference) or all(output.kind == WINDOW for output in streaming.outputs):
        return
    axis, length = streaming.axis, streaming.window
    longer = [torch.cat(pair, axis).narrow(axis, 0, length + streaming.hop)
              for pair in zip(*variations(reference.example, 2), strict=True)]
    with one_thread():
        for answers in (*islice(reference.in_float64(), 1), reference.in_float32()):
            if _compare_frames(streaming, answers, longer, graph.name):
                break
        _compare_latest(graph, step, reference.in_float32(), [x.narrow(axis, 0, length) for x in longer])


def _compare_frames(streaming: Streaming, answers: Answers, longer: Sequence[torch.Tensor], name: str) -> bool:
    """The frames that a stream has given when the example ends are there in a longer recording as well. False if the
    module does not take one."""
    outputs = [(k, output) for k, output in enumerate(streaming.outputs) if output.kind == FRAMES]
    try:
        after = answers(*longer) if outputs else []
        answers.reset()
        before = answers(*(x.narrow(streaming.axis, 0, streaming.window) for x in longer)) if outputs else []
    except PilotlightError:
        return False
    for k, output in outputs:
        count = streaming.window // streaming.hop * output.frames + output.offset - output.unlike
        first, second = (x.narrow(output.axis, 0, min(count, x.shape[output.axis])) for x in (before[k], after[k]))
        if not _same(first, second):
            raise _depends(name, output, f"its frames are others when {streaming.hop} more samples follow")
    return True


def _compare_latest(graph: Graph, step: Graph, answers: Answers, recording: Sequence[torch.Tensor]) -> None:
    """What a step gives for the newest frame is what the module gives for the recording up to there."""
    streaming = step.streaming
    assert streaming is not None
    outputs = [(k, output) for k, output in enumerate(streaming.outputs) if output.kind == LATEST]
    steps = steps_of(streaming, recording)
    last = min(max((output.warm for _, output in outputs), default=0) + 4, len(steps))
    if not outputs or graph.quantization is not None or last > MOST_STEPS:
        return
    got = evaluate_runs(step, steps[:last])
    for k, output in outputs:
        for n in range(output.warm, last):
            heard = [x.narrow(streaming.axis, 0, (n + 1) * streaming.hop) for x in recording]
            answers.reset()
            try:
                want = answers(*without_end(streaming, output, heard))[k]
            except PilotlightError:
                continue
            if not _same(got[n][k], want):
                raise _depends(graph.name, output, f"after {(n + 1) * streaming.hop} samples it is another one")


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """As far as rounding goes; what is decided by numbers that were rounded is not compared."""
    if a.shape != b.shape:
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return True
    largest = b.abs()[b.abs().isfinite()]
    limit = NEAR * float(largest.max()) if largest.numel() else 0.0
    return torch.allclose(a.to(b.dtype), b, rtol=0.0, atol=limit, equal_nan=True)


def _depends(name: str, output: StreamedOutput, how: str) -> PilotlightError:
    return PilotlightError(
        f"output {output.name} of {name} cannot stream: it depends on how long the recording is; {how}", hint=HINT,
        kind="not-streamable",
    )
