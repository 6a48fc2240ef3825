"""int8 dense kernels under TFLM's contract: every byte against the integer reference."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from pilotlight import fixed
from pilotlight.kernels.blocks import dispatch
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.dsp import winograd
from pilotlight.kernels.dsp.blocks.names import parse
from pilotlight.kernels.dsp.dense_s8 import finish_of
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.layers.twice import nudged, twice
from pilotlight.kernels.pack_f32 import Conv2dShape, LinearShape
from support import dense_s8_board as board
from support import dense_s8_cases as dense
from support import dense_s8_tflm as tflm
from support import helium_board, winograd_cases
from support.families import DSP, HELIUM, PORTABLE, RV32, Family

CASES = 30
FAMILIES = {"portable": PORTABLE, "dsp": DSP, "mve": HELIUM, "rv32": RV32}


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
    [(board.MICROBIT, PORTABLE), (board.M4, DSP), (board.RV32, RV32)],
    ids=lambda value: getattr(value, "qemu", type(value).__name__),
)
def test_kernels_equal_the_reference_on_boards(machine: board.Machine, family: Family, tmp_path: Path) -> None:
    for part, planned in enumerate(board.fill(family, tflm.every_kind(6), machine)):
        place = tmp_path / str(part)
        place.mkdir()
        failed = board.boot(machine, board.build(place, machine, planned))
        assert failed == 0, planned[failed - 1][0] if failed <= len(planned) else "fault"


CHANGES: list[tuple[board.Machine, Family, str, str]] = [
    (board.MICROBIT, PORTABLE, "(low >> 30) + 1u", "(low >> 30)"),
    (board.MICROBIT, PORTABLE, "(v < 0) ? 1u : 0u", "(v < 0) ? 0u : 0u"),
    (board.M4, DSP, "add r12, lr, r5, asr #31", "add r12, lr, r5, asr #12"),
    (board.M4, DSP, "lsl r11, r11, r3", "lsl r11, r11, r0"),
    (board.M4, DSP, "lsl r10, lr, r11", "mov r10, lr"),
    (board.M4, DSP, "asr r0, r0, r10", "asr r0, r0, #6"),
    (board.M4, DSP, "smmlar", "smmla"),
    (board.RV32, RV32, "srai t4, t4, 8", "srai t4, t4, 7"),
    (board.RV32, RV32, "sra ", "srl "),
]


@pytest.mark.parametrize(("machine", "family", "old", "new"), CHANGES, ids=[change[2] for change in CHANGES])
def test_a_flipped_constant_is_noticed(
    machine: board.Machine, family: Family, old: str, new: str, tmp_path: Path
) -> None:
    planned = board.fill(family, tflm.cases(60), machine)[0]
    assert board.boot(machine, board.build(tmp_path, machine, planned, (old, new))) != 0


def helium_cases() -> list[helium_board.Case]:
    shapes = [LinearShape(n, i, 6).as_conv2d() for n, i in product((1, 2, 3), (9, 16, 33, 64, 145, 161, 180))]
    for channels, kernel in product((3, 4, 8, 16, 17, 25), (3, 4)):
        shapes.append(Conv2dShape(1, 5, 7, channels, 3, 5, channels, kernel, kernel, 1, 1, 1, 1, groups=channels))
    known = [tflm.tflm_layer(seed, shape) for shape in shapes for seed in (1, 2)]
    planned = [(layer, x, HELIUM.plan(layer)) for layer, x in known + tflm.every_kind(4)]
    return [case for case in planned if case[2].micro]


def test_helium_equals_the_reference(tmp_path: Path) -> None:
    cases = helium_cases()
    word, number = helium_board.boot(helium_board.build(tmp_path, cases))
    assert (word, number) == ("d", len(cases)), cases[number][0]
    names = {name for _, _, kernel in cases for name in kernel.micro}
    parts = ("dot_s8_1x4_t", "dot_s8_nx4_t", "2x4_c3", "2x4_odd_t", "2x4_even_t", "dw_s8_t9", "dw_s8_many")
    assert all(any(part in name for name in names) for part in parts)
    assert {"_n" in name for name in names if "_t" in name and "dw" in name} == {False, True}


@pytest.mark.parametrize(
    "change",
    [("vqrdmulh", "vqdmulh"), ("vrshl.s32", "vshl.s32"), ("vshr.s32 q3, q0, #31", "vshr.s32 q3, q0, #3"),
     ("asr r2, r2, #8", "asr r2, r2, #7"), ("[r9, #-32]", "[r9, #-28]")],
    ids=lambda change: change[0],
)
def test_a_change_of_helium_is_noticed(change: tuple[str, str], tmp_path: Path) -> None:
    assert helium_board.boot(helium_board.build(tmp_path, helium_cases()[:60], edit=change))[0] == "w"


@dataclass(frozen=True)
class Tiles:
    """Winograd's form, chosen whether it pays or not."""

    unfolded: bool

    def plan(self, layer: Int8Layer) -> Candidate:
        form = twice(layer)
        assert form is not None
        finish = finish_of(form)
        return winograd.unfolded(form, finish, 1) if self.unfolded else winograd.stored(form, finish)


def tiled(count: int) -> list[tuple[Int8Layer, np.ndarray]]:
    """3x3 layers that have this form."""
    made = (tflm.tflm_layer(seed, winograd_cases.random_shape(seed)) for seed in range(2 * count))
    return [(layer, x) for layer, x in made if (form := twice(layer)) is not None and winograd.fits(form)][:count]


@pytest.mark.parametrize("unfolded", [False, True], ids=["stored", "unfolded"])
def test_tiles_equal_the_reference(unfolded: bool, tmp_path: Path) -> None:
    cases = tiled(24)
    assert {nudged(form) for layer, _ in cases if (form := twice(layer)) is not None} == {False, True}
    planned = [(f"case_{i}", Tiles(unfolded).plan(layer)) for i, (layer, _) in enumerate(cases)]
    names = {name for _, kernel in planned for name in kernel.micro}
    library = ctypes.CDLL(str(dense.build(tmp_path, dense.source(planned, dispatch(names, "test")))))
    for (name, kernel), (layer, x) in zip(planned, cases, strict=True):
        assert np.array_equal(dense.run(library, name, kernel, layer, x), dense.reference(layer, x)), layer.shape
    (image,) = board.fill(Tiles(unfolded), cases, board.M4)
    assert board.boot(board.M4, board.build(tmp_path, board.M4, image)) == 0
    change = ("lsl r4, r3, r10", "lsl r4, r3, r11")
    assert board.boot(board.M4, board.build(tmp_path, board.M4, image, change)) != 0


def test_every_kind_of_block_is_tried() -> None:
    blocks = {parse(name) for layer, _ in tflm.every_kind(30) for name in DSP.plan(layer).micro}
    kinds = {(b.kind, b.finish.nudge, b.finish.clamp) for b in blocks if b.finish.twice or b.finish.down}
    assert kinds >= {(kind, nudge, False) for kind in ("conv", "row", "depthwise", "taps") for nudge in (False, True)}
    assert {kind for kind, _, clamp in kinds if clamp} >= {"conv", "row", "depthwise", "taps"}


def test_factors_that_no_fast_form_holds_take_portable_kernels() -> None:
    layer, _ = tflm.tflm_layer(2, Conv2dShape(1, 4, 4, 8, 4, 4, 6, 3, 3, top=1, left=1))
    assert layer.shifts is not None and DSP.plan(layer).name == "dsp.conv"
    for shift in (0, 1):
        assert DSP.plan(replace(layer, shifts=layer.shifts * 0 + shift)).name == "portable.conv"
    most = replace(layer, w=np.full_like(layer.w, -128))
    assert all("_w" in name for name in DSP.plan(most).micro if "conv" in name)


def test_filters_with_one_output_lose_their_weights() -> None:
    layer, x = tflm.tflm_layer(2, Conv2dShape(1, 4, 4, 8, 4, 4, 6, 3, 3, top=1, left=1))
    assert layer.shifts is not None
    bias, shifts = layer.bias.copy(), layer.shifts.copy()
    bias[1], shifts[1] = (1 << 30) - (1 << 20), -27
    tiny = replace(layer, bias=bias, shifts=shifts)
    form = twice(tiny)
    assert form is not None and not form.w[1].any() and form.w[0].any()
    y = dense.reference(tiny, x)[..., 1]
    assert np.all(y == (form.bias[1] // 4 + layer.zy)) and np.all(y != layer.zy)


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
