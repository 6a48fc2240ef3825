"""Indexing by tensors: what `x[index]` and `x[index] = y` need beyond views."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "index.Tensor": Kernel("pt_do_index"),
    "index_put.default": Kernel("pt_do_index_put"),
    "index_put_.default": Kernel("pt_do_index_put"),
}
