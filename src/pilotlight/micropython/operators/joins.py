"""Tensors put together."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {"cat.default": Kernel("pt_do_cat"), "stack.default": Kernel("pt_do_cat", 1)}
