"""`x[index]` and `x[index] = y`, and indexing by tensors, which these need beyond views."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    "__getitem__.default": CFunction("pt_do_getitem"),
    "__setitem__.default": CFunction("pt_do_setitem"),
    "index.Tensor": CFunction("pt_do_index"),
    "index_put.default": CFunction("pt_do_index_put"),
    "index_put_.default": CFunction("pt_do_index_put"),
}
