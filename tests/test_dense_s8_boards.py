"""int8 dense kernels on emulated boards: every byte against the integer reference, guard bytes around every buffer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import dense_s8_board as board
import dense_s8_cases as dense
from pilotlight.emit.dense_s8 import Family, assembly, dispatch
from pilotlight.emit.dense_s8.dsp import Dsp
from pilotlight.emit.dense_s8.portable import Portable
from pilotlight.emit.dense_s8.rv32 import Rv32
from pilotlight.emit.micro.s8.names import parse

DSP, PORTABLE, RV32 = Dsp(), Portable(), Rv32()


def every_kind(family: Family, machine: board.Machine, cases: int) -> list[board.Planned]:
    """So many rows, 3x3 depthwise, other depthwise layers and convolutions each, and as many again of any kind."""
    planned = [case for kind in (0, 2, 4, 6, None) for case in board.plan(family, range(cases), machine, kind)]
    assert len(planned) == 5 * cases
    return planned


@pytest.mark.parametrize(
    ("machine", "family", "cases"),
    [
        (board.M4, DSP, 500),
        (board.M7, DSP, 500),
        (board.M33, DSP, 500),
        (board.M55, DSP, 40),
        (board.M3, PORTABLE, 300),
        (board.RV32, PORTABLE, 300),
        (board.RV32, RV32, 500),
    ],
    ids=lambda value: getattr(value, "qemu", type(value).__name__),
)
def test_kernels_equal_the_reference(machine: board.Machine, family: Family, cases: int, tmp_path: Path) -> None:
    planned = every_kind(family, machine, cases)
    failed = board.boot(machine, board.build(tmp_path, machine, planned))
    assert failed == 0, planned[failed - 1][0].shape if failed <= len(planned) else "fault"


def test_kernels_equal_the_reference_without_a_long_multiply(tmp_path: Path) -> None:
    """Cortex-M0, in as many images as its flash needs."""
    done = 0
    for part in range(8):
        planned = board.plan(PORTABLE, range(100 * part, 100 * part + 100), board.MICROBIT)
        folder = tmp_path / str(part)
        folder.mkdir()
        failed = board.boot(board.MICROBIT, board.build(folder, board.MICROBIT, planned))
        assert failed == 0, planned[failed - 1][0].shape if failed <= len(planned) else "fault"
        done += len(planned)
    assert done >= 500


def test_every_kind_of_block_is_tried_often() -> None:
    planned = every_kind(DSP, board.M4, 500)
    tried = [{parse(name).kind for name in kernel.micro} for _, _, kernel, _ in planned]
    for kind in ("conv", "row", "depthwise", "taps"):
        assert sum(kind in kinds for kinds in tried) >= 400, kind
    assert sum("conv" in kinds for kinds in tried) >= 500
    assert {parse(n).count for _, _, k, _ in planned for n in k.micro if "conv" in n} == {1, 2, 3}
    assert any("_w" in n for _, _, k, _ in planned for n in k.micro if "conv" in n)


@pytest.mark.parametrize(
    "change",
    [("smmlar", "smmla"), ("asr r5, r5, #8", "asr r5, r5, #7"), ("smlabt", "smlabb"), ("ssat r0, #8", "ssat r0, #9")],
    ids=lambda change: change[0],
)
def test_a_flipped_constant_is_noticed(change: tuple[str, str], tmp_path: Path) -> None:
    planned = board.plan(DSP, range(100), board.M4)
    assert board.boot(board.M4, board.build(tmp_path, board.M4, planned, change)) != 0


@pytest.mark.parametrize("core", ["-mcpu=cortex-m4", "-mcpu=cortex-m33+nodsp", "-mcpu=cortex-m3", "-mcpu=cortex-m0"])
def test_assembly_is_empty_without_the_extension(core: str, tmp_path: Path) -> None:
    names = {name for _, _, kernel, _ in board.plan(DSP, range(60), board.M4) for name in kernel.micro}
    text, stack = assembly(names, "net")
    (tmp_path / "net.S").write_text(text)
    files = [str(tmp_path / "net.S"), "-o", str(tmp_path / "net.o")]
    subprocess.run(["arm-none-eabi-gcc", core, "-mthumb", "-c", *files], check=True)
    listing = subprocess.run(["arm-none-eabi-nm", files[-1]], capture_output=True, text=True, check=True).stdout
    defined = {line.split()[-1] for line in listing.splitlines() if " T " in line}
    assert defined == (set(stack) if core.endswith("m4") else set()) and " U " not in listing


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
    for family in (PORTABLE, DSP, RV32):
        planned = [(f"case_{i}", family.plan(layer)) for i, (layer, _) in enumerate(dense.cases(14))]
        names = {name for _, kernel in planned for name in kernel.micro}
        (tmp_path / "dense.c").write_text(dense.source(planned, dispatch(names, "block")))
        for level in ("-O2", "-O3", "-Os"):
            files = [f"-I{dense.PORTABLE}", "-c", str(tmp_path / "dense.c"), "-o", str(tmp_path / "dense.o")]
            subprocess.run([*compiler, *dense.WARNINGS, "-ffreestanding", level, *files], check=True)
            nm = compiler[0].replace("gcc", "nm")
            text = subprocess.run([nm, "-u", files[-1]], capture_output=True, text=True, check=True).stdout
            assert not {name for name in text.split() if name != "U" and not name.startswith("block_")}
