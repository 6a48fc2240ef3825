"""int8 kernels for Cortex-M with the DSP extension."""

from pilotlight.kernels.dsp import dense_s8

__all__ = ["dense_s8"]
