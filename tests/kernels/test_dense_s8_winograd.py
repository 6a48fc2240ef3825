"""3x3 int8 layers in Winograd's form: the bytes of the direct convolution."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pilotlight.codegen.target import Target
from pilotlight.kernels.blocks import dispatch
from pilotlight.kernels.dsp import winograd
from pilotlight.kernels.dsp.blocks.names import parse
from pilotlight.kernels.pack_f32 import Conv2dShape
from pilotlight.kernels.registry import candidates
from pilotlight.selection import fastest, usual
from support import dense_s8_board as board
from support import dense_s8_cases as dense
from support import winograd_cases
from support.c_compilers import compile_c, undefined_symbols
from support.paths import PYTHON_PATH
from support.winograd_cases import FAMILIES, Unfolded, cases

CASES, HOST_CASES = 520, 60
M4 = Target(frozenset({"thumb2", "dsp"}))


def build(folder: Path, family: str, reverse: bool = False, *flags: str) -> Path:
    planned = [(f"case_{i}", FAMILIES[family].plan(layer)) for i, (layer, _) in enumerate(cases(HOST_CASES))]
    names = {name for _, kernel in planned for name in kernel.micro}
    return dense.build(folder, dense.source(planned, dispatch(names, "test"), reverse), *flags)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
def test_twins_equal_the_reference(family: str, reverse: bool, tmp_path: Path) -> None:
    library = ctypes.CDLL(str(build(tmp_path, family, reverse)))
    for i, (layer, x) in enumerate(cases(HOST_CASES)):
        kernel = FAMILIES[family].plan(layer)
        for apart in (None, kernel.reverse if reverse else kernel.distance):
            got = dense.run(library, f"case_{i}", kernel, layer, x, apart)
            assert np.array_equal(got, dense.reference(layer, x)), (i, layer.shape)


@pytest.mark.parametrize("family", FAMILIES)
def test_twins_are_clean_under_sanitizers(family: str, tmp_path: Path) -> None:
    library = build(tmp_path, family, False, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    result = subprocess.run(
        [sys.executable, winograd_cases.__file__, str(library), family, str(HOST_CASES)],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH, "LD_PRELOAD": runtime.stdout.strip(),
             "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-3000:]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("machine", [board.M4, board.M7, board.M33], ids=lambda machine: machine.qemu)
def test_blocks_equal_the_reference(machine: board.Machine, family: str, tmp_path: Path) -> None:
    (planned,) = board.fill(FAMILIES[family], cases(CASES), machine)
    failed = board.boot(machine, board.build(tmp_path, machine, planned))
    assert failed == 0, planned[failed - 1][0].shape if failed <= len(planned) else "fault"
    assert len(planned) == CASES
    blocks = [parse(name) for _, _, kernel, _ in planned for name in kernel.micro if "winograd" in name]
    assert {b.wide for b in blocks} == {b.finish.clamp for b in blocks} == {False, True}
    assert {True, False} == {b.finish.shift > 0 for b in blocks}


@pytest.mark.parametrize(
    "change",
    [("smmlar", "smmla"), ("asr #2", "asr #3"), ("rsb r4, r4", "sub r4, r4"), ("smuad", "smusd"),
     ("ssub16 r9, r9, r11", "ssub16 r9, r11, r9"), ("#96", "#92"), ("sadd16 r10, r11, r2", "ssub16 r10, r11, r2"),
     ("sxtb16 r5, r5, ror #8", "sxtb16 r5, r5, ror #16")],
    ids=lambda change: change[0],
)  # fmt: skip
def test_a_flipped_constant_is_noticed(change: tuple[str, str], tmp_path: Path) -> None:
    (planned,) = board.fill(Unfolded(), cases(60), board.M4)
    assert board.boot(board.M4, board.build(tmp_path, board.M4, planned, change)) != 0


@pytest.mark.parametrize(
    "compiler",
    [
        ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-fno-jump-tables"],
        ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"],
        ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32"],
    ],
    ids=lambda command: command[1],
)
def test_the_driver_is_clean_and_needs_no_library(compiler: list[str], tmp_path: Path) -> None:
    planned = [
        (f"case_{family}_{i}", FAMILIES[family].plan(layer)) for family in FAMILIES
        for i, (layer, _) in enumerate(cases(5))
    ]  # fmt: skip
    names = {name for _, kernel in planned for name in kernel.micro}
    (tmp_path / "winograd.c").write_text(dense.source(planned, dispatch(names, "block")))
    for level in ("-O2", "-O3", "-Os"):
        files = [*dense.INCLUDE, "-c", str(tmp_path / "winograd.c"), "-o", str(tmp_path / "winograd.o")]
        compile_c([*compiler, *dense.WARNINGS, "-ffreestanding", level, *files], tmp_path)
        assert not [name for name in undefined_symbols(tmp_path / "winograd.o") if not name.startswith("block_")]


def layer_of(shape: Conv2dShape) -> dense.Layer:
    return dense.random_layer(2, shape)[0]


def test_only_plain_3x3_layers_fit() -> None:
    plain = Conv2dShape(1, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1, 1)
    assert winograd.fits(layer_of(plain))
    for other in (
        replace(plain, sh=2, oh=4), replace(plain, dw=2, ow=6), replace(plain, ic=18), replace(plain, oc=3),
        replace(plain, kh=5, oh=6), replace(plain, groups=2),
    ):  # fmt: skip
        assert not winograd.fits(layer_of(other)), other


def test_what_could_leave_32_bits_is_refused() -> None:
    """Four times 128 times the weights of a filter is the most that comes out before the division by four."""
    layer = layer_of(Conv2dShape(1, 3, 3, 3672, 1, 1, 4, 3, 3))
    w = np.zeros_like(layer.w)
    w[1].flat[: 2**31 // (512 * 127)] = 127
    assert winograd.fits(replace(layer, w=w))
    w[1].flat[2**31 // (512 * 127)] = 127
    assert not winograd.fits(replace(layer, w=w))


def test_it_is_chosen_where_it_pays() -> None:
    large = Conv2dShape(1, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1, 1)
    small = replace(large, ih=3, iw=3, oh=1, ow=1, top=0, left=0)  # one pixel of two tiles
    offered = {size: candidates(layer_of(shape), M4) for size, shape in (("small", small), ("large", large))}
    assert fastest(offered["small"]).driver == "pl_conv_dsp_s8"
    assert fastest(offered["large"]).driver == "pl_winograd_dsp_s8"
    assert usual(offered["large"]).candidate.driver == "pl_conv_dsp_s8"
