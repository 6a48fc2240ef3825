"""Does a model do the same in a longer recording? A graph has one length, and numbers that come from it are constants
there; only the module itself can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
TIMES_OWN = 32.0  # and as many times PyTorch's own rounding
MORE = 4  # steps after the first that is right
MOST_NODES = 20000  # that are computed here
HINT = ("take the length of the recording out of the model: numbers from x.shape, pooling to a number of frames, "
        "chunk, ceil_mode and x[..., -n:] mean something else in a longer one")


def check_lengths(graph: Graph, step: Graph, in_float: Callable[[], Graph]) -> None:
    """Refuse a stream whose module gives other frames when more samples follow, or whose last frame of another
    recording is not what the step gives; `in_float` makes the step without integers. Neither a module that takes one
    length alone nor a file that holds a graph, whose numbers are constants too, can be asked."""
    streaming, reference = step.streaming, graph.reference
    assert streaming is not None
    if not isinstance(reference, ModuleReference) or all(output.kind == WINDOW for output in streaming.outputs):
        return
    with one_thread():
        for answers in (*islice(reference.in_float64(), 1), reference.in_float32()):
            if _compare_frames(streaming, answers, reference.example, graph.name):
                break
        if any(output.kind == LATEST for output in streaming.outputs):
            _compare_latest(graph, step, reference, in_float)


def _recording(streaming: Streaming, example: Sequence[torch.Tensor], samples: int) -> list[torch.Tensor]:
    """As the example, of any length."""
    parts = variations(example, -(-samples // streaming.window))
    return [torch.cat(pieces, streaming.axis).narrow(streaming.axis, 0, samples)
            for pieces in zip(*parts, strict=True)]


def _frames(streaming: Streaming, output: StreamedOutput, samples: int) -> int:
    """How many frames of the whole model a stream has given."""
    return max(samples // streaming.hop * output.frames + output.offset - output.unlike, 0)


def _compare_frames(streaming: Streaming, answers: Answers, example: Sequence[torch.Tensor], name: str) -> bool:
    """The frames that a stream gives of a short recording are there in a longer one as well. False if the module does
    not take one."""
    outputs = [(k, output) for k, output in enumerate(streaming.outputs) if output.kind == FRAMES]
    if not outputs:
        return True
    first = max(-(-(o.warm - o.offset + o.unlike) // o.frames) for _, o in outputs)  # step that is right everywhere
    short, window = (first + MORE) * streaming.hop, streaming.window
    longer = _recording(streaming, example, max(short, window) + streaming.hop)

    def asked(samples: int) -> list[torch.Tensor] | None:
        answers.reset()
        try:
            return answers(*(x.narrow(streaming.axis, 0, samples) for x in longer))
        except PilotlightError:
            return None

    samples = longer[0].shape[streaming.axis]
    after = asked(samples)
    before = None if after is None else asked(short)
    if before is None and after is not None and short != window:
        short, before = window, asked(window)
    if after is None or before is None:
        return False
    for k, output in outputs:
        if not len(after) == len(before) == (expected := len(streaming.outputs)):
            raise _depends(name, output, f"of {samples} samples it gives {len(after)} tensors, not {expected}")
        had, has = _frames(streaming, output, samples), after[k].shape[output.axis]
        if has < had:
            raise _depends(name, output, f"of {samples} samples it has {has} frames; expected at least {had}")
        count = min(_frames(streaming, output, short), before[k].shape[output.axis])
        one, other = (x[k].narrow(output.axis, 0, count) for x in (before, after))
        if not _same(one, other, _near(other)):
            raise _depends(name, output, f"its frames are others when {samples - short} more samples follow")
    return True


def _compare_latest(graph: Graph, step: Graph, reference: ModuleReference, in_float: Callable[[], Graph]) -> None:
    """What a step gives for the newest frame is what the module gives for the recording up to there."""
    if graph.quantization is not None:
        try:
            step = in_float()
        except PilotlightError:
            return
    streaming = step.streaming
    assert streaming is not None
    outputs = [(k, output) for k, output in enumerate(streaming.outputs) if output.kind == LATEST]
    count = max((output.warm for _, output in outputs), default=0) + MORE
    if not outputs or count * len(step.nodes) > MOST_NODES:
        return
    recording = _recording(streaming, reference.example, count * streaming.hop)
    got = evaluate_runs(step, steps_of(streaming, recording))
    ways = [reference.in_float32(), *islice(reference.in_float64(), 1)]
    for k, output in outputs:
        rows: list[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]] = []
        for n in range(output.warm, count):
            heard = without_end(streaming, output, [x.narrow(streaming.axis, 0, (n + 1) * streaming.hop)
                                                    for x in recording])
            try:
                for answers in ways:
                    answers.reset()
                single, double = (answers(*heard)[k] for answers in ways)
            except (PilotlightError, IndexError, ValueError):  # too short for it; nothing in float64
                continue
            rows.append((n, got[n][k], single, double))
        own = max((_distance(single, double) for _, _, single, double in rows), default=0.0)
        limit = max((_near(double) for _, _, _, double in rows), default=0.0) + TIMES_OWN * own
        for n, found, single, _ in rows:
            if not _same(found, single, limit):
                raise _depends(graph.name, output, f"after {(n + 1) * streaming.hop} samples it is another one")


def _near(x: torch.Tensor) -> float:
    largest = x.abs()[x.abs().isfinite()] if x.is_floating_point() or x.is_complex() else x.new_zeros(0)
    return NEAR * float(largest.max()) if largest.numel() else 0.0


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    apart = (a.to(b.dtype) - b).abs() if a.shape == b.shape and b.is_floating_point() else b.new_zeros(0)
    apart = apart[apart.isfinite()]
    return float(apart.max()) if apart.numel() else 0.0


def _same(a: torch.Tensor, b: torch.Tensor, limit: float) -> bool:
    """As far as rounding goes; what is decided by numbers that were rounded is not compared."""
    if a.shape != b.shape:
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return True
    return torch.allclose(a.to(b.dtype), b, rtol=0.0, atol=limit, equal_nan=True)


def _depends(name: str, output: StreamedOutput, how: str) -> PilotlightError:
    return PilotlightError(
        f"output {output.name} of {name} cannot stream: it depends on how long the recording is; {how}", hint=HINT,
        kind="not-streamable",
    )
