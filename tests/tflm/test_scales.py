"""Ratios of scales have 64 bits in TFLM: with sums this large a factor of 32 bits would give other bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.support.tflite_models import GraphSpec, write_model

from pilotlight.capture.tflite.capture import capture_model
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.graph.evaluate import evaluate


def _same(g: GraphSpec, x: np.ndarray) -> bool:
    graph = capture_model(parse_tflite(write_model(g), "scales.tflite"), "scales")
    given = torch.from_numpy(x)
    return torch.equal(evaluate(graph, [given])[0], graph.truth.in_float32()(given)[0])


@pytest.mark.parametrize("operator", ["FULLY_CONNECTED", "SVDF"])
def test_sums_at_the_border_of_two_results(operator: str) -> None:
    """Without weights a bias is the sum."""
    a, b, result = np.float32(0.0123), np.float32(0.0377), np.float32(3911.0)
    borders = np.rint((np.arange(-100, 100) + 0.5) * float(result) / (float(a) * float(b))).astype(np.int64)
    sums = np.concatenate([borders + move for move in range(-30, 31, 3)]).astype(np.int32)
    n, g = len(sums), GraphSpec()
    x = g.input((1, 1), "INT8", float(a), 0)
    bias = g.constant(sums, float(a * b), 0)
    y = g.tensor((1, n), "INT8", float(result), 0)
    empty = g.constant(np.zeros((n, 1), np.int8), float(b), 0)
    if operator == "SVDF":
        over_time = g.constant(np.zeros((n, 1), np.int16), float(b), 0)
        state = g.tensor((1, n), "INT16", float(a), 0, variable=True)
        g.call(operator, [x, empty, over_time, bias, state], [y], options="SVDFOptions", Rank=1)
    else:
        g.call(operator, [x, empty, bias], [y], options="FullyConnectedOptions")
    g.outputs.append(y)
    assert _same(g, np.zeros((1, 1), np.int8))


@pytest.mark.parametrize("operator", ["RELU", "ABS", "LEAKY_RELU"])
def test_every_number_of_16_bits(operator: str) -> None:
    g = GraphSpec()
    x, y = g.input((65536,), "INT16", 0.0123, 0), g.tensor((65536,), "INT16", 0.0177, 0)
    g.call(operator, [x], [y], **({"options": "LeakyReluOptions", "Alpha": 0.2} if operator == "LEAKY_RELU" else {}))
    g.outputs.append(y)
    assert _same(g, np.arange(-32768, 32768).astype(np.int16))
