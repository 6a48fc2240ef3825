"""Matrix products. The numbers say which: 0 matmul, 1 mm, 2 bmm, 3 mv, 4 dot, 5 a batch that is summed."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_PRODUCTS = {"matmul": 0, "mm": 1, "bmm": 2, "mv": 3, "dot": 4, "vdot": 4}
_SUMS = {"addmm": 1, "baddbmm": 2, "addmv": 3, "addbmm": 5}

KERNELS: dict[str, Kernel] = {
    **{f"{name}.default": Kernel("pt_matmul", number) for name, number in _PRODUCTS.items()},
    **{f"{name}{suffix}.default": Kernel("pt_addmm", n) for name, n in _SUMS.items() for suffix in ("", "_")},
    "outer.default": Kernel("pt_outer"),
    **{f"{name}.default": Kernel("pt_addr") for name in ("addr", "addr_")},
    "linear.default": Kernel("pt_linear", 0),
    "inner.default": Kernel("pt_linear", 1),
}
