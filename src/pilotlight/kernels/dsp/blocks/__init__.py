"""int8 micro-kernels for Cortex-M with the DSP extension; dsp_s8.h says what they compute."""

from __future__ import annotations

from pilotlight.kernels.dsp.blocks.assembly import assembly
from pilotlight.kernels.dsp.blocks.dispatch import dispatch
from pilotlight.kernels.dsp.blocks.names import is_block

__all__ = ["assembly", "dispatch", "is_block"]
