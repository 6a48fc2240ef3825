"""The C between drivers and blocks whose names tell all: declarations, C twins, the choice among a model's blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pilotlight.kernels.assembly.arguments import ArgumentStruct, checks
from pilotlight.kernels.assembly.render import choose

_PIXELS = re.compile(r"(conv_s8)_(\d)")


@dataclass(frozen=True)
class Family:
    """Blocks that one driver calls."""

    part: str  # with which their names begin
    macro: str  # of C: whether there is assembly
    struct: ArgumentStruct  # what they take
    counted: bool = False  # whether their names have a number of pixels


def variant(name: str) -> str:
    """The C enumerator of a block without its number of pixels."""
    return "PL_" + _PIXELS.sub(r"\1", name).upper()


def dispatch(
    names: set[str], prefix: str, families: Sequence[Family], twin: Callable[[Family, str], str]
) -> str:
    """C text that defines what the drivers call; it belongs after the kernel headers and before the tables.

    `twin`: the call of C that does the same as a block.
    """
    if not names:
        return ""
    ordered = sorted(names)
    text = f"enum {{ {', '.join(dict.fromkeys(map(variant, ordered)))} }};\n"
    for family in families:
        some = [name for name in ordered if name.startswith(family.part)]
        if some:
            text += _family(family, some, prefix, twin)
    return text


def _family(family: Family, names: list[str], prefix: str, twin: Callable[[Family, str], str]) -> str:
    arguments = f"const {family.struct.ctype} *t"
    declared = "".join(f"void {prefix}_{name}({arguments});\n" for name in names)
    text = f"\n#if {family.macro}\n{checks([family.struct])}{declared}#else\n"
    for name in names:
        text += f"static inline void {prefix}_{name}({arguments})\n{{\n    {twin(family, name)};\n}}\n"
    count = "int32_t pixels, " if family.counted else ""
    text += f"#endif\n\nstatic inline void pl_{family.part}_block_s8(int32_t kind, {count}{arguments})\n{{\n"
    tests = [(_test(name), f"{prefix}_{name}(t);") for name in names]
    return text + choose(tests[::-1], ["kind", *(["pixels"] if count else [])]) + "}\n"


def _test(name: str) -> str:
    found = _PIXELS.search(name)
    return f"(kind == {variant(name)}) && (pixels == {found[2]})" if found else f"kind == {variant(name)}"
