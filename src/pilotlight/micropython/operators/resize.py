"""Resizing; the number of a kernel: 0 nearest, 1 nearest-exact, 2 linear, 3 cubic, plus 4 times its rank."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_KINDS = {
    **{f"upsample_nearest{rank}d": 0 + 4 * rank for rank in (1, 2, 3)},
    **{f"_upsample_nearest_exact{rank}d": 1 + 4 * rank for rank in (1, 2, 3)},
    "upsample_linear1d": 2 + 4 * 1, "upsample_bilinear2d": 2 + 4 * 2, "upsample_trilinear3d": 2 + 4 * 3,
    "upsample_bicubic2d": 3 + 4 * 2,
}

KERNELS: dict[str, Kernel] = {f"{name}.default": Kernel("pt_resize", number) for name, number in _KINDS.items()}
