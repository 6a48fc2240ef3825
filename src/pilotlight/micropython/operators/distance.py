"""Distances and angles between vectors."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    f"{name}.default": Kernel(f"pt_{name}") for name in ("cosine_similarity", "pairwise_distance", "pdist")
} | {"cdist.any": Kernel("pt_cdist")}
