"""Whether a kernel leaves the registers alone that belong to its caller, how floats are rounded, and interrupts: on Arm
with Thumb-2."""

from __future__ import annotations

from pilotlight.codegen.target import Target
from pilotlight.custom.kernel import Kernel

BYTES = 104  # of the variable that keeps the caller's registers: r4 to r11 and lr, s16 to s31, and what was found
_FLAGS = 100  # where in it the bits of the registers are that came back with other values
_MARK = 0x5AFE0400
_INTEGERS = [f"r{k}" for k in range(4, 12)]
_FLOATS = [f"s{k}" for k in range(16, 32)]


def guards(target: Target) -> bool:
    """Whether calls go by way of a guard."""
    return "thumb2" in target.isa


def guard_name(kernel: Kernel) -> str:
    return f"{kernel.function}_guarded"


def guard_files(kernel: Kernel, target: Target) -> dict[str, str]:
    """A function that is called like the kernel: it marks the registers, calls the kernel, and looks at them."""
    name, floats = guard_name(kernel), _FLOATS if "fpu32" in target.isa else []
    mark = [f"ldr r4, ={_MARK:#x}"] + [f"add {r}, r4, #{k}" for k, r in enumerate(_INTEGERS) if k]
    looked = [line for k, r in enumerate(_INTEGERS) for line in (
        f"add r2, r0, #{k}", f"cmp {r}, r2", "it ne", f"orrne r1, r1, #{1 << k:#x}")]
    looked += [line for r in floats for line in (f"vmov r3, {r}", "cmp r3, r0", "it ne", "orrne r1, r1, #0x100")]
    if floats:  # the mode bits of FPSCR, which are 0 here
        looked += ["vmrs r3, fpscr", "tst r3, #0x07c00000", "it ne", "orrne r1, r1, #0x200"]
    looked += ["mrs r3, primask", "cmp r3, #0", "it ne", "orrne r1, r1, #0x400"]
    lines = [
        f"ldr r12, ={name}_kept", "stm r12, {r4-r11, lr}",
        *(["add r12, r12, #36", "vstmia r12, {s16-s31}"] * bool(floats)),
        *mark, *(f"vmov {r}, r4" for r in floats), f"bl {kernel.function}",
        f"ldr r0, ={_MARK:#x}", "mov r1, #0", *looked,
        f"ldr r12, ={name}_kept", f"str r1, [r12, #{_FLAGS}]", "ldm r12, {r4-r11, lr}",
        *(["add r12, r12, #36", "vldmia r12, {s16-s31}"] * bool(floats)), "bx lr",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    assembly = f"""    .syntax unified
    .thumb
    .bss
    .balign 8
    .global {name}_kept
{name}_kept:
    .space {BYTES}
    .section .text.{name}, "ax"
    .balign 4
    .global {name}
    .type {name}, %function
{name}:
{body}
    .ltorg
    .size {name}, . - {name}
"""
    prototype = kernel.prototype.strip().rstrip(";").replace(f"{kernel.function}(", f"{name}(", 1)
    header = f"#include <stdint.h>\n{prototype};\nextern uint32_t {name}_kept[{BYTES // 4}];\n"
    return {f"{name}.h": header, f"{name}.S": assembly}


def flags_in_c(kernel: Kernel) -> str:
    return f"{guard_name(kernel)}_kept[{_FLAGS // 4}]"


def told(flags: int) -> str:
    """The registers whose bits are set, in words."""
    others = ("one of s16 to s31", "how floats are rounded", "the mask of interrupts")
    return " and ".join(r for k, r in enumerate((*_INTEGERS, *others)) if flags >> k & 1)
