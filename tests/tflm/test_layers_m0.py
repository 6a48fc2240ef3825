"""Layers of a file, each alone on a small board, against TFLM's own tensors; and what is cut into rows."""

from __future__ import annotations

from itertools import islice

import pytest
from tests.support.tflite_random import random_model
from tests.tflm.layers_m0 import alone, compare_layers, run_in_pieces, tflm_tensors

from pilotlight.capture.tflite.read import parse_tflite


def test_layers_of_a_random_network_give_tflms_tensors_on_a_cortex_m0() -> None:
    model = parse_tflite(random_model("CHAIN", 5), "chain.tflite")
    found = list(islice(compare_layers(model, "microbit", 2), 4))
    assert len(found) >= 3 and not any(layer.different for layer in found), found


@pytest.mark.parametrize("pieces", [2, 3])
def test_a_layer_in_runs_of_rows_gives_the_same(pieces: int) -> None:
    model = parse_tflite(random_model("CONV_2D", 5), "conv.tflite")
    (operator,) = model.subgraphs[0].operators
    graph, operands = alone(model, operator)
    tensors = tflm_tensors(model, 1)
    (got,) = run_in_pieces(graph, [[row[k] for k in operands] for row in tensors], "host", pieces)
    assert graph.outputs[0].shape[1] >= pieces
    assert (got == tensors[0][operator.outputs[0]]).all()
