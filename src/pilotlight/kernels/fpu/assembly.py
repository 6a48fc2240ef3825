"""The assembly file of a model: its micro-kernels as text, and the stack each one uses."""

from __future__ import annotations

import re

from pilotlight.kernels.assembly.instructions import AsmInstruction, Function
from pilotlight.kernels.fpu.blocks import generate
from pilotlight.kernels.fpu.names import ordered

_HEAD = """\
/* The multiply-accumulate blocks of {prefix}.c for cores with single-precision hardware and Thumb-2: {how}.
 * Elsewhere, and with PILOTLIGHT_PORTABLE, this file is empty and the C twins in {prefix}.c are used. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb2__) && defined(__ARM_FP) && (__ARM_FP & 4)

    .syntax unified
    .thumb
"""


def assembly(names: set[str], prefix: str, fused: bool) -> tuple[str, dict[str, int]]:
    """The text of `PREFIX_kernels.S`, and the stack bytes of each of its functions.

    `fused` chooses one instruction for multiply and add (Cortex-M7, M55) over two (M4, M33, where the one
    takes three cycles). Every function has a section of its own, so that a linker can drop it.
    """
    how = "fused multiply-add" if fused else "multiply and add rounded one after the other"
    functions = [generate(block, fused) for block in ordered(names)]
    text = _HEAD.format(prefix=prefix, how=how)
    text += "".join(render(function, f"{prefix}_{function.name}") for function in functions)
    return text + "\n#endif\n", {f"{prefix}_{function.name}": function.stack for function in functions}


def render(function: Function, symbol: str) -> str:
    lines = [
        "",
        f'    .section .text.{symbol}, "ax", %progbits',
        "    .p2align 2",
        f"    .global {symbol}",
        f"    .type {symbol}, %function",
        f"{symbol}:",
        *(_local(instruction, function.name) for instruction in function.body),
        f"    .size {symbol}, . - {symbol}",
    ]
    return "\n".join(lines) + "\n"


def _local(instruction: AsmInstruction, function: str) -> str:
    """Labels are local to the file, so they carry the function's name."""
    return re.sub(r"\.L(\w+)", rf".L{function}_\1", str(instruction))
