"""int8 dense kernels on emulated boards: every byte against the integer reference, guard bytes around every buffer."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotlight.kernels.blocks import assembly, dispatch
from pilotlight.kernels.dsp.blocks.names import parse
from support import dense_s8_board as board
from support import dense_s8_cases as dense
from support.c_compilers import compile_c, defined_symbols, undefined_symbols
from support.dense_s8_edges import edges, ends, ties
from support.families import DSP, DSP_MIXED, HELIUM, PORTABLE, RV32, THUMB1, Family, Measured, Registered

CASES, FEWER = 500, 150  # of each kind; fewer where another core runs the same text


def run(machine: board.Machine, images: list[list[board.Planned]], folder: Path) -> int:
    """How many layers the board computed; the first that differs is the failure."""
    for part, planned in enumerate(images):
        place = folder / str(part)
        place.mkdir()
        failed = board.boot(machine, board.build(place, machine, planned))
        assert failed == 0, planned[failed - 1][0].shape if failed <= len(planned) else "fault"
    return sum(map(len, images))


@pytest.mark.parametrize(
    ("machine", "family", "cases"),
    [
        (board.M4, DSP, CASES),
        (board.M7, DSP_MIXED, CASES),
        (board.M33, DSP_MIXED, FEWER),
        (board.M3, PORTABLE, CASES),
        (board.RV32, PORTABLE, FEWER),
        (board.RV32, RV32, CASES),
    ],
    ids=lambda value: getattr(value, "qemu", type(value).__name__),
)
def test_kernels_equal_the_reference(machine: board.Machine, family: Family, cases: int, tmp_path: Path) -> None:
    layers = dense.every_kind(cases) + edges()
    assert run(machine, board.fill(family, layers, machine), tmp_path) == len(layers)


def test_kernels_equal_the_reference_without_a_long_multiply(tmp_path: Path) -> None:
    """Cortex-M0, in as many images as its flash needs."""
    images = board.fill(PORTABLE, dense.every_kind(FEWER) + edges(), board.MICROBIT)
    done = [kernel.driver for planned in images for _, _, kernel, _ in planned]
    assert min(done.count(name) for name in ("pl_row_s8", "pl_conv_s8", "pl_depthwise_s8")) >= FEWER
    run(board.MICROBIT, images, tmp_path)


def test_kernels_for_thumb1_equal_the_reference(tmp_path: Path) -> None:
    images = board.fill(THUMB1, dense.every_kind(60) + edges(), board.MICROBIT)
    done = [kernel.driver for planned in images for _, _, kernel, _ in planned]
    drivers = ("pl_row_thumb1_s8", "pl_conv_thumb1_s8", "pl_depthwise_thumb1_s8", "pl_depthwise_s8")
    assert min(done.count(name) for name in drivers) >= 60
    run(board.MICROBIT, images, tmp_path)


def test_kernels_for_the_dsp_extension_run_on_a_core_with_helium(tmp_path: Path) -> None:
    run(board.M55, board.fill(DSP, dense.every_kind(40), board.M55), tmp_path)


@pytest.mark.parametrize(
    ("machine", "family"),
    [(board.M4, DSP), (board.RV32, RV32), (board.MICROBIT, THUMB1), (board.M3, PORTABLE), (board.M55, HELIUM)],
    ids=lambda value: getattr(value, "qemu", type(value).__name__),
)
def test_what_is_offered_to_measurements_equals_the_reference(
    machine: board.Machine, family: Registered, tmp_path: Path
) -> None:
    tried = board.fill(Measured(family.isa), dense.every_kind(40) + ends(), machine)
    names = {kernel.name for planned in tried for _, _, kernel, _ in planned}
    assert run(machine, tried, tmp_path) > 100 and len(names) >= 6
    if family is DSP:
        assert {"straight", "chain", "wide"} <= {part for name in names for part in name.split(".")}
    if family is RV32:
        assert {"u8", "u16", "pairs"} <= {part for name in names for part in name.split(".")}
    if family is THUMB1:
        assert {"u8", "wide", "line", "r2", "r3"} <= {part for name in names for part in name.split(".")}


def test_every_kind_of_block_is_tried_often() -> None:
    (planned,) = board.fill(DSP, dense.every_kind(CASES), board.M4)
    tried = [{parse(name).kind for name in kernel.micro} for _, _, kernel, _ in planned]
    for kind in ("conv", "row", "depthwise", "taps"):
        assert sum(kind in kinds for kinds in tried) >= CASES, kind
    assert sum("point" in kinds for kinds in tried) >= CASES // 2
    assert {n for _, _, k, _ in planned for n in k.micro if "point" in n} >= {
        f"point_s8_{filters}{wide}{limits}" for filters in (2, 4) for wide in ("", "_w") for limits in ("", "_c")
    }
    assert {parse(n).count for _, _, k, _ in planned for n in k.micro if "conv" in n} == {1, 2, 3}
    assert any("_w" in n for _, _, k, _ in planned for n in k.micro if "conv" in n)


CHANGES: list[tuple[board.Machine, Family, str, str]] = [
    (board.M4, DSP, "smmlar", "smmla"),
    (board.M4, DSP, "asr r5, r5, #8", "asr r5, r5, #7"),
    (board.M4, DSP, "smlabt", "smlabb"),
    (board.M4, DSP, "ssat r0, #8", "ssat r0, #9"),
    (board.M4, DSP, "strd r12, r6", "strd r6, r12"),
    (board.M7, DSP_MIXED, "sxtb16 lr, lr", "sxtb16 lr, r3"),
    (board.RV32, RV32, "srli s4, s4, 31", "srli s4, s4, 30"),
    (board.RV32, RV32, "0(t0)", "1(t0)"),
    (board.RV32, Measured(RV32.isa), "lui t2, 8", "lui t2, 9"),
    (board.MICROBIT, THUMB1, "blo .L", "bhs .L"),
    (board.MICROBIT, THUMB1, "uxth r2, r3", "uxth r2, r2"),
    (board.MICROBIT, THUMB1, "mvns", "movs"),
    (board.MICROBIT, Measured(THUMB1.isa), "subs r5, r5, #1", "subs r5, r5, #2"),
    (board.M55, Measured(HELIUM.isa), "vrmulh.s32", "vmulh.s32"),
    (board.M3, PORTABLE, "(uint32_t)bits >> 31", "(uint32_t)bits >> 30"),
    (board.MICROBIT, PORTABLE, "+ 0x8000", "+ 0x7fff"),
    (board.M3, PORTABLE, "for (; k > 0; k--)", "for (; k > 1; k--)"),
    (board.RV32, PORTABLE, "(ocg - f) < 4) ?", "(ocg - f) < 3) ?"),
    (board.RV32, PORTABLE, "(pixels - p) >= PL_PIXELS_S8", "(pixels - p + 1) >= PL_PIXELS_S8"),
]


@pytest.mark.parametrize(("machine", "family", "old", "new"), CHANGES, ids=[change[2] for change in CHANGES])
def test_a_flipped_constant_is_noticed(
    machine: board.Machine, family: Family, old: str, new: str, tmp_path: Path
) -> None:
    planned = board.plan(family, range(100), machine) + board.fill(family, ties(), machine)[0]
    assert board.boot(machine, board.build(tmp_path, machine, planned, (old, new))) != 0


@pytest.mark.parametrize("core", ["-mcpu=cortex-m4", "-mcpu=cortex-m33+nodsp", "-mcpu=cortex-m3", "-mcpu=cortex-m0"])
def test_assembly_is_empty_without_the_extension(core: str, tmp_path: Path) -> None:
    names = {name for _, _, kernel, _ in board.plan(DSP, range(60), board.M4) for name in kernel.micro}
    text, stack = assembly(names, "net")
    (tmp_path / "net.S").write_text(text)
    files = [str(tmp_path / "net.S"), "-o", str(tmp_path / "net.o")]
    compile_c(["arm-none-eabi-gcc", core, "-mthumb", "-c", *files], tmp_path)
    assert defined_symbols(tmp_path / "net.o") == (set(stack) if core.endswith("m4") else set())
    assert not undefined_symbols(tmp_path / "net.o")


@pytest.mark.parametrize(
    "compiler",
    [
        ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-fno-jump-tables"],
        ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
        ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"],
        ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32"],
    ],
    ids=lambda command: command[1],
)
def test_drivers_are_clean_and_need_no_library(compiler: list[str], tmp_path: Path) -> None:
    """No division, no multiply of 64 bits, no memcpy, at any level."""
    for family in (PORTABLE, DSP, RV32, THUMB1, Measured(RV32.isa), Measured(THUMB1.isa)):
        planned = [(f"case_{i}", family.plan(layer)) for i, (layer, _) in enumerate(dense.cases(14))]
        names = {name for _, kernel in planned for name in kernel.micro}
        (tmp_path / "dense.c").write_text(dense.source(planned, dispatch(names, "block")))
        for level in ("-Os",) if isinstance(family, Measured) else ("-O2", "-O3", "-Os"):
            files = [*dense.INCLUDE, "-c", str(tmp_path / "dense.c"), "-o", str(tmp_path / "dense.o")]
            compile_c([*compiler, *dense.WARNINGS, "-ffreestanding", level, *files], tmp_path)
            assert not {name for name in undefined_symbols(tmp_path / "dense.o") if not name.startswith("block_")}
