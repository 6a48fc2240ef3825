"""A random model through Pilotlight and through TFLM, or LiteRT where TFLM cannot run it, several times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from tests.support.tflite_random import random_model

from pilotlight.capture.tflite.capture import capture_model
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.compiler import compile
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.measure.compare import Truth, same_numbers

CALLS = 3


@dataclass(frozen=True)
class Compared:
    """What became of a model: "same", "different", "refused" (by Pilotlight) or "not run" (by any runtime)."""

    outcome: str
    why: str = ""
    truth: str = "TFLM"


def inputs_for(graph: Graph, seed: int, calls: int = CALLS) -> list[list[torch.Tensor]]:
    """Random numbers, and in one call the ends of the range."""
    rng = np.random.default_rng(seed)
    runs = []
    for call in range(calls):
        row = []
        for port in graph.inputs:
            dtype = port.value.dtype.numpy
            if dtype == np.float32:
                array = rng.standard_normal(port.shape).astype(dtype) * (1 if call else 3)
            elif dtype == np.bool_:
                array = rng.random(port.shape) < 0.5
            else:
                low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.itemsize < 4 else (-(1 << 20), 1 << 20)
                array = rng.integers(low, high + 1, port.shape).astype(dtype)
                if call == 1:
                    array = np.where(rng.random(port.shape) < 0.5, low, high).astype(dtype)
            row.append(torch.from_numpy(np.asarray(array)))
        runs.append(row)
    return runs


def compare(name: str, seed: int, kind: str = "INT8", board: str | None = None) -> Compared:
    """On this computer by the operators' definitions; with a board also as compiled."""
    return compare_file(random_model(name, seed, kind), f"{name}-{seed}.tflite", seed, board)


def compare_file(data: bytes, name: str, seed: int = 0, board: str | None = None) -> Compared:
    try:
        graph = capture_model(parse_tflite(data, name), "model")
    except PilotlightError as error:
        return Compared("refused", error.message.splitlines()[-1])
    runs = inputs_for(graph, seed)
    real = any(port.value.dtype.kind == "f" for port in (*graph.inputs, *graph.outputs))
    try:
        real = real or graph.truth.name != "TFLM"
        truth = Truth(graph.truth, runs) if real else None
        answers = graph.truth.in_float32() if truth is None else None
        want = truth.single if truth is not None else [answers(*row) for row in runs]
    except PilotlightError as error:
        return Compared("not run", error.message)
    names = [port.name for port in graph.outputs]
    found = [evaluate_runs(graph, runs)]
    if board is not None:
        with compile(graph, board).open(count=False) as running:
            running.reset()
            found.append([running.flat(row) for row in runs])
    for results, where in zip(found, ("the graph", board), strict=False):
        columns = list(zip(*results, strict=True)), list(zip(*want, strict=True))
        rows = truth.compare(results, names) if truth is not None else [
            same_numbers(name, list(got), list(expected)) for name, got, expected in zip(names, *columns, strict=True)
        ]
        for match in rows:
            if not match.match:
                return Compared(
                    "different", f"{where}: output {match.name} is off by {match.max_abs_error:g}", graph.truth.name
                )
    return Compared("same", truth=graph.truth.name)
