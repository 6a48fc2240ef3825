"""Matrix products. The numbers say which: 0 matmul, 1 mm, 2 bmm, 3 mv, 4 dot."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

_PRODUCTS = {"matmul": 0, "mm": 1, "bmm": 2, "mv": 3, "dot": 4}

KERNELS: dict[str, CFunction] = {
    **{f"{name}.default": CFunction("pt_matmul", number) for name, number in _PRODUCTS.items()},
    "outer.default": CFunction("pt_outer"),
    "linear.default": CFunction("pt_linear"),
}
