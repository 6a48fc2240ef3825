"""Tensors put together, repeated and turned."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "cat.default": Kernel("pt_do_cat"),
    "stack.default": Kernel("pt_do_stack"),
    "hstack.default": Kernel("pt_do_hstack", 1), "vstack.default": Kernel("pt_do_hstack", 2),
    "dstack.default": Kernel("pt_do_hstack", 3),
    "column_stack.default": Kernel("pt_do_hstack", 4), "block_diag.default": Kernel("pt_do_block_diag"),
    "meshgrid.default": Kernel("pt_do_meshgrid", 0), "meshgrid.indexing": Kernel("pt_do_meshgrid", 1),
    "repeat.default": Kernel("pt_do_repeat", 0), "tile.default": Kernel("pt_do_repeat", 1),
    "roll.default": Kernel("pt_do_roll"), "flip.default": Kernel("pt_do_flip"),
    "flipud.default": Kernel("pt_do_flipud", 0), "fliplr.default": Kernel("pt_do_flipud", 1),
    "rot90.default": Kernel("pt_do_rot90"),
    **{f"{name}{place}.default": Kernel("pt_do_tril", number)
       for number, name in enumerate(("tril", "triu")) for place in ("", "_")},
    "tril_indices.default": Kernel("pt_do_tril_indices", 0), "triu_indices.default": Kernel("pt_do_tril_indices", 1),
    "kron.default": Kernel("pt_do_kron"),
}
