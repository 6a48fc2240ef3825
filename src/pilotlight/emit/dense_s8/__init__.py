"""int8 convolution, depthwise convolution and linear layers: which kernel computes a layer on which core.

    kernel = family(target).plan(Layer(shape, w, bias, m, zx, zy, shift, lo, hi))

The kernel names its C header and driver, its packed constants, scratch bytes, permitted overlap and assembly blocks;
`assembly` and `dispatch` write the blocks of a whole model.
"""

from __future__ import annotations

from pilotlight.emit.dense_s8.layer import Family, Kernel, Layer
from pilotlight.emit.dense_s8.portable import Portable
from pilotlight.emit.target import Target

__all__ = ["Family", "Kernel", "Layer", "assembly", "dispatch", "family"]


def family(target: Target, optimize: str = "speed") -> Family:
    """The kernels for a core; `optimize` "size" prefers little code."""
    return Portable()


def assembly(names: set[str], prefix: str) -> tuple[str, dict[str, int]]:
    """The text of the blocks' functions `PREFIX_NAME` for NAME_kernels.S, and the stack bytes of each."""
    return "", {}


def dispatch(names: set[str], prefix: str) -> str:
    """C text that calls the blocks, for behind the kernel headers and before the tables."""
    return ""
