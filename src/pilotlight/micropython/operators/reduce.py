"""Reductions: sums, products, extremes, truth, variances, norms."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

_ALL, _DIMS, _DIM = range(3)  # what comes after self: nothing, a list of dimensions, one of them

_ALL_OF = _PROD = _LEAST = 4  # the other one of two
_WHERE, _BOTH = 8, 16  # the index of an extreme, or the value and the index

_FORMS = {
    "sum": ("sum", {"default": _ALL, "dim_IntList": _DIMS}), "mean": ("mean", {"default": _ALL, "dim": _DIMS}),
    "prod": ("sum", {"default": _ALL + _PROD, "dim_int": _DIM + _PROD}),
    "amax": ("extreme", {"default": _DIMS}), "amin": ("extreme", {"default": _DIMS + _LEAST}),
    "argmax": ("extreme", {"default": _DIM + _WHERE}), "argmin": ("extreme", {"default": _DIM + _WHERE + _LEAST}),
    "max": ("extreme", {"default": _ALL, "dim": _DIM + _BOTH}),
    "min": ("extreme", {"default": _ALL + _LEAST, "dim": _DIM + _BOTH + _LEAST}),
    "any": ("truth", {"default": _ALL, "dim": _DIM, "dims": _DIMS}),
    "all": ("truth", {"default": _ALL + _ALL_OF, "dim": _DIM + _ALL_OF, "dims": _DIMS + _ALL_OF}),
}
_VARIANCES = {"var": 0, "std": 4}

KERNELS: dict[str, CFunction] = {
    **{f"{name}.{overload}": CFunction(f"pt_do_{function}", form)
       for name, (function, forms) in _FORMS.items() for overload, form in forms.items()},
    **{f"{name}.{overload}": CFunction("pt_do_var", wanted + form)
       for name, wanted in _VARIANCES.items() for form, overload in enumerate(("default", "dim", "correction"))},
    "linalg_vector_norm.default": CFunction("pt_do_vector_norm"),
}
