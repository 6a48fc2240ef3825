"""Pointwise operators for the eager library: C expressions in loops over float32 and int64.

Most rows are the compiler's own. Those it composes from several rows are one loop here, with the same elementary
functions: without a compiler to fuse them each step would be a tensor. Which rows refuse bool or integers is found by
asking PyTorch when the tables are written.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F

from pilotlight.micropython.schemas import CFunction, overloads
from pilotlight.micropython.schemas import row as row_data
from pilotlight.ops.pointwise.float import ROWS, Row

_COMPUTE = {"same": "PT_IN_SAME", "float": "PT_IN_FLOAT", "bool": "PT_IN_BOOL"}
_ZERO = {"fmod", "remainder", "floor_divide", "trunc_divide"}  # integers by zero are an error
_WIDE = {"add", "sub", "mul", "div", "add_alpha", "sub_alpha"}  # numbers keep their precision next to halves
_REFUSED: dict[str, list[str]] = {"where": [], "leaky_relu": ["PT_NO_BOOL", "PT_NO_INTS"]}  # cannot be asked this way
# Rows of the compiler that are operators in Python here (python/torch/operators/pointwise.py).
_IN_PYTHON = {
    "acos", "acosh", "asin", "asinh", "atanh", "cosh", "digamma", "fmax", "fmin", "gcd", "hypot", "lcm", "lgamma",
    "log10", "log2", "logaddexp", "nextafter", "signbit", "sinh", "tan",
}
_SHARED = {"cos": 1, "exp": 1, "log": 1, "pow": 2, "sigmoid": 1, "sin": 1, "tanh": 1}  # as in functions.h
# An element of the result depends on the operands' elements at its place alone, hence `ivdep` in every loop.
_WORDS = {"T": "int64_t", "U": "uint64_t", "bits": "64", "most": "63"}
_VECTORS = """#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math") /* hosts have vectors */
#endif
"""


_LEAST = "({0} < {1} || {1} != {1} ? {1} : {0})"

# (row, how many of its last operands are numbers for all elements)
EXTRA: list[tuple[Row, int]] = [
    (Row("add_alpha", "{0} + {1} * {2}", lambda x, y, a: torch.add(x, y, alpha=a), arity=3,
         ci="({T})(({U}){0} + ({U}){1} * ({U}){2})"), 1),
    (Row("sub_alpha", "{0} - {1} * {2}", lambda x, y, a: x, arity=3, ci="({T})(({U}){0} - ({U}){1} * ({U}){2})"), 1),
    (Row("relu", "{0} < 0.0f ? 0.0f : {0}", torch.relu, ci="{0} < 0 ? 0 : {0}"), 0),
    (Row("clamp", f"{_LEAST} > {{2}} || {{2}} != {{2}} ? {{2}} : {_LEAST}", torch.clamp, arity=3,
         ci="({0} < {1} ? {1} : {0}) > {2} ? {2} : ({0} < {1} ? {1} : {0})"), 2),
    (Row("elu", "{0} < 0.0f ? pl_expm1_f32({0} * {3}) * {1} * {2} : {0} * {2}", lambda x, a, s, i: F.elu(x),
         ("elu.default",), 4, compute="float", needs=("expm1_f32",)), 3),
    (Row("softplus", "{0} * {1} > {2} ? {0} : pl_log1p_f32(pl_exp_f32({0} * {1})) / {1}",
         lambda x, b, t: F.softplus(x), ("softplus.default",), 3, compute="float", needs=("log1p_f32", "exp_f32")), 2),
    (Row("round_to", "pl_round_f32({0} * {1}) / {1}", lambda x, n: torch.round(x, decimals=1), arity=2,
         needs=("round_f32",)), 1),
    (Row("round_off", "pl_round_f32({0} / {1}) * {1}", lambda x, n: torch.round(x, decimals=1), arity=2,
         needs=("round_f32",)), 1),
    (Row("isfinite", "{0} - {0} == 0.0f", torch.isfinite, ("isfinite.default",), result="bool", ci="{0} == {0}"), 0),
]


@cache
def flags(row: Row, numbers: int) -> tuple[str, ...]:
    """What PyTorch refuses, and what a row needs to know."""
    found = list(_REFUSED.get(row.name, []))
    for dtype, flag in ((torch.bool, "PT_NO_BOOL"), (torch.int64, "PT_NO_INTS")):
        if row.name in _REFUSED:
            continue
        try:
            row.torch(*([torch.ones(1, dtype=dtype)] * (row.arity - numbers)), *([1] * numbers))
        except (RuntimeError, TypeError):
            found.append(flag)
    found += ["PT_NO_ZERO"] if row.name in _ZERO else []
    return tuple(dict.fromkeys(found + (["PT_WIDE"] if row.name in _WIDE else [])))


def all_rows() -> list[tuple[Row, int]]:
    """The compiler's rows and those of this library, each with its count of number operands."""
    return [(row, 0) for row in ROWS if row.name not in _IN_PYTHON] + EXTRA


def _loop(row: Row, numbers: int, name: str, ctype: str, expression: str) -> str:
    result = "uint8_t" if row.result == "bool" else ctype
    tensors = row.arity - numbers
    pointers = "".join(f"    const {ctype} *x{k} = x[{k}];\n" for k in range(tensors))
    used = [k for k in range(tensors, row.arity) if f"{{{k}}}" in expression]
    pointers += "".join(f"    const {ctype} v{k} = *(const {ctype} *)x[{k}];\n" for k in used)
    loads = "".join(f"        const {ctype} v{k} = x{k}[i];\n" for k in range(tensors))
    if ctype == "int64_t" and row.name in _ZERO:  # the one quotient that overflows traps
        loads += f"        if (v1 == -1) {{\n            y[i] = {_by_minus_one(row)};\n"
        loads += "            continue;\n        }\n"
    body = expression.format(*(f"v{k}" for k in range(row.arity)), **_WORDS)
    return (
        f"static void {name}(const void *const *x, void *out, int n)\n{{\n{pointers}    {result} *y = out;\n"
        f"#pragma GCC ivdep\n    for (int i = 0; i < n; i++) {{\n{loads}        y[i] = ({result})({body});\n"
        "    }\n}\n"
    )


def _by_minus_one(row: Row) -> str:
    return "(int64_t)(0 - (uint64_t)v0)" if "divide" in row.name else "0"


def _integers(row: Row, numbers: int, name: str, expression: str) -> str:
    """A loop for hosts, one element for boards."""
    body = expression.format(*(f"v{k}" for k in range(row.arity)), **_WORDS)
    used = [k for k in range(row.arity) if f"{{{k}}}" in expression]
    values = "".join(
        f"    const int64_t v{k} = {'pt_nonzero(v[1])' if k == 1 and row.name in _ZERO else f'v[{k}]'};\n" for k in used
    )
    if row.name in _ZERO:
        values += f"    if (v1 == -1) {{\n        return {_by_minus_one(row)};\n    }}\n"
    return (
        f"#if PT_LOOPS\n{_loop(row, numbers, name, 'int64_t', expression)}#else\n"
        f"static int64_t {name}(const int64_t *v)\n{{\n    (void)v;\n{values}"
        f"    return (int64_t)({body});\n}}\n#endif\n"
    )


def _is_logical(row: Row) -> bool:
    """Whether a build that does not compute with integers needs a row, for bool."""
    return row.result == "bool" or row.compute == "bool" or row.name == "where" or row.name.startswith("bitwise_")


def rows_source() -> str:
    """The C file of the rows: a loop for each type and an entry that names them; the linker keeps those in use."""
    headers = sorted({h for row, _ in all_rows() for h in (*row.needs, *row.ci_needs)})
    lines = [_VECTORS, '#include "tensor.h"', "", '#include "generated/rows.h"']
    lines += [*(f'#include "{h}.h"' for h in headers), ""]
    for row, numbers in all_rows():
        floats, integers, one = "NULL", "NULL", False
        refused = flags(row, numbers)
        if row.compute != "bool" and row.c and not row.name.startswith("bitwise_"):
            function = f"pl_{row.name}_f32"
            one = row.arity == 1 and row.c == f"{function}({{0}})"
            loop, floats = _loop(row, numbers, f"{row.name}_f32", "float", row.c), f".row = {row.name}_f32"
            lines.append(f"#if PT_LOOPS\n{loop}#endif\n" if one else loop)
        if row.compute != "float" and (row.ci or not row.needs) and "PT_NO_INTS" not in refused:
            lines.append(_integers(row, numbers, f"{row.name}_i64", row.ci or row.c))
            integers = f"{row.name}_i64" if _is_logical(row) else f"PT_INTEGERS ? {row.name}_i64 : NULL"
        result = "PT_TO_BOOL" if row.result == "bool" else "PT_SAME"
        columns = [integers, str(row.arity - numbers), str(numbers), result, _COMPUTE[row.compute]]
        entry = f"const pt_pointwise_t pt_row_{row.name} = {{{{%s}}, {', '.join(columns)}, %s}};\n"
        told = " | ".join(refused) or "0"
        if one:
            lines.append(f"#if PT_LOOPS\n{entry % (floats, told)}#else\n"
                         f"{entry % (f'.one = pl_{row.name}_f32', f'{told} | PT_ONE')}#endif\n")
        else:
            lines.append(entry % (floats, told))
    for name, arity in _SHARED.items():
        parameters, arguments = ("float x", "x") if arity == 1 else ("float x, float y", "x, y")
        lines.append(f"float pt_{name}_f32({parameters});")
        lines.append(f"float pt_{name}_f32({parameters}) {{ return pl_{name}_f32({arguments}); }}\n")
    return "\n".join(lines)


def rows_header() -> str:
    """Declarations of the rows, for C that applies them: `pt_apply(&pt_row_mul, ...)`."""
    return "".join(f"extern const pt_pointwise_t pt_row_{row.name};\n" for row, _ in all_rows())


def row_kernels() -> dict[str, CFunction]:
    """The overloads that are rows, in-place forms included."""
    known = overloads()
    found: dict[str, CFunction] = {}
    for row, _ in all_rows():
        for aten in row.aten:
            operator, _, overload = aten.partition(".")
            found[aten] = CFunction("pt_pointwise", row_data(row.name))
            if f"{operator}_.{overload}" in known:
                found[f"{operator}_.{overload}"] = found[aten]
    return found
