"""Attention."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {"scaled_dot_product_attention.default": CFunction("pt_attention")}
