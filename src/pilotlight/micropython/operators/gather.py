"""Elements picked and put by indices and masks."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

_TAKE, _PUT, _ADD = range(3)  # what happens to an element that an index names
_VALUE, _REDUCE = 8, 16  # a number is put; reduce= says how

KERNELS: dict[str, CFunction] = {
    "gather.default": CFunction("pt_do_gather"), "index_select.default": CFunction("pt_do_index_select"),
    **{f"{name}.{overload}": CFunction("pt_do_scatter", data)
       for name in ("scatter", "scatter_")
       for overload, data in (("src", _PUT), ("value", _PUT + _VALUE), ("reduce", _REDUCE),
                              ("value_reduce", _VALUE + _REDUCE))},
    **{f"{name}{place}.{overload}": CFunction(f"pt_do_{function}", data)
       for place in ("", "_")
       for name, overload, function, data in (
           ("scatter_add", "default", "scatter", _ADD), ("index_add", "default", "index_add", 0),
       )},
    "nonzero.default": CFunction("pt_do_nonzero"), "nonzero.numpy": CFunction("pt_do_nonzero_as"),
    "where.default": CFunction("pt_do_where_true"),
}
