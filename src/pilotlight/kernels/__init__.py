"""The kernels: C headers and generators of assembly by instruction set, and which of them can compute a layer.

    portable/   C for any core: every operator's kernel
    fpu/        float for Cortex-M with single-precision hardware
    dsp/        int8 for Cortex-M with the DSP extension
    mve/        int8 for Cortex-M with Helium
    rv32/       int8 for 32-bit RISC-V with multiplication
    thumb1/     int8 for Cortex-M0 and M0+

`layers/` describes dense layers as data, `registry.py` finds the candidates for one on a core, `assembly/` is what all
generators write with, `blocks.py` puts the blocks of a model together, `text.py` reads the headers.
"""

from pilotlight.kernels import dsp, fpu, mve, portable, rv32, thumb1  # they register what they offer

__all__ = ["dsp", "fpu", "mve", "portable", "rv32", "thumb1"]
