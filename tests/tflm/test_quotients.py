"""DIV and RSQRT of integers: every pair of numbers, and what C has no rule for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.support.tflite_models import GraphSpec, write_model

from pilotlight.capture.tflite.capture import capture_model
from pilotlight.capture.tflite.lower import lower_tflite
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.errors import PilotlightError
from pilotlight.graph.evaluate import evaluate


def _quotient(scale: float, zeros: tuple[int, int] = (3, 5), kind: str = "INT8") -> bytes:
    g = GraphSpec()
    affine = [(0.05, zero) if kind == "INT8" else () for zero in zeros]
    a, b = g.input((256, 1), kind, *affine[0]), g.input((1, 256), kind, *affine[1])
    y = g.tensor((256, 256), kind, *((scale, 2) if kind == "INT8" else ()))
    g.call("DIV", [a, b], [y], options="DivOptions")
    g.outputs.append(y)
    return write_model(g)


@pytest.mark.parametrize(("scale", "zeros"), [(0.01, (3, 5)), (0.0151, (-128, 127)), (0.0003, (0, -128))])
def test_all_pairs_of_numbers_have_the_quotients_of_tflm(scale: float, zeros: tuple[int, int]) -> None:
    graph = capture_model(parse_tflite(_quotient(scale, zeros), "div.tflite"), "div")
    codes = torch.arange(-128, 128).to(torch.int8)
    row = [codes.reshape(256, 1), codes.reshape(1, 256)]
    assert torch.equal(evaluate(graph, row)[0], graph.truth.in_float32()(*row)[0])


@pytest.mark.parametrize(("data", "words"), [
    (_quotient(0.5), "TFLM shifts by 3[0-9] bits, for which C has no rule"),
    (_quotient(0.1, kind="INT32"), "which may be 0; TFLM ends the program there"),
])
def test_quotients_without_a_rule_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(PilotlightError, match=words):
        lower_tflite(parse_tflite(data, "div.tflite"), "div")


def test_all_positive_numbers_of_16_bits_have_the_inverse_roots_of_tflm() -> None:
    g = GraphSpec()
    x, y = g.input((32768,), "INT16", 0.01, 0), g.tensor((32768,), "INT16", 0.0003, 0)
    g.call("RSQRT", [x], [y])
    g.outputs.append(y)
    graph = capture_model(parse_tflite(write_model(g), "rsqrt.tflite"), "rsqrt")
    numbers = torch.from_numpy(np.arange(32768).astype(np.int16))
    assert torch.equal(evaluate(graph, [numbers])[0], graph.truth.in_float32()(numbers)[0])


def test_numbers_of_16_bits_are_not_compared_as_tflm_would() -> None:
    g = GraphSpec()
    x, y = g.input((4,), "INT16", 0.01, 0), g.tensor((4,), "BOOL")
    g.call("GREATER", [x, x], [y])
    g.outputs.append(y)
    with pytest.raises(PilotlightError, match="which TFLM compares by factors that it never sets"):
        lower_tflite(parse_tflite(write_model(g), "greater.tflite"), "greater")
