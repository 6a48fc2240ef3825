"""The assembly blocks of a whole model, of whatever instruction sets: their text, and the C that calls them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from pilotlight.codegen.target import Target
from pilotlight.kernels import fft_s16, fpu
from pilotlight.kernels.dsp import blocks as dsp
from pilotlight.kernels.fpu import rfft_f32
from pilotlight.kernels.mve import dispatch as mve
from pilotlight.kernels.rv32 import blocks as rv32
from pilotlight.kernels.thumb1 import blocks as thumb1

INTEGER = (dsp, mve, rv32, thumb1)
ANY_CORE = Target()


def assembly(names: set[str], prefix: str, target: Target = ANY_CORE) -> tuple[str, dict[str, int]]:
    """The text of the functions `PREFIX_NAME` for NAME_kernels.S, and the stack bytes of each."""
    text, stack = "", dict[str, int]()
    floats = set(filter(fpu.is_block, names))
    if floats and target.float_assembly:
        text, stack = fpu.assembly(floats, prefix, target.fused)
    transforms = set(filter(rfft_f32.is_block, names))
    if transforms and target.float_assembly:
        more, needs = rfft_f32.assembly(transforms, prefix, target.fused)
        text, stack = text + more, stack | needs
    if fft_s16.NAME in names and fft_s16.in_assembly(target):
        more, needs = fft_s16.assembly(prefix)
        text, stack = text + more, stack | needs
    for family, some in _by_family(names):
        more, needs = family.assembly(some, prefix)
        text, stack = text + more, stack | needs
    return text, stack


def dispatch(names: set[str], prefix: str, target: Target = ANY_CORE) -> str:
    """C text that calls the blocks; it belongs after the kernel headers and before the tables."""
    floats = fpu.dispatch(set(filter(fpu.is_block, names)), prefix, target.float_assembly)
    rows = set(filter(rfft_f32.is_block, names))
    transforms = rfft_f32.dispatch(rows, prefix) if rows else ""
    transforms += fft_s16.dispatch(prefix, target) if fft_s16.NAME in names else ""
    return floats + transforms + "".join(family.dispatch(some, prefix) for family, some in _by_family(names))


def code_bytes(name: str, target: Target = ANY_CORE) -> int:
    """What a block's code takes at most."""
    lines = assembly({name}, "", target)[0].splitlines()
    return 4 * sum(line.startswith("    ") and not line.lstrip().startswith(".") for line in lines)


def _by_family(names: set[str]) -> Iterator[tuple[ModuleType, set[str]]]:
    for family in INTEGER:
        some = set(filter(family.is_block, names))
        if some:
            yield family, some
