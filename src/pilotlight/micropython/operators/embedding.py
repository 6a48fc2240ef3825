"""Rows of a table."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {"embedding.default": Kernel("pt_embedding")}
