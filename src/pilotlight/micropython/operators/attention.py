"""Attention."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {"scaled_dot_product_attention.default": Kernel("pt_attention")}
