"""int8 dense kernels on the host: portable C against the integer reference, byte for byte."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import dense_s8_cases as dense
from pilotlight.emit.dense_s8.portable import Portable

CASES = 300


@pytest.fixture(scope="module")
def forward(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library(tmp_path_factory.mktemp("forward"), False)


def library(folder: Path, reverse: bool) -> ctypes.CDLL:
    planned = [(f"case_{i}", Portable().plan(layer)) for i, (layer, _) in enumerate(dense.cases(CASES))]
    return ctypes.CDLL(str(dense.build(folder, dense.source(planned, reverse=reverse))))


def test_portable_equals_the_reference_apart_and_at_the_distance(forward: ctypes.CDLL) -> None:
    for seed in range(CASES):
        layer, x = dense.random_layer(seed)
        kernel = Portable().plan(layer)
        want = dense.reference(layer, x)
        assert np.array_equal(dense.run(forward, f"case_{seed}", kernel, layer, x), want), (seed, layer.shape)
        if kernel.distance is not None:
            near = dense.run(forward, f"case_{seed}", kernel, layer, x, kernel.distance)
            assert np.array_equal(near, want), (seed, layer.shape)


def test_portable_walks_backward(tmp_path: Path) -> None:
    backward = library(tmp_path, True)
    for seed in range(CASES):
        layer, x = dense.random_layer(seed)
        kernel = Portable().plan(layer)
        if kernel.reverse is not None:
            near = dense.run(backward, f"case_{seed}", kernel, layer, x, kernel.reverse)
            assert np.array_equal(near, dense.reference(layer, x)), (seed, layer.shape)
