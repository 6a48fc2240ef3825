"""A bare-metal program that runs int8 layers on an emulated board and compares every byte with the reference."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pilotlight.codegen.step import initializer
from pilotlight.kernels.blocks import assembly, dispatch
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.text import FOLDERS, kernel_source, typed_kernels
from support import dense_s8_cases as dense
from support.bare_metal import run_image
from support.c_compilers import compile_c
from support.families import PORTABLE, Family


@dataclass(frozen=True)
class Machine:
    """An emulated board: its compiler, where code and data lie, and how much of both there is."""

    qemu: str
    compiler: tuple[str, ...]
    code: int
    data: int
    flash: int = 0x3C0000
    ram: int = 0x40000

    @property
    def riscv(self) -> bool:
        return "riscv" in self.compiler[0]

    @property
    def core(self) -> str:
        return self.compiler[1].partition("=")[2]


def arm(
    qemu: str, cpu: str, code: int = 0, data: int = 0x20000000, flash: int = 0x3C0000, ram: int = 0x40000,
    floats: str = "soft",
) -> Machine:
    compiler = ("arm-none-eabi-gcc", f"-mcpu={cpu}", "-mthumb", f"-mfloat-abi={floats}")
    return Machine(qemu, compiler, code, data, flash, ram)


MICROBIT = arm("microbit", "cortex-m0", flash=0x3C000, ram=0x4000)
M3 = arm("mps2-an385", "cortex-m3")
M4 = arm("mps2-an386", "cortex-m4")
M7 = arm("mps2-an500", "cortex-m7")
M33 = arm("mps2-an505", "cortex-m33", 0x10000000, 0x38000000)
M55 = arm("mps3-an547", "cortex-m55", 0, 0x01000000, 0x80000, floats="hard")  # without it GCC has no Helium either
RV32 = Machine(
    "virt", ("riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32", "-mcmodel=medany"), 0x80000000, 0x80400000
)

CRASHED = 999999  # as the image's own handler of faults says
_LINKER = """
ENTRY(reset)
SECTIONS {
    . = %#x; .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.data*) }
    . = %#x; .bss (NOLOAD) : { *(.bss*) *(COMMON) }
    stack = %#x;
    /DISCARD/ : { *(.ARM.exidx*) }
}
"""

_MAIN = r"""
typedef struct {
    int32_t driver;
    const void *table;
    int32_t x, x_size, y, y_size; // offsets into blob and sizes
    int32_t c[4];                 // offsets of constants
    int32_t scratch, apart;       // bytes of scratch; where y starts after x
} case_t;

extern const uint8_t blob[];
static uint8_t arena[@ARENA@] __attribute__((aligned(16)));
static uint8_t scratch[@SCRATCH@] __attribute__((aligned(16)));

@DRIVERS@
@TABLES@
static const case_t cases[] = {
@CASES@};

static int differs(const case_t *c)
{
    uint8_t *const x = arena + 64 + (c->apart < 0 ? (-c->apart + 15) & ~15 : 0);
    int8_t *const y = (int8_t *)(x + c->apart);
    for (uint32_t i = 0; i < sizeof arena; i++) {
        arena[i] = 0x5a;
    }
    for (uint32_t i = 0; i < sizeof scratch; i++) {
        scratch[i] = 0x5a;
    }
    for (int32_t i = 0; i < c->x_size; i++) {
        x[i] = blob[c->x + i];
    }
    run(c, (const int8_t *)x, y, scratch + 16);
    for (int32_t i = 0; i < c->y_size; i++) {
        if ((uint8_t)y[i] != blob[c->y + i]) {
            return 1;
        }
        y[i] = 0x5a;
    }
    for (int32_t i = 0; i < c->x_size; i++) { // what is left of the input
        if (x[i] != 0x5a && x[i] != blob[c->x + i]) {
            return 1;
        }
        x[i] = 0x5a;
    }
    for (uint32_t i = 0; i < sizeof arena; i++) {
        if (arena[i] != 0x5a) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < sizeof scratch; i++) {
        if ((i < 16 || i >= 16 + (uint32_t)c->scratch) && scratch[i] != 0x5a) {
            return 1;
        }
    }
    return 0;
}

static void finish(uint32_t code);

static void all(void)
{
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (differs(&cases[i])) {
            finish(i + 1);
        }
    }
    finish(0);
}
"""

_ARM = r"""
static void semihost(uint32_t op, const void *argument)
{
    register uint32_t r0 __asm__("r0") = op;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void finish(uint32_t code)
{
    static char text[12];
    int at = 10;
    text[10] = '\n';
    do {
        text[--at] = (char)('0' + code % 10);
        code /= 10;
    } while (code);
    semihost(4, text + at);
    const uint32_t block[2] = {0x20026u, 0};
    semihost(0x20, block);
    for (;;) {
    }
}

void reset(void);
void reset(void)
{
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88u |= 0xF00000u;
    __asm__ volatile("dsb\nisb" ::: "memory");
#endif
    all();
}

static void fault(void)
{
    finish(999999);
}

extern uint32_t stack[];
typedef union { void (*code)(void); uint32_t *stack; } vector_t;
__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    {.stack = stack}, {reset}, {fault}, {fault}, {fault}, {fault}, {fault},
};
"""

_RISCV = r"""
static void finish(uint32_t code)
{
    char text[12];
    int at = 0;
    do {
        text[at++] = (char)('0' + code % 10);
        code /= 10;
    } while (code);
    while (at > 0) {
        *(volatile uint8_t *)0x10000000u = (uint8_t)text[--at];
    }
    *(volatile uint8_t *)0x10000000u = '\n';
    *(volatile uint32_t *)0x100000u = 0x5555u;
    for (;;) {
    }
}

void begin(void);
void begin(void)
{
    all();
}

__asm__(".section .vectors,\"ax\"\n.globl reset\nreset: la sp, stack\n j begin\n.previous\n");
"""

Planned = tuple[Int8Layer, np.ndarray, Candidate, bool]


def plan(family: Family, seeds: range, machine: Machine, kind: int | None = None) -> list[Planned]:
    """The random layers that fit one image."""
    images = fill(family, (dense.random_layer(seed, kind=kind) for seed in seeds), machine)
    return images[0]


def fill(family: Family, layers: Iterable[tuple[Int8Layer, np.ndarray]], machine: Machine) -> list[list[Planned]]:
    """As many images as the layers need, every third walked backward. Those beyond the RAM are left out."""
    images: list[list[Planned]] = []
    room, code = 0, 0x8000 if family is PORTABLE else 0x18000
    for index, (layer, x) in enumerate(layers):
        kernel = family.plan(layer)
        if _arena(layer, x) + kernel.scratch + 2048 >= machine.ram:
            continue
        size = x.nbytes + sum(c.nbytes + 16 for c in kernel.constants) + _outputs(layer) + 250
        if room < size:
            images.append([])
            room = machine.flash - code
        room -= size
        images[-1].append((layer, x, kernel, index % 3 == 0))
    return images


def _outputs(layer: Int8Layer) -> int:
    s = layer.shape
    return s.n * s.oh * s.ow * s.oc


def _arena(layer: Int8Layer, x: np.ndarray) -> int:
    return 2 * (x.nbytes + _outputs(layer)) + 256


def _apart(layer: Int8Layer, x: np.ndarray, kernel: Candidate, reverse: bool, index: int) -> int:
    """Where the output lies: apart, or as near as the kernel permits."""
    near = kernel.reverse if reverse else kernel.distance
    return (x.nbytes + 31) & ~15 if near is None or (index % 4 == 3 and not reverse) else near


def source(planned: list[Planned], prefix: str) -> tuple[str, str, bytes]:
    """The C of the program, the assembly of its blocks, and its data."""
    blob = bytearray()

    def put(array: np.ndarray) -> int:
        blob.extend(bytes(-len(blob) % 16))
        blob.extend(np.ascontiguousarray(array).tobytes())
        return len(blob) - array.nbytes

    drivers = list(dict.fromkeys((k.driver, k.ctype, k.ctypes, bool(k.scratch)) for _, _, k, _ in planned))
    names = {name for _, _, k, _ in planned for name in k.micro}
    headers = sorted({h for _, _, k, _ in planned for h in k.headers})
    tables, cases = "", ""
    for i, (layer, x, kernel, reverse) in enumerate(planned):
        backward = reverse and kernel.reverse is not None
        tables += f"static const {kernel.ctype} table_{i} = {initializer(kernel.table(backward))};\n"
        which = drivers.index((kernel.driver, kernel.ctype, kernel.ctypes, bool(kernel.scratch)))
        constants = [put(c) for c in kernel.constants] + [0] * (4 - len(kernel.constants))
        want = put(dense.reference(layer, x))
        cases += (
            f"    {{{which}, &table_{i}, {put(x)}, {x.nbytes}, {want}, {_outputs(layer)}, "
            f"{{{', '.join(map(str, constants))}}}, {kernel.scratch}, {_apart(layer, x, kernel, backward, i)}}},\n"
        )
    run = "static void run(const case_t *c, const int8_t *x, int8_t *y, uint8_t *s)\n{\n    switch (c->driver) {\n"
    for i, (driver, ctype, types, scratch) in enumerate(drivers):
        constants = "".join(f", (const {t} *)(const void *)(blob + c->c[{j}])" for j, t in enumerate(types))
        last = ", (void *)s" if scratch else ""
        run += f"    case {i}:\n        {driver}((const {ctype} *)c->table, x{constants}, y{last});\n        break;\n"
    run += "    }\n    (void)s;\n}\n"
    text = "#include <stdint.h>\n" + "".join(f'#include "{h}.h"\n' for h in headers) + dispatch(names, prefix)
    replacements = {
        "ARENA": max(_arena(layer, x) for layer, x, _, _ in planned),
        "SCRATCH": 32 + max(k.scratch for _, _, k, _ in planned),
        "DRIVERS": run,
        "TABLES": tables,
        "CASES": cases,
    }
    main = _MAIN
    for key, value in replacements.items():
        main = main.replace(f"@{key}@", str(value))
    return text + main, assembly(names, prefix)[0], bytes(blob)


def build(folder: Path, machine: Machine, planned: list[Planned], change: tuple[str, str] | None = None) -> Path:
    """The image that runs all layers; `change` replaces a text in the assembly and the kernels' C, to see it fail."""
    text, blocks, blob = source(planned, "test")
    if change is not None:
        headers = {path.name: path.read_text() for place in FOLDERS for path in place.glob("*.h")}
        headers |= {f"{name}.h": kernel_source(name) for name in typed_kernels()}
        assert any(change[0] in part for part in (blocks, *headers.values()))
        blocks = blocks.replace(*change)
        for name, header in headers.items():
            (folder / name).write_text(header.replace(*change))
    (folder / "main.c").write_text(text + (_RISCV if machine.riscv else _ARM))
    (folder / "blocks.S").write_text(blocks)
    (folder / "blob.bin").write_bytes(blob)
    (folder / "blob.S").write_text(
        f'    .section .rodata.blob, "a"\n    .p2align 4\n    .global blob\nblob: .incbin "{folder / "blob.bin"}"\n'
    )
    (folder / "board.ld").write_text(_LINKER % (machine.code, machine.data, machine.data + machine.ram))
    sources = [str(folder / name) for name in ("main.c", "blocks.S", "blob.S")]
    image = folder / "image.elf"
    options = ["-O2", "-std=gnu99", "-ffreestanding", "-nostdlib", "-Wl,--entry=reset", "-static", *dense.INCLUDE]
    linked = ["-T", str(folder / "board.ld"), "-lgcc", "-o", str(image)]
    compile_c([*machine.compiler, *options, *sources, *linked], folder)
    return image


def boot(machine: Machine, image: Path, *extra: str) -> int:
    """0, or 1 + the first case that differs."""
    program = "qemu-system-riscv32" if machine.riscv else "qemu-system-arm"
    if shutil.which(program) is None:
        ended = run_image(image, machine.core, machine.code, machine.data)
        return CRASHED if ended.code is None else int(ended.text)
    command = [program, "-M", machine.qemu, "-nographic", "-monitor", "none", "-kernel", str(image), *extra]
    if machine.riscv:
        command += ["-bios", "none", "-serial", "stdio"]
    else:
        command += ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
    result = subprocess.run(command, timeout=300, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return int((result.stdout + result.stderr).split()[-1])
