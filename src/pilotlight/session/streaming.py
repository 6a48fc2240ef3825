"""A streaming model on a board: recordings go through it hop by hop, and the results are put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pilotlight.capture.reference import one_thread, variations
from pilotlight.compiler import Build
from pilotlight.figures.build import figures
from pilotlight.figures.streaming import load_figures
from pilotlight.graph import Graph, Port
from pilotlight.graph.evaluate import evaluate, evaluate_runs
from pilotlight.graph.streaming import FRAMES, LATEST, WINDOW, Streaming
from pilotlight.measure.compare import OutputMatch, Truth, identical, same_numbers
from pilotlight.measure.profile import profile
from pilotlight.passes.clean import remove_dead
from pilotlight.passes.pipeline import optimize
from pilotlight.session.accuracy import agreement, snr_db
from pilotlight.session.matching import ROUNDING, same_bits
from pilotlight.session.result import Session
from pilotlight.stream.recordings import (
    RecordingReference,
    Steps,
    compared_steps,
    over_recording,
    put_together,
    steps_of,
)

Recordings = list[list[torch.Tensor]]
MOST_STEPS, MOST_FEATURES = 512, 96  # of which a picture is made
HOST_STREAM = "the same stream on the host"


@one_thread()
def run_stream(
    build: Build, recordings: Recordings | None = None, *, timeout: float = 120.0, count: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Session:
    """Stream the example and one variation of it, or the given recordings, and compare with the model over them."""
    streaming = build.graph.streaming
    assert streaming is not None
    model = streaming.model
    if recordings is None:
        recordings = [model.truth.example, *variations(model.truth.example, 1)]
        if all(output.kind == WINDOW for output in streaming.outputs):  # a recording of any length will do
            recordings = [[torch.cat(pair, streaming.axis) for pair in zip(*recordings, strict=True)]]
    cut = [[x.narrow(streaming.axis, 0, x.shape[streaming.axis] // streaming.hop * streaming.hop) for x in recording]
           for recording in recordings]
    steps = [steps_of(streaming, recording) for recording in cut]
    put_together_lengths(streaming, steps)
    total, done = sum(map(len, steps)), 0
    results: list[Steps] = []
    with build.open(timeout=timeout, count=count) as running:
        for rows in steps:
            running.reset()
            outputs = []
            for row in rows:
                outputs.append(running.flat(row))
                done += 1
                if progress is not None:
                    progress(done, total + 1)
            results.append(outputs)
        running.reset()
        again = running.flat(steps[0][0])
        if progress is not None:
            progress(total + 1, total + 1)
        repeated = all(identical(a, b) for a, b in zip(again, results[0][0], strict=True))
    outputs = [put_together(streaming, rows) for rows in results]
    reference = RecordingReference(model.truth, streaming)
    truth = Truth(reference, cut)
    names = [output.name for output in streaming.outputs]
    matches, compared_with = _matches(build, streaming, truth, cut, steps, results, outputs, names)
    dev, info = running.device, build.runnable_info
    measured = profile(info, dev.counts) if dev.counts is not None and dev.counts.runs else None
    session = Session(
        build, info, outputs, truth, matches, repeated, measured, dev.counts_reason, dev.stack, dev.emulator,
        dev.counts,
    )
    session.compared = compared_with
    session.figures = figures(build, info, measured) | {
        "stream": load_figures(build, measured, dev.counts.totals if dev.counts is not None else ()),
    }
    if build.lowered.quantization is not None:
        session.snr_db, session.agreement = snr_db(truth, outputs), agreement(truth, outputs)
    session.reasons = [_apart(streaming, truth, outputs)] if streaming.padded else []
    session.timeline = timeline(streaming, cut[0], results[0], truth)
    if session.timeline is not None:
        session.timeline["features"] = features(build, steps[0])
    return session


def features(build: Build, steps: Steps) -> list[list[float]] | None:
    """What the model makes of each frame before its layers, as the host computes it: for pictures."""
    streaming = build.graph.streaming
    assert streaming is not None
    if streaming.features is None or len(steps) > MOST_STEPS:
        return None
    name, axis = streaming.features
    rows: list[list[float]] = []
    for (value,) in evaluate_runs(_up_to(build.graph, name), steps):
        frames = value.movedim(axis, 0)
        rows += frames.reshape(len(frames), -1)[:, :MOST_FEATURES].double().tolist()
    return rows


def _up_to(graph: Graph, name: str) -> Graph:
    """The part of a graph that makes this value, with the states that it needs."""
    part = graph.clone()
    (value,) = (v for node in part.nodes for v in node.outputs if v.name == name)
    part.outputs = [Port(name, value, value.shape)]
    nodes, states, part.states = part.nodes, part.states, []
    while True:
        part.nodes = list(nodes)
        remove_dead(part)
        read = part.leaving() | {v for node in part.nodes for v in node.inputs}
        needed = [state for state in states if state.value in read]
        if len(needed) == len(part.states):
            return part
        part.states = needed


def put_together_lengths(streaming: Streaming, steps: Sequence[Steps]) -> None:
    """Refuse what is too short before anything runs."""
    for rows in steps:
        blank = [torch.zeros(()) for _ in streaming.outputs]
        for k, output in enumerate(streaming.outputs):
            if output.kind == FRAMES:
                blank[k] = torch.zeros([output.frames if d == output.axis else 1 for d in range(output.axis + 1)])
        put_together(streaming, [blank for _ in rows])


def _matches(
    build: Build, streaming: Streaming, truth: Truth, recordings: Recordings, steps: Sequence[Steps],
    results: Sequence[Steps], outputs: list[list[torch.Tensor]], names: list[str],
) -> tuple[list[OutputMatch], str | None]:
    """Float: against the module. Integers: against the integers of the model over the whole recording, where that has
    the length it was captured with, and against the same stream on the host. Windows that padding makes different can
    only be compared with the latter."""
    quantization = build.lowered.quantization
    if quantization is None and not streaming.padded:
        return truth.compare(outputs, names), None
    host = [put_together(streaming, evaluate_runs(build.lowered, rows)) for rows in steps]
    if quantization is None:
        got = list(zip(*outputs, strict=True))
        want = list(zip(*host, strict=True))
        pairs = zip(names, got, want, strict=True)
        return [same_numbers(name, list(g), list(w), ROUNDING) for name, g, w in pairs], HOST_STREAM
    matches = same_bits(build, host, outputs, names)
    if streaming.padded or quantization.weights_only:
        return matches, HOST_STREAM
    integers = _IntegerModel(streaming.model)
    whole = [k for k, r in enumerate(recordings) if integers.takes(streaming, r)]
    if whole:
        want_whole = [over_recording(streaming, integers, recordings[k]) for k in whole]
        more = same_bits(build, want_whole, [outputs[k] for k in whole], names)
        matches = [row if not row.match else other for row, other in zip(matches, more, strict=True)]
    return matches, None


class _IntegerModel:
    """The quantized model that was captured, in the integers of the host reference."""

    def __init__(self, graph: Graph):
        self._graph = optimize(graph.clone())

    def takes(self, streaming: Streaming, recording: Sequence[torch.Tensor]) -> bool:
        """It has one length: a window, or a recording as long as the example."""
        kinds = {output.kind for output in streaming.outputs}
        return kinds == {WINDOW} or (LATEST not in kinds and recording[0].shape[streaming.axis] == streaming.window)

    def reset(self) -> None:
        """Nothing stays."""

    def __call__(self, *inputs: Any) -> list[torch.Tensor]:
        return evaluate(self._graph, list(inputs))


def _apart(streaming: Streaming, truth: Truth, outputs: list[list[torch.Tensor]]) -> str:
    """How far answers are from those of the model's own windows."""
    worst = largest = 0.0
    for row, got in zip(truth.exact, outputs, strict=True):
        for want, found in zip(row, got, strict=True):
            if want.shape == found.shape and want.numel():
                worst = max(worst, float((want.double() - found.double()).abs().max()))
                largest = max(largest, float(want.double().abs().max()))
    layers = ", ".join(streaming.padded[:3]) + (" and others" if len(streaming.padded) > 3 else "")
    return (
        f"answers differ from those of the model's own window by up to {worst:.3g} (the largest is {largest:.3g}), "
        f"because it has borders in time at {layers} and the stream has none; with `exact` they are the same"
    )


def timeline(
    streaming: Streaming, recording: Sequence[torch.Tensor], results: Steps, truth: Truth
) -> dict[str, Any] | None:
    """The first output over time next to PyTorch's, each answer with the samples that were heard when it came: what a
    table prints and a page draws."""
    output, got = streaming.outputs[0], put_together(streaming, results)[0]
    want = truth.single[0][0]
    if got.shape != want.shape:
        return None
    if output.kind == FRAMES:
        got, want = (x.movedim(output.axis, 0) for x in (got, want))
        first = output.warm - output.offset
        samples = [((first + k) // output.frames + 1) * streaming.hop for k in range(len(got))]
    else:
        samples = [(n + 1) * streaming.hop for n in compared_steps(streaming, output, len(results))]
    wave = recording[0].movedim(streaming.axis, 0).reshape(recording[0].shape[streaming.axis], -1)[:, 0]
    return {
        "samples": samples, "rate": streaming.rate, "kind": output.kind,
        "answers": got.reshape(len(got), -1).double().tolist(), "truth": want.reshape(len(want), -1).double().tolist(),
        "wave": wave.double().tolist(),
    }
