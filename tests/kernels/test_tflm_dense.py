"""int8 dense kernels under TFLM's contract: every byte against the integer reference."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from pilotlight import fixed
from pilotlight.kernels.blocks import dispatch
from support import dense_s8_board as board
from support import dense_s8_cases as dense
from support import dense_s8_tflm as tflm
from support.families import DSP, HELIUM, PORTABLE, RV32, Family

CASES = 80
FAMILIES = {"portable": PORTABLE, "dsp": DSP, "rv32": RV32}


def build(folder: Path, family: Family, reverse: bool) -> ctypes.CDLL:
    planned = [(f"case_{i}", family.plan(layer)) for i, (layer, _) in enumerate(tflm.cases(CASES))]
    names = {name for _, kernel in planned for name in kernel.micro}
    return ctypes.CDLL(str(dense.build(folder, dense.source(planned, dispatch(names, "test"), reverse))))


@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_equal_the_reference_apart_and_at_the_distance(name: str, tmp_path: Path) -> None:
    forward = build(tmp_path, FAMILIES[name], False)
    for seed, (layer, x) in enumerate(tflm.cases(CASES)):
        kernel, want = FAMILIES[name].plan(layer), dense.reference(layer, x)
        for distance in {None, kernel.distance}:
            got = dense.run(forward, f"case_{seed}", kernel, layer, x, distance)
            assert np.array_equal(got, want), (seed, layer.shape)


@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_walk_backward(name: str, tmp_path: Path) -> None:
    backward = build(tmp_path, FAMILIES[name], True)
    for seed, (layer, x) in enumerate(tflm.cases(CASES)):
        kernel = FAMILIES[name].plan(layer)
        if kernel.reverse is not None:
            near = dense.run(backward, f"case_{seed}", kernel, layer, x, kernel.reverse)
            assert np.array_equal(near, dense.reference(layer, x)), (seed, layer.shape)


@pytest.mark.parametrize(
    ("machine", "family"),
    [(board.MICROBIT, PORTABLE), (board.M4, DSP), (board.M55, HELIUM), (board.RV32, RV32)],
    ids=lambda value: getattr(value, "qemu", type(value).__name__),
)
def test_kernels_equal_the_reference_on_boards(machine: board.Machine, family: Family, tmp_path: Path) -> None:
    for part, planned in enumerate(board.fill(family, tflm.every_kind(12), machine)):
        place = tmp_path / str(part)
        place.mkdir()
        failed = board.boot(machine, board.build(place, machine, planned))
        assert failed == 0, planned[failed - 1][0] if failed <= len(planned) else "fault"


CHANGES: list[tuple[board.Machine, Family, str, str]] = [
    (board.MICROBIT, PORTABLE, "(low >> 30) + 1u", "(low >> 30)"),
    (board.MICROBIT, PORTABLE, "(v < 0) ? 1u : 0u", "(v < 0) ? 0u : 0u"),
]


@pytest.mark.parametrize(("machine", "family", "old", "new"), CHANGES, ids=[change[2] for change in CHANGES])
def test_a_flipped_constant_is_noticed(
    machine: board.Machine, family: Family, old: str, new: str, tmp_path: Path
) -> None:
    planned = board.fill(family, tflm.cases(100), machine)[0]
    assert board.boot(machine, board.build(tmp_path, machine, planned, (old, new))) != 0


def rounding_divide(x: int, exponent: int) -> int:
    """gemmlowp's RoundingDivideByPOT as it is written there."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def high_mul(a: int, b: int) -> int:
    """gemmlowp's SaturatingRoundingDoublingHighMul: truncating division of the nudged product."""
    product = a * b
    nudged = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    return abs(nudged) // (1 << 31) * (1 if nudged >= 0 else -1)


def test_the_contract_is_gemmlowps() -> None:
    rng = np.random.default_rng(0)
    acc = rng.integers(-(2**31), 2**31, 5000) >> rng.integers(0, 31, 5000)
    q, shifts = fixed.tflm_multiplier(2.0 ** rng.uniform(-31, 0, 5000))
    acc[:100] = 3 << 8
    q[:100], shifts[:100] = 1 << 30, -(np.arange(100) % 12)  # ties
    acc[:50] *= -1
    triples = np.stack([acc, q, shifts], axis=1).tolist()
    want = [rounding_divide(high_mul(a, b), -shift) for a, b, shift in triples]
    assert np.array_equal(fixed.tflm_scaled(acc, q, shifts), want)
