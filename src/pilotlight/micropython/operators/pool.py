"""Pooling. The number of a kernel: its rank, plus 4 for averages, 8 for adaptive ones, 16 if indices are returned
too."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    **{f"max_pool{rank}d.default": CFunction("pt_max_pool", rank) for rank in (1, 2, 3)},
    **{f"max_pool{rank}d_with_indices.default": CFunction("pt_max_pool", rank + 16) for rank in (1, 2, 3)},
    **{f"adaptive_max_pool{rank}d.default": CFunction("pt_max_pool", rank + 8 + 16) for rank in (1, 2, 3)},
    **{f"avg_pool{rank}d.default": CFunction("pt_avg_pool", rank + 4) for rank in (1, 2, 3)},
    **{f"adaptive_avg_pool{rank}d.default": CFunction("pt_avg_pool", rank + 4 + 8) for rank in (1, 2, 3)},
}
