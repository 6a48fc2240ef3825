"""Rows of a table."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {"embedding.default": CFunction("pt_embedding")}
