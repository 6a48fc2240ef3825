"""New tensors; the number of a constant's kernel: 0, 1, or 2 where it is an argument, plus 4 for the size of a tensor
or 8 for its type alone."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    **{f"{prefix}{name}{suffix}.{overload if name == 'empty' else 'default'}": CFunction("pt_do_full", value + form)
       for name, value in (("zeros", 0), ("ones", 1), ("empty", 0), ("full", 2))
       for prefix, suffix, overload, form in (("", "", "memory_format", 0), ("", "_like", "default", 4),
                                              ("new_", "", "default", 8))},
    "arange.default": CFunction("pt_do_arange", 1),
    "arange.start": CFunction("pt_do_arange", 2),
    "arange.start_step": CFunction("pt_do_arange", 3),
    "range.default": CFunction("pt_do_arange", 6),
    "range.step": CFunction("pt_do_arange", 7),
}
