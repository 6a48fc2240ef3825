"""Tensors put together."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {"cat.default": CFunction("pt_do_cat"), "stack.default": CFunction("pt_do_cat", 1)}
