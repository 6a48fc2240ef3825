"""int8 kernels for Cortex-M0 and M0+."""

from pilotlight.kernels.thumb1 import dense_s8

__all__ = ["dense_s8"]
