"""int8 dense kernels on the host: portable C and the twins of the assembly against the integer reference."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pilotlight.kernels.blocks import dispatch
from pilotlight.kernels.pack_f32 import Conv2dShape
from support import dense_s8_cases as dense
from support.families import DSP, PORTABLE, RV32, THUMB1, Family, Measured

CASES = 300
FAMILIES = {"portable": PORTABLE, "dsp": DSP, "rv32": RV32, "thumb1": THUMB1}
MEASURED: dict[str, Family] = {"measured thumb1": Measured(THUMB1.isa)}
LOW_SCRATCH = {f"low-scratch {name}": replace(FAMILIES[name], low_scratch=True) for name in ("portable", "dsp")}


def cases(family: Family) -> int:
    """What is measured is planned slowly: all candidates are."""
    return CASES // 3 if isinstance(family, Measured) else CASES


def build(folder: Path, family: Family, reverse: bool, *flags: str) -> Path:
    planned = [(f"case_{i}", family.plan(layer)) for i, (layer, _) in enumerate(dense.cases(cases(family)))]
    names = {name for _, kernel in planned for name in kernel.micro}
    return dense.build(folder, dense.source(planned, dispatch(names, "test"), reverse), *flags)


def library(folder: Path, family: Family, reverse: bool) -> ctypes.CDLL:
    return ctypes.CDLL(str(build(folder, family, reverse)))


@pytest.mark.parametrize("name", [*FAMILIES, *LOW_SCRATCH, *MEASURED])
def test_kernels_equal_the_reference_apart_and_at_the_distance(name: str, tmp_path: Path) -> None:
    family = (FAMILIES | LOW_SCRATCH | MEASURED)[name]
    forward = library(tmp_path, family, False)
    for seed in range(cases(family)):
        layer, x = dense.random_layer(seed)
        kernel = family.plan(layer)
        want = dense.reference(layer, x)
        assert np.array_equal(dense.run(forward, f"case_{seed}", kernel, layer, x), want), (seed, layer.shape)
        if kernel.distance is not None:
            near = dense.run(forward, f"case_{seed}", kernel, layer, x, kernel.distance)
            assert np.array_equal(near, want), (seed, layer.shape)


@pytest.mark.parametrize("name", [*FAMILIES, *LOW_SCRATCH, *MEASURED])
def test_kernels_walk_backward(name: str, tmp_path: Path) -> None:
    family = (FAMILIES | LOW_SCRATCH | MEASURED)[name]
    backward = library(tmp_path, family, True)
    for seed in range(cases(family)):
        layer, x = dense.random_layer(seed)
        kernel = family.plan(layer)
        if kernel.reverse is not None:
            near = dense.run(backward, f"case_{seed}", kernel, layer, x, kernel.reverse)
            assert np.array_equal(near, dense.reference(layer, x)), (seed, layer.shape)


@pytest.mark.parametrize(("name", "low_scratch"), [("portable", "low-scratch portable"), ("dsp", "low-scratch dsp")])
def test_low_scratch_kernels_need_no_more_scratch(name: str, low_scratch: str) -> None:
    layers = [dense.random_layer(seed)[0] for seed in range(CASES)]
    both = [(LOW_SCRATCH[low_scratch].plan(layer).scratch, FAMILIES[name].plan(layer).scratch) for layer in layers]
    assert all(less <= more for less, more in both) and any(less < more for less, more in both)


@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_are_clean_under_sanitizers(name: str, tmp_path: Path) -> None:
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    built = build(tmp_path, FAMILIES[name], False, *flags)
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    result = subprocess.run(
        [sys.executable, dense.__file__, str(built), name, str(CASES)],
        env={**os.environ, "PYTHONPATH": str(Path(dense.__file__).parents[1]), "LD_PRELOAD": runtime.stdout.strip(),
             "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]


@pytest.mark.parametrize(
    ("shape", "distance", "reverse"),
    [
        (Conv2dShape(1, 25, 5, 64, 25, 5, 64, 1, 1), 0, 0),  # in place
        (Conv2dShape(1, 10, 10, 8, 10, 10, 16, 1, 1), -784, -16),  # grows: two pixels at a time
        (Conv2dShape(1, 8, 8, 16, 8, 8, 16, 3, 3, top=1, left=1), -9 * 16, 9 * 16),  # a row and a pixel after the input
    ],
    ids=str,
)
def test_distance_of_known_layers(shape: Conv2dShape, distance: int, reverse: int) -> None:
    layer, _ = dense.random_layer(2, shape)
    kernel = DSP.plan(layer)
    assert (kernel.distance, kernel.reverse) == (distance, reverse)


def test_wide_weights_are_taken_only_where_the_bound_fails() -> None:
    layer, _ = dense.random_layer(2, Conv2dShape(1, 4, 4, 8, 4, 4, 6, 3, 3, top=1, left=1))
    assert not any("_w" in name for name in DSP.plan(layer).micro)
    bias = layer.bias.copy()
    bias[3] = 1 << 24
    assert any(name.endswith("_w") for name in DSP.plan(replace(layer, bias=bias)).micro)


def test_small_code_makes_do_with_fewer_blocks() -> None:
    layers = [dense.random_layer(2, Conv2dShape(1, 10, 10, c, 5, 5, 8, 2, 2, 2, 2))[0] for c in (1, 3, 5, 10, 25)]
    families = {small: replace(DSP, small=small) for small in (False, True)}
    blocks = {
        small: {name for layer in layers for name in family.plan(layer).micro if name.startswith("conv_s8_3")}
        for small, family in families.items()
    }
    assert len(blocks[False]) == 5 and len(blocks[True]) == 2
