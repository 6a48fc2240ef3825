"""Pointwise operators for the eager library: the compiler's own C expressions, in loops over float32 and int64."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel, overloads
from pilotlight.micropython.schemas import row as row_data
from pilotlight.ops.pointwise import ROWS, Row

_COMPUTE = {"same": "PT_IN_SAME", "float": "PT_IN_FLOAT", "bool": "PT_IN_BOOL"}


def _loop(row: Row, name: str, ctype: str, expression: str) -> str:
    result = "uint8_t" if row.result == "bool" else ctype
    wide = {"T": "int64_t", "U": "uint64_t", "bits": "64", "most": "63"}
    loads = "".join(f"        const {ctype} v{k} = x{k}[i];\n" for k in range(row.arity))
    pointers = "".join(f"    const {ctype} *x{k} = x[{k}];\n" for k in range(row.arity))
    body = expression.format(*(f"v{k}" for k in range(row.arity)), **wide)
    return (
        f"static void {name}(const void *const *x, void *out, int n)\n{{\n{pointers}    {result} *y = out;\n"
        f"    for (int i = 0; i < n; i++) {{\n{loads}        y[i] = ({result})({body});\n    }}\n}}\n"
    )


def rows_source() -> str:
    """The C file of the rows: a loop for each type and an entry that names them; the linker keeps those in use."""
    headers = sorted({h for row in ROWS for h in (*row.needs, *row.ci_needs)})
    lines = ['#include "tensor.h"', "", '#include "generated/rows.h"', *(f'#include "{h}.h"' for h in headers), ""]
    for row in ROWS:
        names = ["NULL", "NULL"]
        if row.compute != "bool" and row.c and not row.name.startswith("bitwise_"):
            lines.append(_loop(row, f"{row.name}_f32", "float", row.c))
            names[0] = f"{row.name}_f32"
        if row.compute != "float" and (row.ci or not row.needs):
            lines.append(_loop(row, f"{row.name}_i64", "int64_t", row.ci or row.c))
            names[1] = f"{row.name}_i64"
        result = "PT_TO_BOOL" if row.result == "bool" else "PT_SAME"
        columns = ", ".join([*names, str(row.arity), result, _COMPUTE[row.compute]])
        lines.append(f"const pt_pointwise_t pt_row_{row.name} = {{{columns}}};\n")
    return "\n".join(lines)


def rows_header() -> str:
    """Declarations of the rows, for C that applies them: `pt_apply(&pt_row_mul, ...)`."""
    return "".join(f"extern const pt_pointwise_t pt_row_{row.name};\n" for row in ROWS)


def row_kernels() -> dict[str, Kernel]:
    """The overloads that rows are, in place as well."""
    known = overloads()
    found: dict[str, Kernel] = {}
    for row in ROWS:
        for aten in row.aten:
            operator, _, overload = aten.partition(".")
            for name in (aten, f"{operator}_.{overload}"):
                if name in known:
                    found[name] = Kernel("pt_pointwise", row_data(row.name))
    return found
