"""`x[index]` and `x[index] = y`, and indexing by tensors, which these need beyond views."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "__getitem__.default": Kernel("pt_do_getitem"),
    "__setitem__.default": Kernel("pt_do_setitem"),
    "index.Tensor": Kernel("pt_do_index"),
    "index_put.default": Kernel("pt_do_index_put"),
    "index_put_.default": Kernel("pt_do_index_put"),
}
