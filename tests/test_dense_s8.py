"""int8 dense kernels on the host: portable C and the twins of the assembly against the integer reference."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import dense_s8_cases as dense
from pilotlight.emit.dense_s8 import Family, dispatch
from pilotlight.emit.dense_s8.dsp import Dsp
from pilotlight.emit.dense_s8.portable import Portable

CASES = 300
FAMILIES = {"portable": Portable(), "dsp": Dsp()}


def library(folder: Path, family: Family, reverse: bool) -> ctypes.CDLL:
    planned = [(f"case_{i}", family.plan(layer)) for i, (layer, _) in enumerate(dense.cases(CASES))]
    names = {name for _, kernel in planned for name in kernel.micro}
    return ctypes.CDLL(str(dense.build(folder, dense.source(planned, dispatch(names, "test"), reverse))))


@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_equal_the_reference_apart_and_at_the_distance(name: str, tmp_path: Path) -> None:
    forward = library(tmp_path, FAMILIES[name], False)
    for seed in range(CASES):
        layer, x = dense.random_layer(seed)
        kernel = FAMILIES[name].plan(layer)
        want = dense.reference(layer, x)
        assert np.array_equal(dense.run(forward, f"case_{seed}", kernel, layer, x), want), (seed, layer.shape)
        if kernel.distance is not None:
            near = dense.run(forward, f"case_{seed}", kernel, layer, x, kernel.distance)
            assert np.array_equal(near, want), (seed, layer.shape)


@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_walk_backward(name: str, tmp_path: Path) -> None:
    backward = library(tmp_path, FAMILIES[name], True)
    for seed in range(CASES):
        layer, x = dense.random_layer(seed)
        kernel = FAMILIES[name].plan(layer)
        if kernel.reverse is not None:
            near = dense.run(backward, f"case_{seed}", kernel, layer, x, kernel.reverse)
            assert np.array_equal(near, dense.reference(layer, x)), (seed, layer.shape)
