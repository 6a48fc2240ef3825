"""Operators on whole lanes: running sums, sorting, medians, sets."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

_STABLE, _INDICES, _VALUES = 1, 2, 4  # `stable` stands before dim; what is wanted
_TENSOR, _PAST_NAN = 1, 8

KERNELS: dict[str, Kernel] = {
    **{f"{name}{place}.default": Kernel(f"pt_do_{name}") for name in ("cumsum", "cumprod") for place in ("", "_")},
    **{f"{name}.default": Kernel(f"pt_do_{name}")
       for name in ("logcumsumexp", "cummax", "cummin", "topk", "kthvalue", "mode", "diff")},
    "sort.default": Kernel("pt_do_sort", 0), "sort.stable": Kernel("pt_do_sort", _STABLE),
    "argsort.default": Kernel("pt_do_sort", _INDICES), "argsort.stable": Kernel("pt_do_sort", _INDICES + _STABLE),
    "msort.default": Kernel("pt_do_sort", _VALUES),
    **{f"{name}median{overload}": Kernel(f"pt_do_{function}", int(bool(name)))
       for name in ("", "nan") for overload, function in ((".default", "median"), (".dim", "median_dim"))},
    **{f"{name}quantile.{overload}": Kernel("pt_do_quantile", tensor + past)
       for name, past in (("", 0), ("nan", _PAST_NAN)) for overload, tensor in (("default", _TENSOR), ("scalar", 0))},
    **{f"searchsorted.{overload}": Kernel("pt_do_searchsorted") for overload in ("Tensor", "Scalar")},
    **{f"bucketize.{overload}": Kernel("pt_do_bucketize") for overload in ("Tensor", "Scalar")},
    **{f"isin.{overload}": Kernel("pt_do_isin") for overload in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")},
    "unique.default": Kernel("pt_do_unique", 0), "unique_consecutive.default": Kernel("pt_do_unique", 1),
}
