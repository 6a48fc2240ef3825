"""Convolution, depthwise and linear drivers against PyTorch; how far output may overlap input."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from pilotlight.kernels.pack_f32 import (
    Conv2dShape,
    LinearShape,
    Shape,
    micro_kernels,
    overlap_distance,
    reverse_distance,
    table,
)
from support import dense_cases as dense
from support.paths import PYTHON_PATH


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return ctypes.CDLL(str(dense.build(tmp_path_factory.mktemp("dense"))))


def torch_layer(shape: Shape, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """The layer in PyTorch, float64, without activation."""
    inputs, weights = torch.from_numpy(x).double(), torch.from_numpy(w).double()
    offset = None if bias is None else torch.from_numpy(bias).double()
    if isinstance(shape, LinearShape):
        return F.linear(inputs, weights, offset).numpy()
    s = shape
    pb = max(0, (s.oh - 1) * s.sh + (s.kh - 1) * s.dh + 1 - s.ih - s.top)
    pr = max(0, (s.ow - 1) * s.sw + (s.kw - 1) * s.dw + 1 - s.iw - s.left)
    padded = F.pad(inputs.permute(0, 3, 1, 2), (s.left, pr, s.top, pb))
    y = F.conv2d(padded, weights.permute(0, 3, 1, 2), offset, (s.sh, s.sw), 0, (s.dh, s.dw), s.groups)
    return y.permute(0, 2, 3, 1)[:, : s.oh, : s.ow].numpy()


def check(library: ctypes.CDLL, shape: Shape, seed: int) -> None:
    x, w, bias = dense.data(shape, seed)
    limits = dense.LIMITS[seed % 4]
    used = None if seed % 3 == 0 else bias
    got = dense.run(library, shape, x, w, used, limits, reverse=bool(seed & 4))
    want = np.clip(torch_layer(shape, x, w, used), *limits)
    terms = math.prod(dense.weight_shape(shape)[1:]) + 1
    bound = (8 + 2 * math.sqrt(terms)) * 2.0**-24
    scale = torch_layer(shape, np.abs(x), np.abs(w), None if used is None else np.abs(used))
    assert np.all(np.abs(got - want) <= bound * scale), shape


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_drivers_match_pytorch_on_random_shapes(library: ctypes.CDLL, seed: int) -> None:
    check(library, dense.random_shape(np.random.default_rng(seed)), seed)


@pytest.mark.parametrize(
    "shape",
    [
        Conv2dShape(1, 49, 10, 1, 25, 5, 64, 10, 4, 2, 2, 4, 1),
        Conv2dShape(1, 24, 24, 3, 12, 12, 8, 3, 3, 2, 2, 0, 0),
        Conv2dShape(2, 7, 5, 16, 7, 5, 24, 1, 1),
        Conv2dShape(1, 7, 5, 12, 4, 3, 9, 1, 1, 2, 2),
        Conv2dShape(1, 1, 30, 5, 1, 26, 7, 1, 3, dw=2),
        Conv2dShape(1, 3, 3, 2, 3, 3, 3, 7, 7, 1, 1, 3, 3),
        Conv2dShape(1, 25, 5, 64, 25, 5, 64, 3, 3, top=1, left=1, groups=64),
        Conv2dShape(1, 5, 5, 4, 5, 5, 8, 3, 3, top=1, left=1, groups=4),
        LinearShape(1, 640, 128),
        LinearShape(3, 17, 15),
    ],
    ids=str,
)
def test_drivers_match_pytorch_on_known_layers(library: ctypes.CDLL, shape: Shape) -> None:
    for seed in range(8):
        check(library, shape, seed)


def test_window_outside_the_input_leaves_the_bias(library: ctypes.CDLL) -> None:
    shape = Conv2dShape(1, 2, 2, 2, 6, 6, 3, 1, 1, 1, 1, 2, 2)
    x, w, bias = dense.data(shape, 1)
    y = dense.run(library, shape, x, w, bias)
    assert np.array_equal(y[0, 0, 0], bias) and np.array_equal(y[0, 5, 5], bias)
    assert not np.array_equal(y[0, 2, 2], bias)


@pytest.mark.parametrize("limits", dense.LIMITS, ids=str)
def test_activations_keep_nan_and_handle_infinity(library: ctypes.CDLL, limits: tuple[float, float]) -> None:
    shape = LinearShape(7, 1, 8)
    x = np.array([[np.nan], [np.inf], [-np.inf], [-1.0], [limits[1]], [-0.0], [1e-40]], np.float32)
    y = dense.run(library, shape, x, np.ones((8, 1), np.float32), None, limits)
    want = torch.clamp(torch.from_numpy(x).expand(len(x), 8), *limits).numpy()
    assert np.array_equal(y, want, equal_nan=True)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_output_may_overlap_input_up_to_the_distance(library: ctypes.CDLL, seed: int) -> None:
    shape = dense.random_shape(np.random.default_rng(seed))
    x, w, bias = dense.data(shape, seed)
    limits = dense.LIMITS[seed % 4]
    apart = dense.run(library, shape, x, w, bias, limits)
    for farther in (0, 4, 64):
        below = dense.run(library, shape, x, w, bias, limits, overlap_distance(shape) - farther)
        assert np.array_equal(below, apart), shape
        above = dense.run(library, shape, x, w, bias, limits, reverse_distance(shape) + farther, reverse=True)
        assert np.array_equal(above, apart), shape


def test_overlap_distance_is_tight(library: ctypes.CDLL) -> None:
    """One float more and some input is overwritten before it is read, in every case."""
    overlapping = 0
    for seed in range(200):
        shape = dense.random_shape(np.random.default_rng(seed))
        x, w, bias = dense.data(shape, seed)
        apart = dense.run(library, shape, x, w, bias)
        below, above = overlap_distance(shape), reverse_distance(shape)
        if below < x.nbytes:
            got = dense.run(library, shape, x, w, bias, distance=below + 4)
            assert not np.array_equal(got, apart), shape
        if above > -apart.nbytes:
            got = dense.run(library, shape, x, w, bias, distance=above - 4, reverse=True)
            assert not np.array_equal(got, apart), shape
        overlapping += below < x.nbytes and above > -apart.nbytes
    assert overlapping > 150


@pytest.mark.parametrize(
    ("shape", "distances"),
    [
        (LinearShape(1, 8, 8), (8 * 4, -8 * 4)),  # one block: everything is read before anything is written
        (LinearShape(1, 16, 24), (-16 * 4, 16 * 4)),  # two blocks are written before the last has read
        (Conv2dShape(1, 4, 4, 8, 4, 4, 8, 1, 1), (0, 0)),  # in place, two pixels at a time
        (Conv2dShape(1, 4, 4, 64, 4, 4, 64, 1, 1), (-(2 * 64 - 8) * 4, 2 * 64 * 4)),
        (Conv2dShape(1, 8, 8, 8, 4, 4, 8, 1, 1, 2, 2), (2 * 8 * 4, 37 * 8 * 4)),
        (Conv2dShape(1, 6, 6, 8, 6, 6, 8, 3, 3, 1, 1, 1, 1, 1, 1, 8), (-(6 + 1) * 8 * 4, (6 + 1) * 8 * 4)),
    ],
    ids=str,
)
def test_overlap_distance_of_known_layers(shape: Shape, distances: tuple[int, int]) -> None:
    assert (overlap_distance(shape), reverse_distance(shape)) == distances


@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        ((-math.inf, math.inf), ("PL_ACT_NONE", "0.0f", "0.0f")),
        ((0.0, math.inf), ("PL_ACT_RELU", "0.0f", "0.0f")),
        ((0.0, 6.0), ("PL_ACT_LIMIT", "0.0f", "6.0f")),
        ((-1.0, 1.0), ("PL_ACT_CLAMP", "-1.0f", "1.0f")),
        ((1.0, math.inf), ("PL_ACT_CLAMP", "1.0f", "(1.0f / 0.0f)")),
    ],
)
def test_a_table_takes_the_cheapest_activation(limits: tuple[float, float], ending: tuple[str, str, str]) -> None:
    names = ("n", "i", "o", "reverse", "act", "lo", "hi")
    assert list(table(LinearShape(1, 2, 3), *limits).items()) == list(zip(names, (1, 2, 3, 0, *ending), strict=True))


def test_micro_kernels_name_what_a_layer_needs() -> None:
    assert micro_kernels(LinearShape(1, 64, 12)) == {"mac_f32_1x8", "mac_f32_1x4"}
    assert micro_kernels(Conv2dShape(1, 25, 5, 64, 25, 5, 64, 1, 1)) == {"mac_f32_2x8", "mac_f32_1x8"}
    assert micro_kernels(Conv2dShape(1, 8, 8, 6, 8, 8, 6, 3, 3, top=1, left=1, groups=6)) == {
        "dw_f32_2x4",
        "dw_f32_2x2",
        "dw_f32_1x4",
        "dw_f32_1x2",
    }


def test_drivers_are_clean_under_sanitizers(tmp_path: Path) -> None:
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    library = dense.build(tmp_path, *flags)
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    result = subprocess.run(
        [sys.executable, dense.__file__, str(library), "300"],
        env={**os.environ, "LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0",
             "PYTHONPATH": PYTHON_PATH},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
