"""Pointwise operators with more than a row: those that scale an operand."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel, row

KERNELS: dict[str, Kernel] = {
    f"{name}{suffix}.{overload}": Kernel("pt_add", row(name))
    for name in ("add", "sub") for suffix in ("", "_") for overload in ("Tensor", "Scalar")
}
