"""Rough estimates of what a kernel executes: rates that were fitted to counts on emulated boards.

They are right within a third for most layers, which is enough to show what a kernel costs and to compare it with a
very different one. Where kernels compete closely an instruction set has its own model, such as `dsp/cost.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from pilotlight.codegen.target import Target
from pilotlight.kernels.pack_f32 import Conv2dShape


class Rate(NamedTuple):
    """Instructions for each multiply-accumulate, output and input."""

    mac: float
    output: float = 0
    input: float = 0

    def total(self, macs: int, outputs: int, inputs: int = 0) -> int:
        return round(self.mac * macs + self.output * outputs + self.input * inputs)

    def conv(self, s: Conv2dShape) -> int:
        return self.total(s.macs, s.n * s.oh * s.ow * s.oc, s.n * s.ih * s.iw * s.ic)


IN_C, SOFT, SOFT_RV32 = Rate(4, 20), Rate(80), Rate(190)  # float in C with an FPU, and by library calls


def float_rate(target: Target, assembly: Rate) -> Rate:
    """Of a kernel over float blocks, which are assembly on some cores."""
    if target.float_assembly:
        return assembly
    return IN_C if "fpu32" in target.isa else SOFT_RV32 if "rv32" in target.isa else SOFT
