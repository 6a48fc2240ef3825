"""The assembly file of a model: its micro-kernels as text, and the stack each one uses."""

from __future__ import annotations

from pilotlight.kernels.assembly.render import render_file
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
    takes three cycles).
    """
    how = "fused multiply-add" if fused else "multiply and add rounded one after the other"
    functions = [generate(block, fused) for block in ordered(names)]
    return render_file(_HEAD.replace("{how}", how), functions, prefix)
