"""int8 convolution, depthwise convolution and linear layers: their kernels on each core.

    registry.candidates(Layer(shape, w, bias, m, zx, zy, shift, lo, hi), target)

`assembly` and `dispatch` write the blocks of a whole model.
"""

from __future__ import annotations

from types import ModuleType

from pilotlight.kernels.dense_s8 import dsp, helium, portable, rv32  # they register what they offer
from pilotlight.kernels.dense_s8.layer import Layer
from pilotlight.kernels.micro import helium_dispatch, rv_s8, s8

__all__ = ["Layer", "assembly", "code_bytes", "dispatch", "dsp", "helium", "is_block", "portable", "rv32"]


def is_block(name: str) -> bool:
    """Whether a micro-kernel is one of an int8 family."""
    return any(blocks.is_block(name) for blocks in (s8, helium_dispatch, rv_s8))


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
    return next((blocks for blocks in (helium_dispatch, rv_s8) if any(map(blocks.is_block, names))), s8)
