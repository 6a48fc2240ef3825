"""Counts and cycles of code whose instructions are known by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pilotlight import boards, device, toolchain
from pilotlight.device.counts import Counts, CountsFile, Segment
from pilotlight.device.plugin import build_plugin, refuses_plugins, wanted_version
from pilotlight.errors import PilotlightError
from pilotlight.measure.estimate import Cycles, estimate, load_table
from pilotlight.measure.profile import cycles_estimate, profile
from pilotlight.toolchain.disassembly import Disassembly, disassemble, printed
from pilotlight.toolchain.find import find
from pilotlight.toolchain.sizes import functions
from support.programs import path_of
from support.tiny_model import EMULATED, FOLDER, altered, inputs

# A whole model in assembly: 3 instructions before the first label, the loop is a kernel both steps share.
ARM = """
    .syntax unified
    .thumb
    .section .text.tiny_run, "ax"
    .globl tiny_run
    .thumb_func
    .type tiny_run, %function
tiny_run:
    push {r4, lr}
    movs r4, #0
    nop
tiny_step_0:
    movs r0, #100
    bl loop
tiny_step_1:
    movs r0, #7
    bl loop
tiny_step_2:
tiny_step_3:
    nop
    pop {r4, pc}
    .size tiny_run, . - tiny_run
    .thumb_func
    .type loop, %function
loop:
    subs r0, r0, #1
    bne loop
    bx lr
    .size loop, . - loop
"""
RISCV = """
    .option norvc
    .section .text.tiny_run, "ax"
    .globl tiny_run
    .type tiny_run, @function
tiny_run:
    addi sp, sp, -16
    sw ra, 12(sp)
    nop
tiny_step_0:
    li a0, 100
    jal ra, loop
tiny_step_1:
    li a0, 7
    jal ra, loop
tiny_step_2:
tiny_step_3:
    lw ra, 12(sp)
    addi sp, sp, 16
    ret
    .size tiny_run, . - tiny_run
    .type loop, @function
loop:
    addi a0, a0, -1
    bnez a0, loop
    ret
    .size loop, . - loop
"""
# 3 + 2 + (2 * 100 + 1), 2 + (2 * 7 + 1), nothing, the rest
STEPS = (206, 17, 0, 2)


def by_hand(target: Path, text: str, stack: int) -> Path:
    """tiny with its run function in assembly; the one in C stays under another name, unused."""
    unused = "void tiny_unused(const tiny_t *m);\nvoid tiny_unused(const tiny_t *m)\n{"
    return altered(
        target,
        {"void tiny_run(const tiny_t *m)\n{": unused, '"tiny_step_"': '"tiny_unused_"'},
        {"tiny_kernels.S": text},
        asm_stack={"tiny_run": stack, "loop": 0},
    )


@pytest.mark.parametrize("name", EMULATED)
def test_hand_written_loop_counts_exactly(name: str, tmp_path: Path) -> None:
    board = boards.load(name)
    riscv = name.startswith("riscv")
    folder = by_hand(tmp_path / "model", RISCV if riscv else ARM, 16 if riscv else 8)
    build = toolchain.build_model(folder, board, tmp_path / "work")
    with device.open(board, build) as dev:
        for _ in range(3):
            dev.run(inputs())
    expected = (*STEPS[:3], 3) if riscv else STEPS
    assert dev.counts is not None
    assert dev.counts.runs == (expected,) * 3
    assert dev.counts.totals == (sum(expected),) * 3


def test_cycles_of_the_hand_written_loop(tmp_path: Path) -> None:
    """push 3, movs, nop; movs, bl+2, then 100 subs and bne, 99 of them taken, bx+2; pop of two 3, +2."""
    board = boards.load("mps2-an386")
    build = toolchain.build_model(by_hand(tmp_path / "model", ARM, 8), board, tmp_path / "work")
    with device.open(board, build) as dev:
        dev.run(inputs())
    assert dev.counts is not None
    rows = profile(build, dev.counts).rows
    loop = [2 * n + 2 * (n - 1) + 3 for n in (100, 7)]
    assert [row.cycles for row in rows] == [5 + 1 + 3 + loop[0], 1 + 3 + loop[1], 0, 1 + 3 + 2]
    assert cycles_estimate(build, dev.counts) == sum(row.cycles or 0 for row in rows)


@pytest.mark.parametrize("name", ["microbit", "mps2-an386", "riscv32-virt"])
def test_shared_kernel_is_charged_to_each_operator(name: str, tmp_path: Path) -> None:
    """Two steps call scale; the rows carry the operators and add up to the total."""
    board = boards.load(name)
    build = toolchain.build_model(FOLDER, board, tmp_path)
    with device.open(board, build) as dev:
        dev.run(inputs(n=2))
        dev.run(inputs(n=5))
    assert dev.counts is not None
    result = profile(build, dev.counts)
    assert [(row.op, row.module, row.source, row.macs) for row in result.rows] == [
        ("scale", "first", "tiny.py:3", 8),
        ("scale", "second", "tiny.py:4", 8),
        ("accumulate", "sum", "tiny.py:5", 0),
    ]
    assert min(row.instructions for row in result.rows) > 8 * 6
    assert sum(row.instructions for row in result.rows) == result.instructions == dev.counts.totals[0]
    assert sum(s.instructions * s.times for s in dev.counts.segments) == result.instructions
    assert dev.counts.runs[1][2] > dev.counts.runs[0][2]
    assert (result.cycles is None) == (board.cycles is None)
    if result.cycles is not None:
        assert result.cycles == sum(row.cycles or 0 for row in result.rows) > result.instructions


def test_another_way_of_counting_agrees(tmp_path: Path) -> None:
    """Executions of every single instruction, from the segments, against the code itself: a function's
    first instruction runs as often as it is called, and every segment lies in the image."""
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path)
    with device.open(board, build) as dev:
        dev.run(inputs(n=3))
    assert dev.counts is not None and build.toolchain and build.image
    code = disassemble(build.toolchain, build.image)
    times: dict[int, int] = {}
    for segment in dev.counts.segments:
        first = code.index[segment.address]
        for instruction in code.instructions[first : first + segment.instructions]:
            times[instruction.address] = times.get(instruction.address, 0) + segment.times
    assert sum(times.values()) == dev.counts.totals[0]
    at = functions(build.image)
    assert times[at["tiny_run"][0]] == 1
    assert times[next(a for n, (a, _) in at.items() if n.startswith("scale"))] == 2


def test_counting_can_be_switched_off(tmp_path: Path) -> None:
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path)
    with device.open(board, build, count=False) as dev:
        dev.run(inputs())
    assert dev.counts is None
    assert dev.counts_reason == "counting was switched off"


def test_host_has_no_counts(tmp_path: Path) -> None:
    board = boards.load("host")
    with device.open(board, toolchain.build_model(FOLDER, board, tmp_path)) as dev:
        dev.run(inputs())
    assert (dev.counts, dev.stack) == (None, None)
    assert dev.counts_reason == "instructions are counted on emulated boards"


def test_plugin_is_built_once_per_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "cache"))
    first, again, other = build_plugin(), build_plugin(), build_plugin(2)
    assert first == again != other
    assert sorted((tmp_path / "cache").glob("*.so")) == sorted([first, other])


def test_without_a_place_for_the_plugin_there_are_no_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path / "file" / "cache"))
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path / "work")
    with device.open(board, build) as dev:
        dev.run(inputs())
    assert dev.counts is None
    assert "the instruction counter cannot be stored" in (dev.counts_reason or "")


def test_answers_of_other_emulators() -> None:
    newer = "TCG plugin count.so requires API version 1, but this QEMU supports only a minimum version of 2"
    older = "TCG plugin count.so requires API version 2, but this QEMU supports only up to version 1"
    assert (wanted_version(newer), wanted_version(older), wanted_version("all well")) == (2, 1, None)
    assert refuses_plugins("qemu-system-arm: -plugin: invalid option")
    assert not refuses_plugins("qemu-system-arm: unsupported machine type")


def test_emulator_of_another_version_gets_the_plugin_it_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This emulator takes version 1; start with one it refuses."""
    monkeypatch.setattr("pilotlight.device.emulator.FIRST_VERSION", 77)
    monkeypatch.setattr("pilotlight.device.emulator.build_plugin", lambda version=77: build_plugin(version))
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path)
    with device.open(board, build, emulator="qemu") as dev:
        dev.run(inputs())
    assert dev.counts is not None and dev.counts.totals[0] > 0


def test_emulator_without_plugins_runs_without_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator = tmp_path / "bin" / "qemu-system-arm"
    emulator.parent.mkdir()
    emulator.write_text(
        '#!/bin/sh\nfor a in "$@"; do if [ "$a" = -plugin ]; then\n'
        'echo "qemu-system-arm: -plugin: invalid option" >&2; exit 1; fi; done\n'
        f'exec {path_of("qemu-system-arm")} "$@"\n'
    )
    emulator.chmod(0o755)
    board = boards.load("mps2-an386")
    build = toolchain.build_model(FOLDER, board, tmp_path / "work")
    monkeypatch.setenv("PATH", f"{emulator.parent}:/usr/bin:/bin")
    with device.open(board, build) as dev:
        dev.run(inputs())
    assert dev.counts is None
    assert "does not take the counting plugin" in (dev.counts_reason or "")


CODE = Disassembly(
    tuple(
        printed(2 * i, *text.split(" ", 1))
        for i, text in enumerate(
            [
                "ldr r0, [r1]",  # 2
                "ldr.w r2, [r1, #4]",  # 1, pipelined
                "vldr s0, [r2]",  # 1
                "add r0, r1",  # 1
                "vldmia r0!, {s0-s3}",  # 5
                "vldr s1, [r2]",  # 2: a multiple load is not pipelined
                "str r0, [r3]",  # 1
                "ldrd r0, r1, [r3]",  # 2
                "vfma.f32 s0, s1, s2",  # 3
                "vmul.f32 s0, s1, s2",  # 1
                "vdiv.f32 s0, s1, s2",  # 14
                "sdiv r0, r1, r2",  # 12
                "push {r4, r5, lr}",  # 4
                "b.n 0",  # 1, and 2 for each time taken
            ]
        )
    )
)


def test_cortex_m4_timings() -> None:
    counts = Counts(runs=((0, 0),), segments=(Segment(1, 0, 14, 10, 9),))
    once = 2 + 1 + 1 + 1 + 5 + 2 + 1 + 2 + 3 + 1 + 14 + 12 + 4 + 1
    total = 10 * once + 9 * 2
    assert estimate(counts, CODE, load_table("cortex-m4")) == (Cycles(), Cycles(total, total - 10 * 10, total))


def test_segment_cut_between_two_loads_stays_pipelined() -> None:
    whole = Counts(runs=((0,),), segments=(Segment(0, 0, 3, 1, 0),))
    cut = Counts(runs=((0,),), segments=(Segment(0, 0, 1, 1, 0), Segment(0, 2, 2, 1, 0)))
    table = load_table("cortex-m4")
    assert estimate(whole, CODE, table) == estimate(cut, CODE, table)


def test_helium_is_read_as_such(tmp_path: Path) -> None:
    """Without the architecture, objdump reads coprocessor instructions, which a table would time as something else."""
    board, source = boards.load("mps3-an547"), tmp_path / "vectors.S"
    source.write_text(".syntax unified\n.thumb\nvldrb.u8 q0, [r0], #16\nvmlava.s8 r2, q0, q1\nletp lr, .\n")
    tools = find(board)
    subprocess.run([*tools.command, *board.flags, "-c", str(source), "-o", str(tmp_path / "vectors.o")], check=True)
    code = disassemble(tools, tmp_path / "vectors.o")
    assert [i.mnemonic for i in code.instructions] == ["vldrb.u8", "vmlava.s8", "letp"]


def test_unknown_cycle_table() -> None:
    with pytest.raises(PilotlightError, match=r"no table named 'z80'; there are: .*cortex-m4"):
        load_table("z80")


def test_counts_of_a_run_that_never_came(tmp_path: Path) -> None:
    build = toolchain.build_model(FOLDER, boards.load("mps2-an386"), tmp_path)
    assert CountsFile(tmp_path / "nothing.txt").read() == Counts()
    with pytest.raises(PilotlightError, match="nothing was run"):
        profile(build, Counts())
    assert cycles_estimate(build, None) is None


def test_counts_are_read_as_they_come(tmp_path: Path) -> None:
    """Each time only what is new, and no line before its end."""
    path = tmp_path / "counts.txt"
    file = CountsFile(path)
    path.write_bytes(b"segment 0 1f0 3 2 1\ndetail\nrun 6 0\nru")
    first = Counts(((6, 0),), (Segment(0, 0x1F0, 3, 2, 1),))
    assert file.read() == first == file.read()
    path.write_bytes(b"x" * (path.stat().st_size - 2) + b"run 7 12\nrun 8 1")
    assert file.read() == Counts((*first.runs, (7, 12)), first.segments)
    with path.open("ab") as more:
        more.write(b"\nstopped 1 2a\n")
    assert file.read() == Counts((*first.runs, (7, 12), (8, 1)), first.segments, (1, 0x2A))


def test_copied_code_belongs_to_one_step(tmp_path: Path) -> None:
    """Two ways into a step, each with its own copy of the label, as the compiler makes them."""
    text = ARM.replace(
        "tiny_step_1:",
        "    cmp r4, #0\n    bne 1f\ntiny_step_1.7:\n    nop\n    b 2f\n1:\ntiny_step_1.8:\n2:",
    )
    board = boards.load("mps2-an386")
    build = toolchain.build_model(by_hand(tmp_path / "model", text, 8), board, tmp_path / "work")
    with device.open(board, build) as dev:
        dev.run(inputs())
    assert dev.counts is not None
    # the test of r4 belongs to step 0; the copy that is executed adds nop and b to step 1
    assert dev.counts.runs == ((STEPS[0] + 2, STEPS[1] + 2, *STEPS[2:]),)


def test_model_without_labels_is_one_step(tmp_path: Path) -> None:
    text = ARM.replace("tiny_step_", "tiny_place_")
    board = boards.load("mps2-an386")
    build = toolchain.build_model(by_hand(tmp_path / "model", text, 8), board, tmp_path / "work")
    with device.open(board, build) as dev:
        dev.run(inputs())
    assert dev.counts is not None
    assert dev.counts.runs == ((sum(STEPS),),)
