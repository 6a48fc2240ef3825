"""Padding."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {"constant_pad_nd.default": CFunction("pt_constant_pad")}
