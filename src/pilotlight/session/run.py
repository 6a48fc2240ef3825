"""One boot of a board: run a model on many inputs, compare with PyTorch, and gather every figure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from pilotlight.capture.exported import capture_exported
from pilotlight.capture.reference import variations
from pilotlight.compiler import Build
from pilotlight.errors import DoesNotFitError, PilotlightError
from pilotlight.figures.build import figures
from pilotlight.graph.lengths import vary_lengths
from pilotlight.measure.compare import Truth, identical
from pilotlight.measure.profile import profile
from pilotlight.quantize.layers import worst_layers
from pilotlight.session.accuracy import accuracy, agreement, snr_db
from pilotlight.session.inputs import possible
from pilotlight.session.matching import compare_outputs, late_departure
from pilotlight.session.result import LOW_DB, Session
from pilotlight.session.streaming import run_stream


def run_session(
    build: Build, inputs: list[list[torch.Tensor]] | None = None, *, labels: torch.Tensor | None = None,
    timeout: float = 120.0, count: bool = True, progress: Callable[[int, int], None] | None = None,
) -> Session:
    """Run the example and seven variations, or the given inputs, in one boot, and compare with PyTorch.

    `progress` is called with the number of runs done and in total. Inputs of a streaming model are recordings.
    """
    if build.graph.streaming is not None:
        return run_stream(build, inputs, timeout=timeout, count=count, progress=progress)
    if inputs is None:
        example = build.graph.truth.example
        inputs = [example, *vary_lengths(build.graph.inputs, variations(example))]
        if any(port.is_size for port in build.graph.inputs):  # longer ones may fill a cache
            inputs = possible(build.graph.truth.in_float32(), inputs, 1, lambda row: row)
    truth = Truth(build.graph.truth, inputs)
    stateful = bool(build.graph.states)
    repeated = True
    with build.open(timeout=timeout, count=count) as running:
        if stateful:
            running.reset()
        passes = 2 if stateful else 1

        def run_all(done: int) -> list[list[torch.Tensor]]:
            results = []
            for number, row in enumerate(inputs, done + 1):
                results.append(running.flat(row))
                if progress is not None:
                    progress(number, passes * len(inputs))
            return results

        outputs = run_all(0)
        if stateful:
            running.reset()
            again = run_all(len(inputs))
            repeated = all(
                identical(a, b) for left, right in zip(outputs, again, strict=True)
                for a, b in zip(left, right, strict=True)
            )
    names = [p.name for p in build.graph.outputs if not p.is_size]
    quantization = build.lowered.quantization
    matches, _ = compare_outputs(build, truth, inputs, outputs, names)
    dev = running.device
    info = build.runnable_info
    measured = profile(info, dev.counts) if dev.counts is not None and dev.counts.runs else None
    before = instructions_for_speed(build, inputs[0], timeout) if build.saving is not None and measured else None
    session = Session(
        build, info, outputs, truth, matches, repeated, measured, dev.counts_reason, dev.stack, dev.emulator,
        dev.counts,
    )
    session.figures = figures(build, info, measured, before)
    session.accuracy = accuracy(build, truth, outputs, inputs, labels) if labels is not None else None
    if quantization is None and not all(m.match for m in matches):
        session.reasons = late_departure(build.graph, truth, inputs, names)
    if quantization is not None:
        session.snr_db, session.agreement = snr_db(truth, outputs), agreement(truth, outputs)
        if any(d is not None and d < LOW_DB for d in session.snr_db):
            session.worst_layers = lossy_layers(build, inputs)
    return session


def lossy_layers(build: Build, inputs: list[list[torch.Tensor]]) -> list[dict[str, Any]]:
    """The layers that lose most against the float model, if there is one."""
    with contextlib.suppress(PilotlightError):
        real = capture_exported(build.graph.torch_program, build.name)
        return [vars(row) for row in worst_layers(real, build.graph, inputs)]
    return []


def instructions_for_speed(build: Build, inputs: list[torch.Tensor], timeout: float) -> int | None:
    """What one run takes if the same model is compiled for speed; None if that does not fit the board."""
    fast = build.for_speed()
    try:
        with fast.open(timeout=timeout) as running:
            running.reset()
            running.flat(inputs)
    except DoesNotFitError:
        return None
    counts = running.device.counts
    return profile(fast.runnable_info, counts).instructions if counts is not None and counts.runs else None
