"""Rough estimates of what a kernel executes: rates that were fitted to counts on emulated boards.

They are right within a third for most layers, which is enough to show what a kernel costs and to compare it with a
very different one. Where kernels compete closely an instruction set has its own model, such as `dsp/cost.py`.
"""

from __future__ import annotations

from typing import NamedTuple

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
