"""Operators on whole lanes: running sums and products, sorting."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

_STABLE, _INDICES, _FIRST = 1, 2, 4  # `stable` comes before dim; indices only; k comes before dim

KERNELS: dict[str, CFunction] = {
    **{f"{name}{place}.default": CFunction(f"pt_do_{name}") for name in ("cumsum", "cumprod") for place in ("", "_")},
    "sort.default": CFunction("pt_do_sort", 0), "sort.stable": CFunction("pt_do_sort", _STABLE),
    "argsort.default": CFunction("pt_do_sort", _INDICES), "argsort.stable": CFunction("pt_do_sort", _INDICES + _STABLE),
    "topk.default": CFunction("pt_do_sort", _FIRST),
}
