"""Padding; the number of a border's kernel: its mode, 1 reflect and 2 replicate, plus 4 times its rank."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "pad.default": Kernel("pt_pad"),
    "constant_pad_nd.default": Kernel("pt_constant_pad"),
    **{f"reflection_pad{rank}d.default": Kernel("pt_border_pad", 1 + 4 * rank) for rank in (1, 2, 3)},
    **{f"replication_pad{rank}d.default": Kernel("pt_border_pad", 2 + 4 * rank) for rank in (1, 2, 3)},
}
