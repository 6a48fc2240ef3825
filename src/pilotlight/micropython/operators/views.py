"""Views: operators that return other sizes and strides over the same elements."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

_SIMPLE = {
    "view.dtype": "view_dtype", "flatten.using_ints": "flatten", "permute.default": "permute", "t.default": "t",
    "t_.default": "t", "transpose.int": "transpose", "transpose_.default": "transpose",
    "unsqueeze.default": "unsqueeze", "unsqueeze_.default": "unsqueeze",
    "expand.default": "expand", "broadcast_to.default": "expand", "expand_as.default": "expand_as",
    "contiguous.default": "contiguous", "clone.default": "clone", "detach.default": "alias", "detach_.default": "alias",
    "narrow.default": "narrow", "select.int": "select", "unbind.int": "unbind",
    "as_strided.default": "as_strided", "as_strided_.default": "as_strided",
}

KERNELS: dict[str, CFunction] = {
    **{name: CFunction(f"pt_do_{function}") for name, function in _SIMPLE.items()},
    "narrow.Tensor": CFunction("pt_do_narrow", 1),
    "view.default": CFunction("pt_do_view", 0),
    "reshape.default": CFunction("pt_do_view", 1),
    "view_as.default": CFunction("pt_do_view_as", 0),
    "reshape_as.default": CFunction("pt_do_view_as", 1),
    **{f"squeeze{place}.{overload}": CFunction("pt_do_squeeze", number)
       for place in ("", "_") for number, overload in enumerate(("default", "dim", "dims"))},
    "chunk.default": CFunction("pt_do_split", 0),
    "split.Tensor": CFunction("pt_do_split", 1),
    "split.sizes": CFunction("pt_do_split", 2),
    "split_with_sizes.default": CFunction("pt_do_split", 2),
}
