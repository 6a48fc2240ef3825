"""int8 convolution, depthwise convolution and linear layers: which kernel computes a layer on which core.

    kernel = family(target).plan(Layer(shape, w, bias, m, zx, zy, shift, lo, hi))

The kernel names its C header and driver, its packed constants, scratch bytes, permitted overlap and assembly blocks;
`assembly` and `dispatch` write the blocks of a whole model.
"""

from __future__ import annotations

from types import ModuleType

from pilotlight.codegen.target import Target
from pilotlight.kernels.dense_s8.dsp import Dsp
from pilotlight.kernels.dense_s8.helium import Helium
from pilotlight.kernels.dense_s8.layer import Family, Kernel, Layer
from pilotlight.kernels.dense_s8.portable import Portable
from pilotlight.kernels.dense_s8.rv32 import Rv32
from pilotlight.kernels.micro import helium_dispatch as helium
from pilotlight.kernels.micro import rv_s8, s8

__all__ = ["Family", "Kernel", "Layer", "assembly", "code_bytes", "dispatch", "family", "is_block"]


def family(target: Target) -> Family:
    """The kernels for a core."""
    if "mve" in target.isa:
        return Helium()
    if {"thumb2", "dsp"} <= target.isa:
        return Dsp(target.small, target.low_scratch, target.large_flash, target.scratch)
    if {"rv32", "mul"} <= target.isa:
        return Rv32()
    return Portable(target.low_scratch)


def is_block(name: str) -> bool:
    """Whether a micro-kernel is one of an int8 family."""
    return any(blocks.is_block(name) for blocks in (s8, helium, rv_s8))


def assembly(names: set[str], prefix: str) -> tuple[str, dict[str, int]]:
    """The text of the blocks' functions `PREFIX_NAME` for NAME_kernels.S, and the stack bytes of each."""
    return _of(names).assembly(names, prefix)


def code_bytes(name: str) -> int:
    """What a block's code takes at most."""
    lines = assembly({name}, "")[0].splitlines()
    return 4 * sum(line.startswith("    ") and not line.lstrip().startswith(".") for line in lines)


def dispatch(names: set[str], prefix: str) -> str:
    """C text that calls the blocks, of one family; it belongs after the kernel headers and before the tables."""
    return _of(names).dispatch(names, prefix)


def _of(names: set[str]) -> ModuleType:
    """The family of a model's blocks."""
    return next((blocks for blocks in (helium, rv_s8) if any(map(blocks.is_block, names))), s8)
