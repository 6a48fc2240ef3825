"""int8 kernels for Cortex-M with the M-profile vector extension (Helium)."""

from pilotlight.kernels.mve import dense_s8

__all__ = ["dense_s8"]
