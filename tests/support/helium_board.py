"""A bare-metal program for mps3-an547 that runs int8 layers over the Helium blocks and compares bytes.

Each layer runs apart from its input, and at the closest overlap its kernel permits forward and backward. Everything
around the output has to stay as it was.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np

from pilotlight.codegen.step import initializer
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.mve.dispatch import assembly, dispatch
from support import dense_s8_cases as dense
from support.families import HELIUM

Case = tuple[Int8Layer, np.ndarray, Candidate]

_LINKER = """
ENTRY(reset)
SECTIONS {
    . = 0x0; .text : { KEEP(*(.vectors)) *(.text*) }
    . = 0x01000000; .bss (NOLOAD) : { *(.bss*) *(COMMON) }
    stack = 0x01200000;
    . = 0x21000000; .blob : { *(.blob) *(.rodata*) }
}
"""

_MAIN = r"""
#include <stdint.h>
@HEADERS@
enum { GUARD = 0x5a, EDGE = 32, NEVER = 0x7fffffff };
@DISPATCH@
typedef struct {
    int32_t driver;
    const void *forward, *backward; // tables; a null one: not permitted
    int32_t x, c0, c1, want; // offsets into the blob
    int32_t in, out, scratch; // bytes
    int32_t distance, reverse; // NEVER: no overlap
} case_t;

@TABLES@
static const case_t cases[] = {
@CASES@};

extern const uint8_t blob[];
static uint8_t arena[@ARENA@] __attribute__((aligned(8))), scratch[@SCRATCH@] __attribute__((aligned(8)));

static int32_t semihost(uint32_t op, const void *argument)
{
    register uint32_t r0 __asm__("r0") = op;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static void finish(const char *word, uint32_t number)
{
    char text[16] = {word[0], ' ', '0', '0', '0', '0', '\n'};
    for (int i = 5; i > 1; i--, number /= 10u) {
        text[i] = (char)('0' + number % 10u);
    }
    semihost(0x04, text);
    const uint32_t block[2] = {0x20026u, 0};
    semihost(0x20, block);
    for (;;) {
    }
}

__attribute__((noinline)) static void call(const case_t *c, const void *table, const int8_t *x, int8_t *y)
{
    const void *c0 = blob + c->c0, *c1 = blob + c->c1;
    int8_t *room = (int8_t *)scratch + EDGE;
    switch (c->driver) {
@CALLS@    }
}

/* Whether a run with the output `distance` bytes after the input gives the right bytes and changes no other. */
static int wrong(const case_t *c, const void *table, int32_t distance)
{
    const int32_t x = EDGE + (distance < 0 ? -distance : 0), y = x + distance;
    const int32_t end = (x + c->in > y + c->out ? x + c->in : y + c->out) + EDGE;
    for (int32_t i = 0; i < end; i++) {
        arena[i] = i >= x && i < x + c->in ? blob[c->x + i - x] : GUARD;
    }
    for (int32_t i = 0; i < c->scratch + 2 * EDGE; i++) {
        scratch[i] = GUARD;
    }
    call(c, table, (const int8_t *)arena + x, (int8_t *)arena + y);
    int bad = 0;
    for (int32_t i = 0; i < end; i++) {
        const uint8_t old = i >= x && i < x + c->in ? blob[c->x + i - x] : GUARD;
        bad |= arena[i] != (i >= y && i < y + c->out ? blob[c->want + i - y] : old);
    }
    for (int32_t i = 0; i < EDGE; i++) {
        bad |= scratch[i] != GUARD || scratch[EDGE + c->scratch + i] != GUARD;
    }
    return bad;
}

void reset(void)
{
    *(volatile uint32_t *)0xe000ed88u |= 0xf00000u;
    __asm__ volatile("dsb\nisb" ::: "memory");
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const case_t *c = &cases[i];
        int bad = wrong(c, c->forward, ((c->in + 15) & ~15) + EDGE);
        bad |= c->distance != NEVER && wrong(c, c->forward, c->distance);
        bad |= c->reverse != NEVER && wrong(c, c->backward, c->reverse);
        if (bad) {
            finish("wrong", i);
        }
    }
    finish("done", sizeof cases / sizeof cases[0]);
}

static void fault(void)
{
    finish("fault", 0);
}

extern uint32_t stack[];
typedef union { void (*code)(void); uint32_t *stack; } vector_t;
__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    {.stack = stack}, {reset}, {fault}, {fault}, {fault}, {fault}, {fault},
};
"""


def build(folder: Path, cases: list[Case], *flags: str, edit: tuple[str, str] = ("", "")) -> Path:
    """The image. `edit` replaces text in the assembly."""
    names = {name for _, _, kernel in cases for name in kernel.micro}
    text, _ = assembly(names, "net")
    assert edit[0] in text
    (folder / "net_kernels.S").write_text(text.replace(*edit) if edit[0] else text)
    kernels = [kernel for _, _, kernel in cases]
    drivers = sorted({(k.driver, k.ctype, k.headers, k.ctypes, bool(k.scratch)) for k in kernels})
    blob, rows, tables = bytearray(), [], []
    for i, (layer, x, k) in enumerate(cases):
        places = [_append(blob, a) for a in (x, *k.constants, dense.reference(layer, x))]
        places = [*places[:-1], *[0] * (4 - len(places)), places[-1]]
        tables += [
            f"static const {k.ctype} {way}_{i} = {initializer(k.table(way == 'backward'))};"
            for way in ("forward", "backward")
        ]
        number = next(n for n, driver in enumerate(drivers) if driver[0] == k.driver)
        s = layer.shape
        sizes = [x.nbytes, s.n * s.oh * s.ow * s.oc, k.scratch]
        overlap = ["NEVER" if d is None else d for d in (k.distance, k.reverse)]
        values = [number, f"&forward_{i}", f"&backward_{i}", *places, *sizes, *overlap]
        rows.append("    {" + ", ".join(map(str, values)) + "},\n")
    largest = max(2 * x.nbytes + 2 * dense.reference(layer, x).nbytes for layer, x, _ in cases)
    main = _MAIN
    for key, value in {
        "HEADERS": "\n".join(f'#include "{header}.h"' for header in sorted({h for k in kernels for h in k.headers})),
        "DISPATCH": dispatch(names, "net"),
        "TABLES": "\n".join(tables),
        "CASES": "".join(rows),
        "CALLS": "".join(_call(number, *driver) for number, driver in enumerate(drivers)),
        "ARENA": largest + 256,
        "SCRATCH": max(k.scratch for k in kernels) + 64,
    }.items():
        main = main.replace(f"@{key}@", str(value))
    (folder / "main.c").write_text(main)
    (folder / "blob.bin").write_bytes(bytes(blob))
    (folder / "blob.S").write_text(
        f'.section .blob, "a"\n.global blob\n.balign 16\nblob:\n.incbin "{folder / "blob.bin"}"\n'
    )
    (folder / "board.ld").write_text(_LINKER)
    sources = [str(folder / name) for name in ("main.c", "net_kernels.S", "blob.S")]
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-O2", "-std=gnu99"]
    linked = ["-ffreestanding", "-nostdlib", *dense.INCLUDE, "-T", str(folder / "board.ld"), "-lc", "-lgcc"]
    subprocess.run([*command, *flags, *sources, *linked, "-o", str(folder / "image.elf")], check=True)
    return folder / "image.elf"


def _append(blob: bytearray, array: np.ndarray) -> int:
    blob += bytes(-len(blob) % 16)
    at = len(blob)
    blob += array.tobytes()
    return at


def _call(number: int, driver: str, ctype: str, header: str, constants: tuple[str, ...], scratch: bool) -> str:
    passed = [f"(const {ctype} *)table", "x", *(f"(const {t} *)c{i}" for i, t in enumerate(constants)), "y"]
    return f"    case {number}:\n        {driver}({', '.join(passed + ['room'] * scratch)});\n        break;\n"


def boot(image: Path, *extra: str) -> tuple[str, int]:
    """("d", how many cases were right) when all were, ("w", the first wrong one), or ("f", 0) for a fault."""
    command = ["qemu-system-arm", "-M", "mps3-an547", "-nographic", "-monitor", "none", "-serial", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native", "-kernel", str(image)]
    result = subprocess.run(
        [*command, *semihosting, *extra], timeout=300, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    word, number = (result.stdout + result.stderr).split()[-2:]
    return word, int(number)


def host_calls(count: int) -> tuple[list[tuple[str, Candidate]], set[str]]:
    """The first random layers as functions for the host, and the blocks they need."""
    kernels = [HELIUM.plan(layer) for layer, _ in dense.cases(count)]
    return [(f"case_{i}", k) for i, k in enumerate(kernels)], {name for k in kernels for name in k.micro}


if __name__ == "__main__":
    lib = ctypes.CDLL(sys.argv[1])
    number = int(sys.argv[2])
    for (function, kernel), (a_layer, data) in zip(host_calls(number)[0], dense.cases(number), strict=True):
        assert np.array_equal(dense.run(lib, function, kernel, a_layer, data), dense.reference(a_layer, data))
