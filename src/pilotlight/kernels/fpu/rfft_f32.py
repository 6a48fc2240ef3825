"""The transform of real float rows on Cortex-M with single-precision hardware: rfft_fpu_f32.h over assembly.

`rfft_f32_R` names what a row needs whose first radix is R, `rfft_f32_Rw` the same with a window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotlight.codegen.target import Target
from pilotlight.kernels.assembly.render import render_file
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.fpu import fft
from pilotlight.kernels.layers import TransformLayer
from pilotlight.kernels.portable.fft_f32 import constants, fields
from pilotlight.kernels.registry import offers

SHORTEST = 32  # samples: every later stage has an even span
_PATTERN = re.compile(r"rfft_f32_([24])(w?)")
_HEAD = """\
/* The steps of the transforms of {prefix}.c for cores with single-precision hardware and Thumb-2.
 * Elsewhere, and with PILOTLIGHT_PORTABLE, this text is empty and {prefix}.c has them in C. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb2__) && defined(__ARM_FP) && (__ARM_FP & 4)

    .syntax unified
    .thumb
"""


def is_block(name: str) -> bool:
    return _PATTERN.fullmatch(name) is not None


@offers(TransformLayer, needs={"thumb2", "fpu32"}, usual=True)
def rfft(layer: TransformLayer, target: Target) -> Iterator[Candidate]:
    """Powers of two of neighbouring points, with a window or without any factor."""
    n, windowed = layer.n, layer.window is not None
    power = n & (n - 1) == 0 and n >= SHORTEST
    if layer.kind != "rfft" or not power or layer.x_point != 1 or (layer.scale != 1.0 and not windowed):
        return
    points = n // 2
    radices = [2] * (points.bit_length() % 2 == 0) + [4] * ((points.bit_length() - 1) // 2)
    yield Candidate(
        name="fpu.rfft",
        headers=("rfft_fpu_f32",),
        ctype="pl_fft_t",
        table=lambda reverse: fields(layer, points, radices),
        driver="pl_rfft_fpu_f32",
        pack=lambda: constants(layer, radices, first=False),
        micro=frozenset({f"rfft_f32_{radices[0]}{'w' * windowed}"}),
        instructions=layer.rows * estimate(points, len(radices), radices[0], windowed, target.fused),
        hint="rfft",
    )


def estimate(points: int, stages: int, radix: int, windowed: bool, fused: bool) -> int:
    """Instructions of a row."""
    first = (23.5 / 4 if radix == 4 else 10.5 / 2) + 2.5 * windowed
    later = (33.5 if fused else 39.5) / 4
    return round(points * (first + later * (stages - 1) + (9.75 if fused else 10.75))) + 60 * stages


def assembly(names: set[str], prefix: str, fused: bool) -> tuple[str, dict[str, int]]:
    """The text of the functions, and the stack bytes of each."""
    variants = sorted((int(found[1]), bool(found[2])) for found in map(_PATTERN.fullmatch, names) if found)
    firsts = [fft.first(radix, windowed, fused) for radix, windowed in variants]
    return render_file(_HEAD, [*firsts, fft.stage4(fused), fft.split(fused)], prefix)


def dispatch(names: set[str], prefix: str) -> str:
    """C text that defines the steps; it belongs after the kernel headers."""
    variants = sorted((int(found[1]), found[2]) for found in map(_PATTERN.fullmatch, names) if found)
    first = "const float *x, const float *window, float *y"
    row = f"const pl_fft_t *t, {first}"
    declared = [f"void {prefix}_{_first(*v)}({first}, int32_t points);" for v in variants]
    declared += [
        f"void {prefix}_fft_stage4_f32(float *y, const float *factors, int32_t points, int32_t span);",
        f"void {prefix}_rfft_split_f32(float *y, const float *turns, int32_t points);",
    ]
    later = "y, factors, points, span"
    calls = [
        _definition("pl_rfft_first_f32", row, _choice(variants, prefix)),
        _definition("pl_fft_later_f32", _LATER, [f"    {prefix}_fft_stage4_f32({later});"]),
        _definition("pl_rfft_bins_f32", _BINS, [f"    {prefix}_rfft_split_f32(y, turns, t->points);"]),
    ]
    twins = [
        _definition("pl_rfft_first_f32", row, ["    pl_rfft_first_twin_f32(t, x, window, y);"]),
        _definition("pl_fft_later_f32", _LATER, [f"    pl_fft_stage4({later});"]),
        _definition("pl_rfft_bins_f32", _BINS, ["    pl_rfft_split(t, turns, y);"]),
    ]
    asm, c = "\n".join([*declared, "", *calls]), "\n".join(twins)
    return f"#if PL_FFT_F32_ASM\n{asm}#else\n{c}#endif\n"


_LATER = "float *y, const float *factors, int32_t points, int32_t span"
_BINS = "const pl_fft_t *t, const float *turns, float *y"


def _definition(name: str, arguments: str, body: list[str]) -> str:
    return "\n".join([f"static inline void {name}({arguments})", "{", *body, "}", ""])


def _first(radix: int, windowed: str) -> str:
    return f"rfft_first{radix}{'_w' if windowed else ''}_f32"


def _choice(variants: list[tuple[int, str]], prefix: str) -> list[str]:
    """By radix and window; the last needs no test."""
    calls = [f"{prefix}_{_first(*v)}(x, window, y, t->points);" for v in variants]
    if len(calls) == 1:
        return [f"    {calls[0]}"]
    lines = []
    for i, ((radix, windowed), call) in enumerate(zip(variants, calls, strict=True)):
        test = f"(t->radix[0] == {radix}) && (t->w_point {'!=' if windowed else '=='} 0)"
        head = f"if ({test}) {{" if i == 0 else f"}} else if ({test}) {{" if i < len(calls) - 1 else "} else {"
        lines += [f"    {head}", f"        {call}"]
    return [*lines, "    }"]
