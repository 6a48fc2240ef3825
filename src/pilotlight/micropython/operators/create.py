"""New tensors."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "zeros.default": Kernel("pt_full", 0),
    "ones.default": Kernel("pt_full", 1),
}
