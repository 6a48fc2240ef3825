"""The int8 Helium blocks of a model: the assembly file's text, and the C that calls a block or its twin."""

from __future__ import annotations

from collections.abc import Sequence

from pilotlight.kernels.assembly.arguments import checks
from pilotlight.kernels.assembly.render import render_file
from pilotlight.kernels.mve.arguments import DOT, DW, ROWS, WINDOW
from pilotlight.kernels.mve.blocks import generate
from pilotlight.kernels.mve.names import COPIES, Dot, HeliumDepthwise, parse

_HEAD = """\
/* The int8 blocks of {prefix}.c for cores with the M-profile vector extension (Helium).
 * Elsewhere, and with PILOTLIGHT_PORTABLE, this file is empty and the C twins in {prefix}.c are used. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb
"""
_ARGUMENTS = {
    "rows_s8": "const pl_rows_mve_t *a",
    "fill_s8": "int8_t *y, int32_t bytes, int32_t value",
    "window_s8": "const pl_window_mve_t *a",
}
_STRUCTS = {"rows_s8": ROWS, "window_s8": WINDOW}
_VALUES = {"rows_s8": "a", "fill_s8": "y, bytes, value", "window_s8": "a"}


def is_block(name: str) -> bool:
    return name in COPIES or name.startswith(("dot_s8_", "dw_s8_"))


def assembly(names: set[str], prefix: str) -> tuple[str, dict[str, int]]:
    """Text for `PREFIX_kernels.S`, and the stack bytes of each of its functions."""
    return render_file(_HEAD, map(generate, sorted(names)), prefix)


def dispatch(names: set[str], prefix: str) -> str:
    """The functions that drivers call, over the blocks the model has; the C text belongs after the kernel headers."""
    if not names:
        return ""
    blocks = [parse(name) for name in sorted(names - set(COPIES))]
    one = [b for b in blocks if isinstance(b, Dot) and b.pixels == 1 and not b.turns]
    many = [b for b in blocks if isinstance(b, Dot) and (b.pixels != 1 or b.turns)]
    depthwise = [b for b in blocks if isinstance(b, HeliumDepthwise)]
    copies = [name for name in COPIES if name in names]
    declared = [f"void {_signature(b, prefix)};" for b in blocks]
    declared += [f"void {prefix}_{name}({_ARGUMENTS[name]});" for name in copies]
    twins = [f"static inline void {_signature(b, prefix)}\n{{\n    {_twin(b)};\n}}" for b in blocks]
    twins += [
        f"static inline void {prefix}_{name}({_ARGUMENTS[name]})\n{{\n    {_portable(name)};\n}}" for name in copies
    ]
    structs = [DOT if isinstance(b, Dot) else DW for b in blocks] + [_STRUCTS[n] for n in copies if n in _STRUCTS]
    lines = ["#if PL_MVE_ASM", *checks(structs).splitlines(), *declared, "#else", *twins, "#endif", ""]
    for function, chosen in (("pl_dot_mve", many), ("pl_dot_one_mve", one)):
        lines += [f"static inline void {function}(pl_dot_mve_t *a, int32_t kind)", "{"]
        lines += ["    (void)a;", "    (void)kind;", *_choice(chosen, prefix, "    "), "}", ""]
    lines += ["static inline void pl_dw_mve(pl_dw_mve_t *a, int32_t kind)", "{", "    (void)a;", "    (void)kind;"]
    lines += [*_choice(depthwise, prefix, "    "), "}", ""]
    for name in COPIES:
        call = f"{prefix}_{name}({_VALUES[name]})" if name in names else _portable(name)
        function = f"pl_{name.removesuffix('_s8')}_mve"
        lines += [f"static inline void {function}({_ARGUMENTS[name]})", "{", f"    {call};", "}", ""]
    return "\n".join(lines)


def _signature(block: Dot | HeliumDepthwise, prefix: str) -> str:
    return f"{prefix}_{block.name}(pl_{'dot' if isinstance(block, Dot) else 'dw'}_mve_t *a)"


def _twin(block: Dot | HeliumDepthwise) -> str:
    twice = int(block.rounding.twice)
    if isinstance(block, Dot):
        return f"pl_dot_eight_c_mve(a, {twice})" if block.filters == 8 else f"pl_dot_c_mve(a, {block.pixels}, {twice})"
    return f"pl_dw_c_mve(a, {int(block.repeat)}, {twice})"


def _portable(name: str) -> str:
    return f"pl_{name.removesuffix('_s8')}_c_mve({_VALUES[name]})"


def _choice(blocks: Sequence[Dot | HeliumDepthwise], prefix: str, indent: str) -> list[str]:
    """Calls the block of `kind`; the last needs no test."""
    lines = []
    for at, block in enumerate(blocks):
        call = f"{prefix}_{block.name}(a);"
        number = f"kind == {block.kind}"
        if _any_depth(block):
            number = f"(((uint32_t)kind >> 4) & 127u) == {block.rounding.number}u"
        if len(blocks) == 1:
            lines.append(f"{indent}{call}")
        elif at == len(blocks) - 1:
            lines.append(f"{indent}}} else {{\n{indent}    {call}\n{indent}}}")
        else:
            word = "if" if at == 0 else "} else if"
            lines.append(f"{indent}{word} ({number}) {{\n{indent}    {call}")
    return lines


def _any_depth(block: Dot | HeliumDepthwise) -> bool:
    return isinstance(block, Dot) and block.pixels == 1 and not block.turns
