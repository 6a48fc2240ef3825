"""Our integers against PT2E's own: the converted graph, run by PyTorch, between dequantize and quantize in float."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import torch

import pilotlight as pl
from pilotlight.graph import Graph
from pilotlight.graph.evaluate import evaluate
from pilotlight.passes.pipeline import optimize
from pilotlight.quantize import quantize
from support import pt2e_cases as cases
from support.c_compilers import SANITIZERS
from support.q_checks import snr

STEPS: dict[cases.Make, int] = {
    cases.conv: 1, cases.transposed: 1, cases.linear: 1, cases.add: 1, cases.mul: 1, cases.pool: 1, cases.table: 1,
    cases.matmul: 1, cases.softmax: 2, cases.norm: 2,
}
"""How many steps of the output the two may be apart."""


def side_by_side(
    make: cases.Make, count: int, ordinary: bool = False
) -> tuple[Graph, cases.Branches, list[cases.Tensors]]:
    """`count` random layers, quantized, and rows of inputs: those of the calibration, and larger ones that saturate."""
    rng = np.random.default_rng(zlib.crc32(make.__name__.encode()))
    torch.manual_seed(int(rng.integers(1 << 30)))
    model = cases.Branches([make(rng) for _ in range(count)]).eval()
    rows = cases.inputs(model.branches, 8, rng, ordinary)
    graph = quantize(pl.capture(model, rows[0], "net"), rows)
    return graph, model, rows if ordinary else [*rows, *([1.5 * x for x in row] for row in rows[:2])]


@pytest.mark.parametrize("make", STEPS, ids=lambda make: make.__name__)
def test_results_are_steps_from_pt2e(make: cases.Make) -> None:
    graph, _, rows = side_by_side(make, 16)
    lowered = optimize(graph.clone())
    assert not lowered.fallbacks
    assert graph.quantization is not None
    theirs = graph.quantization.program.module(check_guards=False)
    for row in rows:
        for port, ours, other in zip(lowered.outputs, evaluate(lowered, row), theirs(*row), strict=True):
            assert port.quant is not None
            apart = float((ours - other).abs().max()) / port.quant.scale
            assert apart <= STEPS[make] + 0.01, f"{port.name}: {apart:g} steps, {lowered.producers()[port.value]}"


@pytest.mark.parametrize(
    ("make", "least", "typical"), [(cases.lstm, 36, 38), (cases.gru, 37, 39), (cases.attention, 32, 35)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_recurrent_layers_and_attention_are_exact_and_keep_their_signal(
    make: cases.Make, least: float, typical: float
) -> None:
    """The C gives the reference's bytes; against float, the worst and the median layer have this many dB at least."""
    graph, model, rows = side_by_side(make, 8, ordinary=True)
    build = pl.compile(graph, float_io=True)
    assert not build.lowered.fallbacks
    results = []
    with build.open("host", sanitize=SANITIZERS) as running, torch.no_grad():
        for row in rows:
            results.append(running.flat(row))
            assert all(map(torch.equal, results[-1], evaluate(build.lowered, row)))
        real = [model(*row) for row in rows]
    ratios = [
        snr(torch.stack([y[k] for y in results]), torch.stack([y[k] for y in real])) for k in range(len(results[0]))
    ]
    assert min(ratios) > least and np.median(ratios) > typical
