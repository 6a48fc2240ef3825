"""Reductions: sums, products, extremes, truth, variances, norms."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_ALL, _DIMS, _DIM = range(3)  # what stands behind self: nothing, a list of dimensions, one of them

_FORMS = {
    "sum": {"default": _ALL, "dim_IntList": _DIMS}, "mean": {"default": _ALL, "dim": _DIMS},
    "prod": {"default": _ALL, "dim_int": _DIM},
    "amax": {"default": _DIMS}, "amin": {"default": _DIMS},
    "argmax": {"default": _DIM}, "argmin": {"default": _DIM},
    "any": {"default": _ALL, "dim": _DIM, "dims": _DIMS}, "all": {"default": _ALL, "dim": _DIM, "dims": _DIMS},
}
_VARIANCES = {"var": 0, "std": 4}

KERNELS: dict[str, Kernel] = {
    **{f"{name}.{overload}": Kernel(f"pt_do_{name}", form)
       for name, forms in _FORMS.items() for overload, form in forms.items()},
    "max.default": Kernel("pt_do_amax", _ALL), "min.default": Kernel("pt_do_amin", _ALL),
    "max.dim": Kernel("pt_do_max_dim", _DIM), "min.dim": Kernel("pt_do_min_dim", _DIM),
    **{f"{name}.{overload}": Kernel("pt_do_var", wanted + form)
       for name, wanted in _VARIANCES.items() for form, overload in enumerate(("default", "dim", "correction"))},
    "linalg_vector_norm.default": Kernel("pt_do_vector_norm"),
}
