"""Whether the board's results are what they should be, and if not, what is to blame."""

from __future__ import annotations

import torch

from pilotlight.capture.agreement import departure
from pilotlight.capture.reference import ExportedAnswers, ExportedReference, functionalize, one_thread
from pilotlight.compiler import Build
from pilotlight.graph import Graph
from pilotlight.graph.arithmetic import Arithmetic, arithmetic
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.measure.compare import OutputMatch, Truth, nearly_same_numbers, same_numbers

SAME_WEIGHTS = "PyTorch with the same integer weights"
INTEGER_REFERENCE = "the integer reference"
ROUNDING = 1e-5  # of the largest element: how far a float result may be from the reference on the host


def same_bits(
    build: Build, want: list[list[torch.Tensor]], outputs: list[list[torch.Tensor]], names: list[str]
) -> list[OutputMatch]:
    """A quantized model matches if the board's bytes equal those of the integer reference on the host.

    An output that the model computes in float may differ by rounding, and one that it computes from floats which were
    quantized by what such a rounding makes of an integer.
    """
    kinds = arithmetic(build.lowered)
    rows = []
    for k, (name, port) in enumerate(zip(names, [p for p in build.lowered.outputs if not p.is_size], strict=True)):
        got, expected = ([row[k] for row in runs] for runs in (outputs, want))
        kind = kinds.get(port.value, Arithmetic.EXACT)
        if kind is Arithmetic.QUANTIZED_FLOAT:
            rows.append(nearly_same_numbers(name, got, expected, ROUNDING))
        else:
            rows.append(same_numbers(name, got, expected, ROUNDING if kind is Arithmetic.FLOAT else 0.0))
    return rows


def compare_outputs(
    build: Build, truth: Truth, inputs: list[list[torch.Tensor]], outputs: list[list[torch.Tensor]], names: list[str]
) -> tuple[list[OutputMatch], str]:
    """All outputs of all runs, and what they were compared with."""
    quantization = build.lowered.quantization
    if quantization is None:
        return truth.compare(outputs, names), build.graph.truth.name
    if quantization.weights_only:
        reference = ExportedReference(quantization.program, bool(build.graph.states))
        return Truth(reference, inputs).compare(outputs, names), SAME_WEIGHTS
    return same_bits(build, evaluate_runs(build.lowered, inputs), outputs, names), INTEGER_REFERENCE


def late_departure(graph: Graph, truth: Truth, inputs: list[list[torch.Tensor]], names: list[str]) -> list[str]:
    """Whether torch.export's program itself departs from the module after more calls than capture checked."""
    if graph.exported is None:
        return []
    program = ExportedAnswers(functionalize(graph.exported))
    with one_thread():
        place = departure([program(*row) for row in inputs], truth.single)
    if place is None:
        return []
    return [f"output {names[place[1]]} of call {place[0] + 1} is not what the module itself gives: torch.export "
            "captured what it does at the first call; keep what changes between calls in registered buffers"]
