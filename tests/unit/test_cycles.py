"""Cycle tables against what their sources say of short pieces of code."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from pilotlight import measure
from pilotlight.device.counts import Counts, Segment
from pilotlight.measure.estimate import Cycles, estimate, load_table, readable
from pilotlight.measure.pipeline import Pipeline
from pilotlight.measure.registers import access
from pilotlight.toolchain.disassembly import Disassembly, printed
from support.paths import ROOT

TABLES = sorted(path.stem for path in (Path(measure.__file__).parent / "cycles").glob("*.toml"))


def code(text: str) -> Disassembly:
    """One instruction a line; a name with `.n` has 16 bits, and so has one marked with `;n`."""
    rows, at = [], 0x100
    for line in (line.strip() for line in text.strip().splitlines()):
        line, mark, _ = line.partition(";n")
        name, _, operands = line.strip().partition(" ")
        rows.append(printed(at, name, operands.strip()))
        at += 2 if mark or name.endswith(".n") else 4
    return Disassembly((*rows, printed(at, "udf")))


def straight(table: str, text: str) -> float:
    """Cycles until what comes after a piece of code may start."""
    rows = code(text).instructions
    sizes = [b.address - a.address == 2 for a, b in pairwise(rows)]
    return Pipeline(load_table(table)).run(zip(rows, sizes, strict=False))


def loop(table: str, text: str, times: int, taken: int) -> int:
    """Cycles of a piece that runs several times and ends in a branch."""
    found = code(text)
    counts = Counts(((0,),), (Segment(0, 0x100, len(found.instructions) - 1, times, taken),))
    return estimate(counts, found, load_table(table))[0].estimate


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_where_it_is_from(name: str) -> None:
    table = load_table(name)
    assert table.core and table.sources and table.rules
    assert bool(table.measured) == bool(table.measured_on) and list(table.measured) == sorted(table.measured)


def test_errors_are_those_of_the_recorded_comparison() -> None:
    """benchmarks/cycles.md, which `make bench-cycles` writes."""
    text = (ROOT / "benchmarks/cycles.md").read_text()
    rows = re.findall(r"^\| (Cortex-\S+) \| \d+ \| (\S+)% to (\S+)% \|$", text, re.MULTILINE)
    recorded = {core: (float(low), float(high)) for core, low, high in rows}
    tables = [load_table(name) for name in TABLES]
    said = {table.core: table.measured for table in tables if table.measured}
    assert recorded.keys() == said.keys()
    for core, errors in said.items():
        assert [100 * error for error in errors] == pytest.approx(recorded[core], abs=0.21), core


def test_code_is_timed_once_wherever_it_branches_to_and_anew_where_it_differs() -> None:
    table = load_table("cortex-m7")
    table.timed.clear()

    def cycles(text: str, skip: int = 0) -> int:
        found = code(text)
        first, length = found.instructions[skip].address, len(found.instructions) - 1 - skip
        counts = Counts(((0,),), (Segment(0, first, length, 10, 9),))
        return estimate(counts, found, table)[0].estimate

    far = cycles("ldr r0, [r1]\nldr r2, [r0]\nbne 1c4 <f>")
    assert len(table.timed) == 1
    assert cycles("ldr r0, [r1]\nldr r2, [r0]\nbne 2c8 <g>") == far and len(table.timed) == 1
    cycles("ldr r0, [r1]\nldr r2, [r0]\nbne 100 <f>")  # a loop of its own
    assert len(table.timed) == 2
    apart = cycles("ldr r0, [r1]\nldr r2, [r3]\nbne 1c4 <f>")
    assert len(table.timed) == 3 and apart < far
    after = [cycles(f"{before}\nldr r2, [r0]\nbne 1c4 <f>", skip=1) for before in ("ldr r0, [r1]", "ldr r7, [r1]")]
    assert len(table.timed) == 5 and after[0] > after[1]  # what comes before counts


def test_code_that_cannot_be_read_is_not_timed() -> None:
    known = code("add r0, r1\nvadd.f32 s0, s1, s2")
    unknown = Disassembly((known.instructions[0], printed(0x104, ""), known.instructions[2]))
    counts = Counts(((2,),), (Segment(0, 0x100, 2, 1, 0),))
    assert readable(counts, known) and not readable(counts, unknown)
    assert not readable(Counts(((2,),), (Segment(0, 0x102, 1, 1, 0),)), known)


def test_registers() -> None:
    def used(text: str) -> tuple[set[str], set[str]]:
        found = access(code(text).instructions[0])
        return set(found.reads), set(found.writes)

    assert used("add.w r3, r4, r5, lsl #2") == ({"r4", "r5"}, {"r3"})
    assert used("adds r0, #4") == ({"r0"}, {"r0"})
    assert used("mov r0, r1") == ({"r1"}, {"r0"})
    assert used("ldr.w r0, [r1], #4") == ({"r1"}, {"r0", "r1"})
    assert used("ldrd r0, r1, [r2, #8]") == ({"r2"}, {"r0", "r1"})
    assert used("str r0, [r1, r2]") == ({"r0", "r1", "r2"}, set())
    assert used("ldmia.w r12!, {r0-r3}") == ({"r12"}, {"r0", "r1", "r2", "r3", "r12"})
    assert used("smlad r0, r1, r2, r0") == ({"r0", "r1", "r2"}, {"r0"})
    assert used("smlal r0, r1, r2, r3") == ({"r0", "r1", "r2", "r3"}, {"r0", "r1"})
    assert used("vfma.f32 s0, s1, s2") == ({"s0", "s1", "s2"}, {"s0"})
    assert used("vadd.f64 d1, d2, d2") == ({"s4", "s5"}, {"s2", "s3"})
    assert used("vldrw.u32 q1, [r0], #16") == ({"r0"}, {"s4", "s5", "s6", "s7", "r0"})
    assert used("bne.n d0 <s0>") == (set(), set())
    assert used("lw a0,12(sp)") == ({"sp"}, {"a0"})
    assert used("sw a0,12(sp)") == ({"a0", "sp"}, set())
    assert used("bltu a0,a1,80 <f>") == ({"a0", "a1"}, set())


def test_cortex_m0_and_its_successor() -> None:
    """Of the manuals: loads 2, a list 1 and one a register; a branch taken 3 or 2, BL 4 or 3, POP of PC 4 or 3 more."""
    text = "ldr r0, [r1]\nmuls r0, r2\npush {r4, lr}"
    assert straight("cortex-m0", text) == straight("cortex-m0plus", text) == 2 + 1 + 3
    for name, branch, call, back in (("cortex-m0", 3, 4, 4), ("cortex-m0plus", 2, 3, 3)):
        assert loop(name, "b.n 200 <f>", 5, 5) == 5 * branch
        assert loop(name, "bl 200 <f>", 5, 5) == 5 * call
        assert loop(name, "pop {r4, pc}", 5, 5) == 5 * (back + 2)


def test_cortex_m3_multiplies_by_what_is_in_the_registers() -> None:
    found = code("smull r0, r1, r2, r3\nmla r0, r1, r2, r3\nsdiv r0, r1, r2")
    counts = Counts(((0,),), (Segment(0, 0x100, 3, 10, 0),))
    assert estimate(counts, found, load_table("cortex-m3")) == (Cycles(180, 10 * (3 + 2 + 2), 10 * (5 + 2 + 12)),)


def test_cortex_m33() -> None:
    """As measured on an RP2350."""
    assert straight("cortex-m33", "ldr r0, [r1]\nadd r2, r0, r3") == 3
    assert straight("cortex-m33", "ldr r0, [r1]\nadd r2, r4, r3") == 2
    assert straight("cortex-m33", "ldr r0, [r1]\nstr r0, [r2]") == 2
    assert straight("cortex-m33", "ldr r0, [r1]\nmla r2, r3, r4, r0") == 2
    assert straight("cortex-m33", "add.w r0, r1, r2, ror #8\nadd r3, r0, r1") == 3
    assert straight("cortex-m33", "uxtb.w r0, r1, ror #8\nadd r3, r0, r1") == 2
    assert straight("cortex-m33", "ldmia.w r6!, {r0, r1, r2, r3}") == 4
    assert straight("cortex-m33", "vfma.f32 s0, s1, s2\nvfma.f32 s3, s4, s5") == 4
    assert straight("cortex-m33", "vfma.f32 s0, s1, s2\nmov r0, r1\nmov r2, r3\nvfma.f32 s3, s4, s5") == 4
    assert loop("cortex-m33", "subs r7, #1 ;n\nbne.n 100 <f>", 10, 9) == 10 + 9 * 2
    assert loop("cortex-m33", "subs r7, #1 ;n\nbne.n 200 <f>", 10, 0) == 10


def test_cortex_m7_starts_two_together() -> None:
    assert straight("cortex-m7", "eor r0, r1, r2\neor r3, r4, r5") == 1
    assert straight("cortex-m7", "eor r0, r1, r2\neor r3, r0, r5") == 2
    assert straight("cortex-m7", "mul r0, r1, r2\nmul r3, r4, r5") == 2
    assert straight("cortex-m7", "str r0, [r1]\nldr r2, [r3]") == 1
    assert straight("cortex-m7", "str r0, [r1]\nstr r2, [r3]") == 2
    assert straight("cortex-m7", "uxtb r0, r1\neor r2, r3, r4") == 1
    assert straight("cortex-m7", "eor r2, r3, r4\nuxtb r0, r1") == 2
    assert straight("cortex-m7", "push {r0, r1, r2, r3}") == 2
    assert straight("cortex-m7", "vadd.f32 s0, s1, s2\nvadd.f32 s3, s0, s1") == 4
    assert straight("cortex-m7", "vfma.f32 s0, s1, s2\nvfma.f32 s0, s3, s4") == 4
    assert straight("cortex-m7", "vfma.f32 s0, s1, s2\nvmul.f32 s3, s0, s4") == 6


def test_cortex_m7_expects_the_usual_side_of_a_branch() -> None:
    text = "eor r0, r1, r2\nsubs r7, #1\nbne.n 100 <f>"
    assert loop("cortex-m7", text, 101, 100) == 2 + 100 * 1.5 + 8  # three instructions a round, two a cycle
    assert loop("cortex-m7", text.replace("100 <", "200 <"), 100, 50) == 200 + 50 * 8
    assert loop("cortex-m7", "nop\nb.n 200 <f>", 10, 10) == 10


def test_cortex_m55_overlaps_beats() -> None:
    """The two pictures in LLVM's description of the pipeline."""
    first = "vldrw.u32 q0, [r0]\nvadd.i32 q1, q2, q3\nvmul.i32 q4, q5, q6\nvstrw.32 q7, [r1]"
    assert straight("cortex-m55", first) == 4  # the last beat of the store is the fifth cycle
    second = "vldrw.u32 q0, [r0]\nvldrb.u8 q1, [r2]\nvadd.i32 q2, q3, q4\nvstrw.32 q7, [r1]"
    assert straight("cortex-m55", second) == 5
    assert straight("cortex-m55", "adds r0, #1 ;n\nands r1, r2 ;n") == 1
    assert straight("cortex-m55", "ands r0, r3 ;n\nands r1, r2 ;n") == 2
    assert straight("cortex-m55", "adds r0, r0, r3 ;n\nands r1, r2 ;n") == 2
    assert straight("cortex-m55", "add.w r0, r0, #1\nands r1, r2 ;n") == 2
    assert loop("cortex-m55", "vldrw.u32 q0, [r0], #16\nvadd.i32 q1, q2, q3\nle lr, 100 <f>", 10, 9) == 20


def test_hazard3() -> None:
    assert straight("hazard3", "lw a0,0(a1)\nadd a2,a0,a3") == 3
    assert straight("hazard3", "lw a0,0(a1)\nadd a2,a4,a3") == 2
    assert straight("hazard3", "lw a0,0(a1)\nsw a0,0(a2)") == 2
    assert straight("hazard3", "lw a0,0(a1)\nlw a2,0(a0)") == 3
    assert straight("hazard3", "divu a0,a1,a2\nmulh a3,a4,a5") == 19
    assert loop("hazard3", "addi a0,a0,-1\nbnez a0,100 <f>", 100, 99) == 200 + 2
    assert loop("hazard3", "addi a0,a0,-1\nbnez a0,200 <f>", 100, 60) == 200 + 60


def test_esp32_c3_is_a_pipeline_of_four_stages() -> None:
    assert straight("esp32-c3", "lw a0,0(a1)\nadd a2,a0,a3") == 3
    assert loop("esp32-c3", "addi a0,a0,-1\nbnez a0,100 <f>", 10, 9) == 20 + 18
