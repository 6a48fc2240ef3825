"""Operators on whole lanes: running sums and products, sorting."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_STABLE, _INDICES, _FIRST = 1, 2, 4  # `stable` stands before dim; indices only; k stands before dim

KERNELS: dict[str, Kernel] = {
    **{f"{name}{place}.default": Kernel(f"pt_do_{name}") for name in ("cumsum", "cumprod") for place in ("", "_")},
    "sort.default": Kernel("pt_do_sort", 0), "sort.stable": Kernel("pt_do_sort", _STABLE),
    "argsort.default": Kernel("pt_do_sort", _INDICES), "argsort.stable": Kernel("pt_do_sort", _INDICES + _STABLE),
    "topk.default": Kernel("pt_do_sort", _FIRST),
}
