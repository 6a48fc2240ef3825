"""int8 convolution, depthwise convolution and linear layers: which kernel computes a layer on which core.

    kernel = family(target).plan(Layer(shape, w, bias, m, zx, zy, shift, lo, hi))

The kernel names its C header and driver, its packed constants, scratch bytes, permitted overlap and assembly blocks;
`assembly` and `dispatch` write the blocks of a whole model.
"""

from __future__ import annotations

from pilotlight.emit.dense_s8.dsp import Dsp
from pilotlight.emit.dense_s8.layer import Family, Kernel, Layer
from pilotlight.emit.dense_s8.portable import Portable
from pilotlight.emit.micro.s8 import assembly, dispatch, is_block
from pilotlight.emit.target import Target

__all__ = ["Family", "Kernel", "Layer", "assembly", "dispatch", "family", "is_block"]


def family(target: Target, optimize: str = "speed") -> Family:
    """The kernels for a core; `optimize` "size" prefers little code."""
    if {"thumb2", "dsp"} <= target.isa and optimize == "speed":
        return Dsp()
    return Portable()
