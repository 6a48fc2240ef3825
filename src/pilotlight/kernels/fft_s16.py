"""The steps of the int16 transform, which rfft_s16.h calls, as blocks under one name, `fft_s16`.

Assembly with the DSP extension, rfft_mve_s16.h with Helium, C elsewhere and where the assembly is not compiled.
"""

from __future__ import annotations

from pilotlight.codegen.target import Target
from pilotlight.kernels.assembly.arguments import checks
from pilotlight.kernels.assembly.render import render_file
from pilotlight.kernels.dsp.blocks import fft

NAME = "fft_s16"
IN_C = {"load": "pl_fft_points", "radix4": "pl_fft4", "radix2": "pl_fft2", "split": "pl_fft_apart"}
_CONDITION = "!defined(PILOTLIGHT_PORTABLE) && defined(__thumb2__) && defined(__ARM_FEATURE_DSP)"
_HEAD = f"""\
/* The steps of the 16-bit transform of {{prefix}}.c for cores with Thumb-2 and the DSP extension. Elsewhere, and with
 * PILOTLIGHT_PORTABLE, this text is empty and {{prefix}}.c has them in C. */
#if {_CONDITION}

    .syntax unified
    .thumb
"""


def in_assembly(target: Target) -> bool:
    """Whether a core has the steps in assembly."""
    return {"thumb2", "dsp"} <= target.isa and "mve" not in target.isa


def assembly(prefix: str) -> tuple[str, dict[str, int]]:
    """The text of the functions `PREFIX_fft_STEP_s16`, and the stack bytes of each."""
    return render_file(_HEAD, fft.functions(), prefix)


def dispatch(prefix: str, target: Target) -> str:
    """C text that defines the steps."""
    end = "_mve_s16" if "mve" in target.isa else "_s16"
    in_c = "".join(_definition(step, function + end) for step, function in IN_C.items())
    if not in_assembly(target):
        return in_c
    names = {step: f"{prefix}_fft_{step}_s16" for step in IN_C}
    declared = "".join(f"void {name}(pl_fft_s16_t *t);\n" for name in names.values())
    calls = "".join(_definition(step, name) for step, name in names.items())
    return f"#if {_CONDITION}\n{checks([fft.STEP])}{declared}{calls}#else\n{in_c}#endif\n"


def _definition(step: str, function: str) -> str:
    return f"\nstatic inline void pl_fft_{step}_s16(pl_fft_s16_t *t)\n{{\n    {function}(t);\n}}\n"
