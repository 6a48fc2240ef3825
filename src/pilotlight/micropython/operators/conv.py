"""Convolution. The number of a kernel: its rank, plus 4 where padding is a name, plus 8 where it is transposed."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    "convolution.default": CFunction("pt_conv", 0),
    **{f"conv{rank}d.default": CFunction("pt_conv", rank) for rank in (1, 2, 3)},
    **{f"conv{rank}d.padding": CFunction("pt_conv", rank + 4) for rank in (1, 2, 3)},
    "conv_transpose1d.default": CFunction("pt_conv", 1 + 8),
    "conv_transpose2d.input": CFunction("pt_conv", 2 + 8),
    "conv_transpose3d.input": CFunction("pt_conv", 3 + 8),
}
