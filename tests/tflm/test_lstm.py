"""UNIDIRECTIONAL_SEQUENCE_LSTM: what TFLM refuses is refused by name, and states last as long as TFLM keeps them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.tflite_models import GraphSpec, write_model
from tests.support.tflite_random import random_model
from tests.tflm.compare import compare, compare_file

from pilotlight.capture.tflite.capture import capture_model
from pilotlight.capture.tflite.interpreters import Interpreter
from pilotlight.capture.tflite.lower import lower_tflite
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.errors import PilotlightError
from pilotlight.ops.pointwise.tflm_curve import curve_input, logistic, make_tflm_curve, tanh

NAME = "UNIDIRECTIONAL_SEQUENCE_LSTM"


@pytest.mark.parametrize("kind", ["INT8", "INT16", "FLOAT32"])
def test_compiled_layers_give_what_tflm_gives(kind: str) -> None:
    found = compare(NAME, 5, kind, "host")
    assert found.outcome == "same", found.why


def test_states_last_from_call_to_call_until_reset() -> None:
    graph = capture_model(parse_tflite(random_model(NAME, 5), "lstm.tflite"), "lstm")
    assert [(s.value.dtype.name, s.value.shape) for s in graph.states] == [("int8", (2, 8)), ("int16", (2, 8))]
    answers = graph.truth.in_float32()
    x = graph.truth.example
    first, second = answers(*x)[0], answers(*x)[0]
    answers.reset()
    assert not first.equal(second) and answers(*x)[0].equal(first)


def _layer(extra: dict[int, int], activation: int = 4) -> bytes:
    """A float layer with more inputs than the plain one has; -1 takes one away."""
    g = GraphSpec()
    x = g.input((1, 2, 3), "FLOAT32")
    weights = [g.constant(np.ones((2, n), np.float32)) for n in (3, 3, 3, 3, 2, 2, 2, 2)]
    biases = [g.constant(np.ones(2, np.float32)) for _ in range(4)]
    more = g.constant(np.ones(2, np.float32))
    h, c = (g.tensor((1, 2), "FLOAT32", variable=True) for _ in range(2))
    inputs = [x, *weights, -1, -1, -1, *biases, -1, -1, h, c, -1, -1, -1, -1]
    for k, given in extra.items():
        inputs[k] = more if given >= 0 else -1
    y = g.tensor((1, 2, 2), "FLOAT32")
    g.call(NAME, inputs, [y], options="UnidirectionalSequenceLSTMOptions", FusedActivationFunction=activation)
    g.outputs.append(y)
    return write_model(g)


@pytest.mark.parametrize(("extra", "activation", "words"), [
    ({10: 0}, 4, "peephole weights, which TFLM does not run"),
    ({16: 0}, 4, "a projection, which TFLM does not run"),
    ({20: 0}, 4, "layer normalization, which TFLM does not run"),
    ({1: -1, 5: -1, 12: -1}, 4, "coupled to the forget gate .CIFG., which TFLM does not run"),
    ({}, 1, "an activation other than TANH, which TFLM does not run"),
])
def test_variants_are_refused_as_tflm_does(extra: dict[int, int], activation: int, words: str) -> None:
    with pytest.raises(PilotlightError, match=words):
        lower_tflite(parse_tflite(_layer(extra, activation), "variant.tflite"), "variant")


def test_the_plain_layer_of_these_is_run() -> None:
    assert compare_file(_layer({}), "plain.tflite").outcome == "same"


@pytest.mark.parametrize("name", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 0.00037, 2.0**-14])
def test_every_number_of_16_bits_has_the_sigmoid_and_tanh_of_tflm(name: str, scale: float) -> None:
    g = GraphSpec()
    x, y = g.input((65536,), "INT16", scale, 0), g.tensor((65536,), "INT16", 2.0**-15, 0)
    g.call(name, [x], [y])
    g.outputs.append(y)
    numbers = np.arange(-32768, 32768)
    (want,) = Interpreter(parse_tflite(write_model(g), "curve.tflite")).run([numbers.astype(np.int16)])
    spec = make_tflm_curve("tanh" if name == "TANH" else "sigmoid", float(np.float32(scale)))
    v = curve_input(numbers, spec.attrs["factor"], spec.attrs["shift"])
    assert np.array_equal((tanh if name == "TANH" else logistic)(spec.constants[0], v), want)
