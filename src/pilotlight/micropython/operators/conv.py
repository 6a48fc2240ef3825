"""Convolution. The number of a kernel: its rank, plus 4 where padding is a name, plus 8 where it is transposed."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    "convolution.default": Kernel("pt_conv", 0),
    **{f"conv{rank}d.default": Kernel("pt_conv", rank) for rank in (1, 2, 3)},
    **{f"conv{rank}d.padding": Kernel("pt_conv", rank + 4) for rank in (1, 2, 3)},
    "conv_transpose1d.default": Kernel("pt_conv", 1 + 8),
    "conv_transpose2d.input": Kernel("pt_conv", 2 + 8),
    "conv_transpose3d.input": Kernel("pt_conv", 3 + 8),
}
