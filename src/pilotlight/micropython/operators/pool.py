"""Pooling. The number of a kernel: its rank, plus 4 for averages, 8 for adaptive ones, 16 where places are given."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    **{f"max_pool{rank}d.default": Kernel("pt_max_pool", rank) for rank in (1, 2, 3)},
    **{f"max_pool{rank}d_with_indices.default": Kernel("pt_max_pool", rank + 16) for rank in (1, 2, 3)},
    **{f"adaptive_max_pool{rank}d.default": Kernel("pt_max_pool", rank + 8 + 16) for rank in (1, 2, 3)},
    **{f"avg_pool{rank}d.default": Kernel("pt_avg_pool", rank + 4) for rank in (1, 2, 3)},
    **{f"adaptive_avg_pool{rank}d.default": Kernel("pt_avg_pool", rank + 4 + 8) for rank in (1, 2, 3)},
}
