"""Padding."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {"constant_pad_nd.default": Kernel("pt_constant_pad")}
