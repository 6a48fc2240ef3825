"""int8 micro-kernels for Cortex-M with the DSP extension; csrc/kernels/portable/dsp_s8.h says what they compute."""

from __future__ import annotations

from pilotlight.kernels.micro.s8.assembly import assembly
from pilotlight.kernels.micro.s8.dispatch import dispatch
from pilotlight.kernels.micro.s8.names import is_block

__all__ = ["assembly", "dispatch", "is_block"]
