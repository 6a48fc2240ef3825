"""The stack bound: never below what a painted stack shows on the board, and at most 64 bytes above it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight import boards, device, toolchain
from pilotlight.errors import PilotlightError
from pilotlight.session import run_session
from pilotlight.toolchain.disassembly import MachineInstruction, disassemble, printed
from pilotlight.toolchain.flow import FlowStep, RiscV, Thumb, register_words
from pilotlight.toolchain.sizes import functions
from pilotlight.toolchain.stack import stack_bytes
from support.paths import FIXTURES
from support.tiny_model import EMULATED, FOLDER, altered, inputs

DEEP = (FIXTURES / "deep" / "deep.c").read_text()
CALL_DEEP = {
    '#include "tiny.h"\n': '#include "tiny.h"\n\nvoid deep_work(float *x, int32_t n);\n',
    "PL_STEP(1);": "PL_STEP(1);\n    deep_work(x, 8);",
}


def painted(folder: Path, name: str, work: Path, optimize: str = "speed") -> tuple[int, int]:
    board = boards.load(name)
    build = toolchain.build_model(folder, board, work, optimize=optimize)
    with device.open(board, build) as dev:
        for seed in range(4):
            dev.run(inputs(seed, n=seed))
    assert build.stack is not None and dev.stack is not None
    return build.stack, dev.stack


@pytest.mark.parametrize(
    ("name", "optimize"),
    [
        *((name, "speed") for name in EMULATED),
        ("microbit", "size"),
        ("mps2-an386", "size"),
        ("riscv32-virt", "size"),
    ],
)
def test_bound_against_the_painted_stack(name: str, optimize: str, tmp_path: Path) -> None:
    for folder in (FOLDER, altered(tmp_path / "deep", CALL_DEEP, {"deep.c": DEEP})):
        bound, seen = painted(folder, name, tmp_path / f"work-{folder.name}", optimize)
        assert seen <= bound <= seen + 64


def test_generated_assembly_brings_its_own_figure(tmp_path: Path) -> None:
    """The compiler knows nothing of it: 40 bytes here, and the call inside it is found."""
    text = """
    .syntax unified
    .thumb
    .section .text.tiny_kernel, "ax"
    .globl tiny_kernel
    .thumb_func
    .type tiny_kernel, %function
tiny_kernel:
    push {r4-r11, lr}
    sub sp, #4
    bl tiny_helper
    add sp, #4
    pop {r4-r11, pc}
    .size tiny_kernel, . - tiny_kernel
"""
    helper = """#include <stdint.h>
void tiny_helper(void);
void tiny_helper(void)
{
    volatile int32_t frame[10]; // (10)
    for (int32_t i = 0; i < 10; i++) {
        frame[i] = i;
    }
}
"""
    folder = altered(
        tmp_path / "model",
        {"PL_STEP(1);": "PL_STEP(1); extern void tiny_kernel(void); tiny_kernel();"},
        {"tiny_kernels.S": text, "helper.c": helper},
        asm_stack={"tiny_kernel": 40},
    )
    bound, seen = painted(folder, "mps2-an386", tmp_path / "work")
    assert 40 + 40 <= seen <= bound <= seen + 64


@pytest.mark.parametrize("name", ["mps2-an386", "microbit", "riscv32-virt"])
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "int32_t again(int32_t n); int32_t again(int32_t n)"
            " { volatile int32_t k = n; return n < 2 ? 1 : again(n - 1) * k + again(n - 2); }",
            "recursion, so the stack has no bound: tiny_run -> again -> again",
        ),
        (
            "int32_t again(int32_t n); typedef int32_t (*call_t)(int32_t); int32_t again(int32_t n)"
            " { return (*(call_t const volatile *)0x20000000)(n) + 1; }",
            "the stack has no known bound: again goes where only the running program knows",
        ),
        (
            "int32_t again(int32_t n); typedef int32_t (*call_t)(int32_t); int32_t again(int32_t n)"
            " { return (*(call_t const volatile *)0x20000000)(n); }",
            "the stack has no known bound: again goes where only the running program knows",
        ),
        (
            "int32_t again(int32_t n); int32_t again(int32_t n)"
            " { volatile int32_t a[n]; a[0] = n; return a[0]; }",
            "the stack of again has no bound known to the compiler|the stack has no known bound: again .*sp",
        ),
    ],
    ids=["recursion", "pointer", "last call", "variable"],
)
def test_no_bound_is_an_error(name: str, code: str, message: str, tmp_path: Path) -> None:
    folder = altered(
        tmp_path / "model",
        {"PL_STEP(1);": "PL_STEP(1); extern int32_t again(int32_t n); *n += again(*n);"},
        {"again.c": f"#include <stdint.h>\n{code}\n"},
    )
    with pytest.raises(PilotlightError, match=message) as error:
        toolchain.build_model(folder, boards.load(name), tmp_path / "work")
    assert error.value.kind == "stack"


@pytest.mark.parametrize(
    ("operands", "words"),
    [("{r4, lr}", 2), ("{r4-r7, lr}", 5), ("{s16-s19}", 4), ("{d8-d9}", 4), ("sp!, {r4, r5, r6}", 3)],
)
def test_register_words(operands: str, words: int) -> None:
    assert register_words(operands) == words


def test_unknown_instruction_set_has_no_bound(tmp_path: Path) -> None:
    build = toolchain.build_model(FOLDER, boards.load("host"), tmp_path)
    assert build.toolchain and build.model_image
    assert stack_bytes(build.toolchain, build.model_image, ["tiny_run"], [], {}) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("push {r4, r5, r6, lr}", FlowStep(pushed=16)),
        ("vpush {s16-s18}", FlowStep(pushed=12)),
        ("stmdb sp!, {r4-r11, lr}", FlowStep(pushed=36)),
        ("str.w lr, [sp, #-4]!", FlowStep(pushed=4)),
        ("ldr.w pc, [sp], #4", FlowStep(falls_through=False)),
        ("ldr.w lr, [sp], #8", FlowStep(pushed=-8)),
        ("sub sp, #24", FlowStep(pushed=24)),
        ("sub.w sp, sp, #1024", FlowStep(pushed=1024)),
        ("add sp, #24", FlowStep(pushed=-24)),
        ("pop {r4, pc}", FlowStep(pushed=-8, falls_through=False)),
        ("pop {pc}", FlowStep(pushed=-4, falls_through=False)),
        ("pop {r4, r5}", FlowStep(pushed=-8)),
        ("popeq {r4, pc}", FlowStep()),
        ("bl 1c4 <f>", FlowStep(call=0x1C4)),
        ("blne 1c4 <f>", FlowStep(call=0x1C4)),
        ("blx r3", FlowStep(unknown=True)),
        ("ble.n 1c4 <f+0x4>", FlowStep(jumps=(0x1C4,))),
        ("b.n 1c4 <f+0x4>", FlowStep(jumps=(0x1C4,), falls_through=False)),
        ("cbz r0, 1c4 <f+0x4>", FlowStep(jumps=(0x1C4,))),
        ("bx lr", FlowStep(falls_through=False)),
        ("bxeq lr", FlowStep()),
        ("bx r3", FlowStep(falls_through=False, indirect=True)),
        ("mov pc, r3", FlowStep(falls_through=False, indirect=True)),
        ("tbb [pc, r0]", FlowStep(falls_through=False, table=True)),
        ("ldr.w pc, [r2, r3, lsl #2]", FlowStep(falls_through=False, table=True)),
        ("mov sp, r7", FlowStep(opaque=True)),
        ("str r0, [sp, #8]", FlowStep()),
        ("ldr r0, [pc, #12] @ (1c4 <f+0x10>)", FlowStep()),
    ],
)
def test_thumb_instructions(text: str, expected: FlowStep) -> None:
    assert Thumb().step(printed(0, *text.split(" ", 1))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("addi sp,sp,-32", FlowStep(pushed=32)),
        ("addi sp,sp,32", FlowStep(pushed=-32)),
        ("jal 80000010 <f>", FlowStep(call=0x80000010)),
        ("jalr -36(ra) # 80000010 <f>", FlowStep(call=0x80000010)),
        ("jalr a5", FlowStep(unknown=True)),
        ("j 80000010 <f>", FlowStep(jumps=(0x80000010,), falls_through=False)),
        ("jr a5", FlowStep(falls_through=False, indirect=True)),
        ("bnez a0,80000010 <f>", FlowStep(jumps=(0x80000010,))),
        ("ret ", FlowStep(falls_through=False)),
        ("mv sp,s0", FlowStep(opaque=True)),
        ("sw ra,12(sp)", FlowStep()),
    ],
)
def test_riscv_instructions(text: str, expected: FlowStep) -> None:
    assert RiscV().step(printed(0, *text.split(" ", 1))) == expected


def test_target_of_a_branch() -> None:
    assert printed(0, "bl", "1c4 <tiny_run+0x8>").target == 0x1C4
    assert printed(0, "jalr", "-36(ra) # 80000010 <f>").target == 0x80000010
    assert printed(0, "blx", "r3").target is None


def test_long_jumps_of_the_smallest_core_are_not_calls(tmp_path: Path) -> None:
    """Armv6-M jumps over more than 2 KB with the instruction that calls."""
    lines = "\n".join(f"        p[{i & 15}] = n * {i + 3};" for i in range(800))
    code = (
        "#include <stdint.h>\nint32_t again(int32_t n);\nint32_t again(int32_t n)\n{\n"
        f"    volatile int32_t p[16];\n    while (n-- > 0) {{\n{lines}\n    }}\n    return p[3];\n}}\n"
    )
    folder = altered(
        tmp_path / "model",
        {"PL_STEP(1);": "PL_STEP(1); extern int32_t again(int32_t n); *n += again(*n) & 1;"},
        {"again.c": code},
    )
    bound, seen = painted(folder, "microbit", tmp_path / "work")
    assert seen <= bound <= seen + 64
    build = toolchain.build_model(folder, boards.load("microbit"), tmp_path / "work")
    assert build.toolchain and build.image
    start, size = functions(build.image)["again"]
    inside = disassemble(build.toolchain, build.image).between(start, start + size)
    assert any(i.mnemonic == "bl" and start < (i.target or 0) < start + size for i in inside)


def test_a_popped_return_address_is_no_unknown_jump() -> None:
    """What Armv6-M does after it has put arguments that came in registers next to those on the stack."""
    net = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(4, 2, 2, stride=2))
    graph = pl.capture(net.eval(), (torch.linspace(-1, 1, 32).reshape(1, 2, 4, 4),))
    build = pl.compile(graph, board="microbit")
    session = run_session(build)
    assert session.match and session.painted_stack is not None and build.info.stack is not None
    assert session.painted_stack <= build.info.stack <= session.painted_stack + 64


def instructions(*texts: str) -> list[MachineInstruction]:
    return [printed(2 * at, *text.split(" ", 1)) for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("texts", "saved", "popped"),
    [
        (["sub sp, #8", "push {r4, lr}", "add r4, r1", "pop {r4}", "pop {r3}", "add sp, #8", "bx r3"], 12, 12),
        (["push {r0-r3}", "push {r4, r5, lr}", "pop {r4, r5}", "pop {r2}", "add sp, #16", "bx r2"], 20, 20),
        (["push {r4, lr}", "pop {r4, r3}", "bx r3"], 4, 4),
        (["sub sp, #8", "push {r4, lr}", "pop {r3}", "bx r3"], 12, 4),
        (["push {r4, lr}", "pop {r3}", "ldr r3, [r0, #0]", "bx r3"], 4, None),
        (["push {r4, lr}", "pop {r3}", "bl 20 <f>", "bx r3"], 4, None),
        (["ldr r3, [r0, #0]", "bx r3"], None, None),
    ],
)
def test_where_a_jump_gets_its_target(texts: list[str], saved: int | None, popped: int | None) -> None:
    code, flow = instructions(*texts), Thumb()
    assert flow.saved_return(code) == saved
    assert flow.popped_target(code[-1], reversed(code[:-1])) == popped
