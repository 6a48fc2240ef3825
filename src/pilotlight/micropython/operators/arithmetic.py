"""Pointwise operators: rows under other names, rows for numbers, and operators that need more than a row."""

from __future__ import annotations

from pilotlight.micropython.rows import row_kernels
from pilotlight.micropython.schemas import CFunction, overloads, row

_ALIASES = {"__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor"}

# Overloads whose first arguments are the operands of a row.
_ROWS = {
    "max.other": "maximum", "min.other": "minimum",
    "remainder.Scalar_Tensor": "remainder",
    **{f"bitwise_{name}.Scalar_Tensor": f"bitwise_{name}" for name in ("and", "or", "xor")},
}

# Their C functions and data.
_KERNELS = {
    "add.Tensor": CFunction("pt_do_add", row("add")), "add.Scalar": CFunction("pt_do_add", row("add")),
    "sub.Tensor": CFunction("pt_do_sub", 0), "sub.Scalar": CFunction("pt_do_sub", 0),
    "rsub.Tensor": CFunction("pt_do_sub", 1), "rsub.Scalar": CFunction("pt_do_sub", 1),
    "neg.default": CFunction("pt_do_neg", row("neg")),
    "div.Tensor_mode": CFunction("pt_do_div_mode"), "div.Scalar_mode": CFunction("pt_do_div_mode"),
    "pow.Tensor_Tensor": CFunction("pt_do_pow"), "pow.Tensor_Scalar": CFunction("pt_do_pow"),
    "pow.Scalar": CFunction("pt_do_pow"), "pow_.Scalar": CFunction("pt_do_pow"), "pow_.Tensor": CFunction("pt_do_pow"),
    "clamp.default": CFunction("pt_do_clamp"), "clamp.Tensor": CFunction("pt_do_clamp"),
    **{f"clamp_{name}.{overload}": CFunction("pt_do_clamp_one", row(by))
       for name, by in (("min", "maximum"), ("max", "minimum")) for overload in ("default", "Tensor")},
    "leaky_relu.default": CFunction("pt_do_floats", row("leaky_relu")),
    "square.default": CFunction("pt_do_square"),
    "relu.default": CFunction("pt_do_relu", row("relu")), "relu6.default": CFunction("pt_do_relu6"),
    "hardtanh.default": CFunction("pt_do_hardtanh"), "gelu.default": CFunction("pt_do_gelu"),
    "prelu.default": CFunction("pt_do_prelu"), "round.decimals": CFunction("pt_do_round_decimals"),
    "bitwise_not.default": CFunction("pt_do_bitwise_not"),
    **{f"where.{overload}": CFunction("pt_do_where") for overload in ("self", "ScalarSelf", "ScalarOther", "Scalar")},
    "masked_fill.Scalar": CFunction("pt_do_masked_fill"), "masked_fill.Tensor": CFunction("pt_do_masked_fill"),
    "fill.Scalar": CFunction("pt_do_fill"), "fill.Tensor": CFunction("pt_do_fill"),
    "zero_.default": CFunction("pt_do_fill"), "copy_.default": CFunction("pt_do_copy"),
}


def _with_names() -> dict[str, CFunction]:
    """All of these, with their in-place forms and other names."""
    known = overloads()
    own = {**{name: CFunction("pt_pointwise", row(by)) for name, by in _ROWS.items()}, **_KERNELS}
    found = dict(own)
    for name, kernel in own.items():
        operator, _, overload = name.partition(".")
        if f"{operator}_.{overload}" in known:
            found[f"{operator}_.{overload}"] = kernel
    everything = {**row_kernels(), **found}
    for alias, operator in _ALIASES.items():
        for name, kernel in everything.items():
            base, _, overload = name.partition(".")
            for suffix in ("", "_"):
                other = f"{alias}{suffix}.{overload}"
                if base == operator + suffix and other in known:
                    found[other] = kernel
    return found


KERNELS = _with_names()
