"""int8 kernels for 32-bit RISC-V with multiplication."""

from pilotlight.kernels.rv32 import dense_s8

__all__ = ["dense_s8"]
