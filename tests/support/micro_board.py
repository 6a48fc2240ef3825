"""A bare-metal program that runs the drivers on an emulated board, over assembly and over its C twin."""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pilotlight.codegen.step import initializer
from pilotlight.kernels.fpu import assembly
from pilotlight.kernels.pack_f32 import LinearShape, Shape, table
from support import dense_cases as dense
from support.bare_metal import run_image
from support.c_compilers import compile_c


@dataclass(frozen=True)
class Machine:
    """Where an emulated board keeps code and data, and what its core is called."""

    qemu: str
    cpu: str
    fpu: str
    code: int
    data: int
    fused: bool


MACHINES = [
    Machine("mps2-an386", "cortex-m4", "fpv4-sp-d16", 0x00000000, 0x20000000, False),
    Machine("mps2-an500", "cortex-m7", "fpv5-sp-d16", 0x00000000, 0x20000000, True),
    Machine("mps2-an505", "cortex-m33", "fpv5-sp-d16", 0x10000000, 0x38000000, False),
    Machine("mps3-an547", "cortex-m55", "auto", 0x00000000, 0x01000000, True),
]

_LINKER = """
ENTRY(reset)
SECTIONS {
    . = %#x; .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) }
    . = %#x; .bss (NOLOAD) : { *(.bss*) *(COMMON) }
    stack = %#x;
    /DISCARD/ : { *(.ARM.exidx*) }
}
"""

_DRIVERS = ("conv2d", "linear")

_MAIN = r"""
#include <stdint.h>
#include "conv2d_f32.h"
#include "linear_f32.h"

typedef struct {
    int32_t kind;
    pl_conv2d_t conv;
    pl_linear_t linear;
    int32_t x, w, y, o; // floats in each
    float bound;
} case_t;

static inline void pl_mac_f32(const pl_mac_t *a, int32_t depthwise, int32_t pixels, int32_t filters)
{
    (void)a, (void)depthwise, (void)pixels, (void)filters;
}

@PROTOTYPES@
static const case_t cases[] = {
@CASES@};

static float x[@X@], w[@W@], bias[@O@], by_asm[@Y@ + 8], by_c[@Y@ + 8], size[@Y@ + 8];
static uint32_t seed = 1;

static uint32_t draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static float value(void)
{
    return (float)(int32_t)(draw() - 0x800000u) * 1.1920929e-7f;
}

static uint32_t bits(float v)
{
    union { float f; uint32_t u; } both = {v};
    return both.u;
}

static int32_t semihost(uint32_t op, const void *argument)
{
    register uint32_t r0 __asm__("r0") = op;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static void run(const case_t *c, int by, float *y, const float *b, int32_t act)
{
    pl_conv2d_t conv = c->conv;
    pl_linear_t linear = c->linear;
    if (act >= 0) {
        conv.act = act;
        linear.act = act;
    }
    if (c->kind == 0) {
        (by ? asm_conv2d : c_conv2d)(&conv, x, w, b, y);
    } else {
        (by ? asm_linear : c_linear)(&linear, x, w, b, y);
    }
}

static int differ(const case_t *c, int32_t index, int32_t nan)
{
    const float *b = index % 3 ? bias : 0;
    for (int32_t i = 0; i < c->x; i++) {
        x[i] = value();
    }
    for (int32_t i = 0; i < c->w; i++) {
        w[i] = value();
    }
    for (int32_t i = 0; i < c->o; i++) {
        bias[i] = value();
    }
    if (nan) {
        union { uint32_t u; float f; } negative = {0xffc00000u};
        x[draw() % (uint32_t)c->x] = negative.f;
    }
    for (int32_t i = 0; i < c->y + 8; i++) {
        by_asm[i] = by_c[i] = size[i] = 12345.0f;
    }
    run(c, 1, by_asm + 4, b, -1);
    run(c, 0, by_c + 4, b, -1);
    for (int32_t i = 0; i < c->x; i++) {
        x[i] = x[i] < 0 ? -x[i] : x[i];
    }
    for (int32_t i = 0; i < c->w; i++) {
        w[i] = w[i] < 0 ? -w[i] : w[i];
    }
    for (int32_t i = 0; i < c->o; i++) {
        bias[i] = bias[i] < 0 ? -bias[i] : bias[i];
    }
    run(c, 0, size + 4, b, PL_ACT_NONE);
    for (int32_t i = 0; i < c->y + 8; i++) {
        const float d = by_asm[i] < by_c[i] ? by_c[i] - by_asm[i] : by_asm[i] - by_c[i];
        const int both_nan = by_asm[i] != by_asm[i] && by_c[i] != by_c[i];
        const int same = EXACT ? bits(by_asm[i]) == bits(by_c[i]) : d <= c->bound * size[i];
        if (!both_nan && !same) {
            return 1;
        }
    }
    return 0;
}

static void finish(uint32_t code)
{
    const uint32_t block[2] = {0x20026u, code};
    semihost(0x20, block);
    for (;;) {
    }
}

void reset(void)
{
    *(volatile uint32_t *)0xe000ed88u |= 0xf00000u;
    __asm__ volatile("dsb\nisb" ::: "memory");
    for (int32_t i = 0; i < (int32_t)(sizeof cases / sizeof cases[0]); i++) {
        if (differ(&cases[i], i, 0) || differ(&cases[i], i, 1)) {
            finish(1u + (uint32_t)i);
        }
    }
    finish(0);
}

static void fault(void)
{
    finish(255);
}

extern uint32_t stack[];
typedef union { void (*code)(void); uint32_t *stack; } vector_t;
__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    {.stack = stack}, {reset}, {fault}, {fault}, {fault}, {fault}, {fault},
};
"""


def _drivers(prefix: str) -> str:
    text = dense.source(prefix)
    for name in _DRIVERS:
        text = text.replace(f"void {name}(", f"void {prefix}_{name}(")
    return text


def _case(shape: Shape, limits: tuple[float, float], reverse: bool) -> str:
    counts = [math.prod(f(shape)) for f in (dense.input_shape, dense.weight_shape, dense.output_shape)]
    n = math.prod(dense.weight_shape(shape)[1:]) + 1
    bound = 2 * (8 + 2 * math.sqrt(n)) * 2.0**-24
    text, empty = initializer(table(shape, *limits, reverse)), "{0}"
    kind = int(isinstance(shape, LinearShape))
    conv, linear = (empty, text) if kind else (text, empty)
    sizes = ", ".join(map(str, (*counts, dense.output_shape(shape)[-1])))
    return f"    {{{kind}, {conv}, {linear}, {sizes}, {bound!r}f}},\n"


def build(folder: Path, machine: Machine, shapes: list[Shape]) -> Path:
    """The image that runs all shapes; its exit code is 0, or 1 + the first case that differs."""
    kernels, _ = assembly(dense.ALL_BLOCKS, "asm", machine.fused)
    (folder / "kernels.S").write_text(kernels)
    (folder / "asm.c").write_text(_drivers("asm"))
    (folder / "c.c").write_text("#define PILOTLIGHT_PORTABLE\n" + _drivers("c"))
    prototypes = "".join(
        f"void {by}_{name}(const pl_{name}_t *, const float *, const float *, const float *, float *);\n"
        for by in ("asm", "c")
        for name in _DRIVERS
    )
    sizes = {
        "X": max(math.prod(dense.input_shape(s)) for s in shapes),
        "W": max(math.prod(dense.weight_shape(s)) for s in shapes),
        "Y": max(math.prod(dense.output_shape(s)) for s in shapes),
        "O": max(dense.output_shape(s)[-1] for s in shapes),
        "PROTOTYPES": prototypes,
        "CASES": "".join(_case(s, dense.LIMITS[i % 4], i % 5 == 0) for i, s in enumerate(shapes)),
    }
    main = _MAIN
    for key, text in sizes.items():
        main = main.replace(f"@{key}@", str(text))
    (folder / "main.c").write_text(main)
    (folder / "board.ld").write_text(_LINKER % (machine.code, machine.data, machine.data + 0x100000))
    flags = [f"-mcpu={machine.cpu}", f"-mfpu={machine.fpu}", "-mfloat-abi=hard", "-mthumb", "-O2", "-std=c99"]
    command = [
        "arm-none-eabi-gcc",
        *flags,
        "-ffreestanding",
        "-nostdlib", "-Wl,--entry=reset",
        f"-DEXACT={int(not machine.fused)}",
    ]
    sources = [str(folder / name) for name in ("main.c", "asm.c", "c.c", "kernels.S")]
    image = folder / "image.elf"
    linked = ["-T", str(folder / "board.ld"), "-lc", "-lgcc", "-o", str(image)]
    compile_c([*command, f"-I{dense.PORTABLE}", *sources, *linked], folder)
    return image


def boot(machine: Machine, image: Path, *extra: str) -> int:
    """The image's exit code; 255: it crashed."""
    if shutil.which("qemu-system-arm") is None:
        code = run_image(image, machine.cpu, machine.code, machine.data).code
        return 255 if code is None else code
    command = ["qemu-system-arm", "-M", machine.qemu, "-nographic", "-monitor", "none", "-serial", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native", "-kernel", str(image)]
    return subprocess.run([*command, *semihosting, *extra], timeout=120, stdin=subprocess.DEVNULL).returncode
