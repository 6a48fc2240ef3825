"""int8 layers over the Helium blocks: the C twins on the host, the assembly on the emulated board, byte for byte."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from pilotlight import boards
from pilotlight.errors import PilotlightError
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.mve.dispatch import assembly, dispatch
from pilotlight.kernels.mve.names import COPIES, parse
from pilotlight.kernels.pack_f32 import Conv2dShape, LinearShape
from pilotlight.toolchain.find import find
from pilotlight.toolchain.stack import stack_bytes
from support import dense_s8_cases as dense
from support import helium_board
from support.c_compilers import compile_c, defined_symbols, undefined_symbols
from support.dense_s8_edges import edges
from support.families import HELIUM
from support.paths import PYTHON_PATH

CASES = 600
SANITIZED = 150


def remainders() -> list[Conv2dShape]:
    """Every remainder of channels, filters and pixels that a block treats specially, and every written-out depth."""
    shapes = [LinearShape(1, i, o).as_conv2d() for i, o in product((1, 15, 16, 17, 31, 32, 33), (1, 2, 3, 4, 5, 8))]
    depths = (16, 17, 33, 48, 64, 65, 81, 97, 113, 129, 145, 161)
    shapes += [LinearShape(n, i, 6).as_conv2d() for n, i in product((2, 3), depths)]
    for channels, stride in product((2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 48), (1, 2)):
        size = (5 + 2 - 3) // stride + 1
        shapes.append(Conv2dShape(1, 5, 5, channels, size, size, channels, 3, 3, stride, stride, 1, 1, groups=channels))
        wide = Conv2dShape(1, 4, 15, channels, 4, 16, channels, 3, 2, 1, 1, 1, 1, groups=channels)
        shapes.append(wide)
    for kh, kw in product((1, 2, 3), (1, 2, 3, 4)):
        shapes.append(Conv2dShape(1, 4, 6, 18, 5 - kh, 7 - kw, 18, kh, kw, groups=18))
        shapes.append(Conv2dShape(2, 4, 6, 5, 5 - kh, 7 - kw, 6, kh, kw))
    for channels, stride, groups in product((8, 20, 32), (1, 2), (1, 2)):  # pixels that share columns
        oh, ow = 6 // stride, 21 // stride
        shapes.append(Conv2dShape(1, 6, 21, channels, oh, ow, 6, 3, 3, stride, stride, 1, 1, groups=groups))
        shapes.append(Conv2dShape(1, 2, 3, channels, 3, 8, 6, 4, 2, 1, 1, 2, 4, groups=groups))
    for channels, (kh, kw) in product((3, 8, 15, 16, 17, 40), ((2, 5), (5, 5))):
        shapes.append(Conv2dShape(1, 5, 6, channels, 5, 6, channels, kh, kw, top=2, left=2, groups=channels))
    return shapes


def layers() -> list[tuple[Int8Layer, np.ndarray]]:
    known = [dense.random_layer(seed, shape) for seed, shape in enumerate(remainders())]
    return known + dense.cases(CASES)


@pytest.fixture(scope="module")
def cases() -> list[helium_board.Case]:
    return [(layer, x, HELIUM.plan(layer)) for layer, x in layers()]


def test_assembly_equals_the_reference_on_the_board(cases: list[helium_board.Case], tmp_path: Path) -> None:
    drawn = [(layer, x, HELIUM.plan(layer)) for layer, x in dense.every_kind(500) + edges()]
    drivers = [kernel.driver for _, _, kernel in drawn if kernel.micro]
    assert all(drivers.count(name) >= 500 for name in ("pl_linear_mve_s8", "pl_conv2d_mve_s8", "pl_depthwise_mve_s8"))
    for first in range(4):  # what the memory holds at once
        tried = (cases + drawn)[first::4]
        word, number = helium_board.boot(helium_board.build(tmp_path, tried))
        assert word == "d", (tried[number][0].shape, tried[number][2].micro)
        assert number == len(tried)


def test_stack_is_what_the_instructions_push(cases: list[helium_board.Case], tmp_path: Path) -> None:
    """Followed instruction by instruction, loops included."""
    image = helium_board.build(tmp_path, cases)
    _, stack = assembly({name for _, _, kernel in cases for name in kernel.micro}, "net")
    found = {name: stack_bytes(find(boards.load("mps3-an547")), image, [name], [], {}) for name in sorted(stack)[::5]}
    assert found == {name: stack[name] for name in found}


def test_a_lost_rounding_is_seen(cases: list[helium_board.Case], tmp_path: Path) -> None:
    """The same cases with the multiply that does not round."""
    image = helium_board.build(tmp_path, cases[:100], edit=("vrmulh.s32", "vmulh.s32"))
    assert helium_board.boot(image)[0] == "w"


def test_twins_equal_the_reference_on_the_host(cases: list[helium_board.Case], tmp_path: Path) -> None:
    chosen = cases[::2]
    names = {name for _, _, kernel in chosen for name in kernel.micro}
    for reverse in (False, True):
        calls = [(f"case_{i}", kernel) for i, (_, _, kernel) in enumerate(chosen)]
        folder = tmp_path / str(reverse)
        folder.mkdir()
        library = ctypes.CDLL(str(dense.build(folder, dense.source(calls, dispatch(names, "net"), reverse))))
        for i, (layer, x, kernel) in enumerate(chosen):
            distance = kernel.reverse if reverse else kernel.distance
            for d in {None, distance}:
                got = dense.run(library, f"case_{i}", kernel, layer, x, d if d is not None else None)
                assert np.array_equal(got, dense.reference(layer, x)), (layer.shape, d)


def test_twins_are_clean_under_sanitizers(tmp_path: Path) -> None:
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    calls, names = helium_board.host_calls(SANITIZED)
    library = dense.build(tmp_path, dense.source(calls, dispatch(names, "net")), *flags)
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    result = subprocess.run(
        [sys.executable, helium_board.__file__, str(library), str(SANITIZED)],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH, "LD_PRELOAD": found.stdout.strip(),
             "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]


@pytest.mark.parametrize(
    "compiler",
    [
        ["gcc"],
        ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m0"],
        ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m55", "-mfloat-abi=hard"],
        ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32"],
    ],
    ids=lambda flags: flags[-1],
)
def test_c_builds_for_any_core_and_needs_nothing(
    compiler: list[str], tmp_path: Path
) -> None:
    """Blocks are the only symbols left to resolve, and only where they are assembly."""
    shapes = [LinearShape(1, 20, 6).as_conv2d(), Conv2dShape(1, 5, 5, 6, 5, 5, 7, 3, 3, 1, 1, 1, 1)]
    shapes.append(Conv2dShape(1, 5, 5, 24, 5, 5, 24, 3, 3, 1, 1, 1, 1, groups=24))
    kernels = [HELIUM.plan(dense.random_layer(0, shape)[0]) for shape in shapes]
    names = {name for kernel in kernels for name in kernel.micro}
    text = dense.source([(f"case_{i}", kernel) for i, kernel in enumerate(kernels)], dispatch(names, "net"))
    (tmp_path / "net.c").write_text(text)
    files = [*dense.INCLUDE, "-c", str(tmp_path / "net.c"), "-o", str(tmp_path / "net.o")]
    for level in ("-O1", "-O3", "-Os"):
        compile_c([*compiler, *dense.WARNINGS, "-ffreestanding", level, *files], tmp_path)
        blocks = {f"net_{name}" for name in names} if "-mcpu=cortex-m55" in compiler else set()
        assert undefined_symbols(tmp_path / "net.o") <= blocks


@pytest.mark.parametrize("core", ["cortex-m55", "cortex-m55+nomve", "cortex-m4"])
def test_assembly_file_is_empty_without_the_extension(core: str, tmp_path: Path) -> None:
    names = {*COPIES, "dot_s8_1x4", "dot_s8_2x4_c3_k1", "dw_s8_t9_16_8_c"}
    text, stack = assembly(names, "net")
    (tmp_path / "net.S").write_text(text)
    files = ["-c", str(tmp_path / "net.S"), "-o", str(tmp_path / "net.o")]
    compile_c(["arm-none-eabi-gcc", "-mthumb", f"-mcpu={core}", "-mfloat-abi=hard", *files], tmp_path)
    assert defined_symbols(tmp_path / "net.o") == (set(stack) if core == "cortex-m55" else set())
    assert not undefined_symbols(tmp_path / "net.o")


def test_weights_whose_products_overflow_int16_are_left_to_portable_c() -> None:
    layer, _ = dense.random_layer(0, Conv2dShape(1, 5, 5, 24, 5, 5, 24, 3, 3, 1, 1, 1, 1, groups=24))
    layer.w[3, 1, 1, 0] = -128
    assert not HELIUM.plan(layer).micro
    layer.w[3, 1, 1, 0] = -127
    assert HELIUM.plan(layer).micro


def test_names_say_what_they_are() -> None:
    names = ["dot_s8_1x4", "dot_s8_1x4_k3", "dot_s8_2x4_c4", "dot_s8_2x4_odd_k1", "dot_s8_nx4", "dw_s8_t9_16"]
    names.append("dw_s8_many_15_k2_c")
    for name in names:
        assert parse(name).name == name
    with pytest.raises(PilotlightError, match="dot_s8_9x9"):
        parse("dot_s8_9x9")
