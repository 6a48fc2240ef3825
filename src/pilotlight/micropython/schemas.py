"""PyTorch's function schemas, from the file that ships in its wheel, as constant C tables.

An operator is a group of overloads; each overload has parameters with types and defaults, and a kernel that the table
in `operators.py` names. Nothing of a schema is parsed on the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import Argument, BaseTy, BaseType, FunctionSchema, ListType, OptionalType, SchemaKind, Type, Variant

_SCALARS = {
    BaseTy.Tensor: "TENSOR", BaseTy.Scalar: "SCALAR", BaseTy.int: "INT", BaseTy.SymInt: "INT", BaseTy.float: "FLOAT",
    BaseTy.bool: "BOOL", BaseTy.ScalarType: "DTYPE", BaseTy.str: "STR",
}
_LISTS = {"INT": "INTS", "TENSOR": "TENSORS", "FLOAT": "FLOATS", "SCALAR": "FLOATS"}


@dataclass(frozen=True)
class Overload:
    """One schema of PyTorch's."""

    name: str  # "add.Tensor"
    schema: FunctionSchema
    is_function: bool
    is_method: bool
    has_out: bool

    @property
    def operator(self) -> str:
        """What users call it: `add`, or `add_` in place."""
        return str(self.schema.name.name)

    @property
    def in_place(self) -> bool:
        return self.schema.kind() == SchemaKind.inplace


@cache
def overloads() -> dict[str, Overload]:
    """Every schema by its name; those with `out=` belong to the functional one of the same signature."""
    folder = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml")).native_functions
    outs = {f.func.signature() for f in parsed if f.func.kind() == SchemaKind.out}
    found = {}
    for function in parsed:
        schema = function.func
        if schema.kind() in (SchemaKind.functional, SchemaKind.inplace):
            name = f"{schema.name.name}.{schema.name.overload_name or 'default'}"
            found[name] = Overload(
                name, schema, Variant.function in function.variants, Variant.method in function.variants,
                schema.kind() == SchemaKind.functional and schema.signature() in outs,
            )
    return found


def _kind(type_: Type) -> tuple[str, bool, int]:
    """The code of a type, whether it may be None, and the length of a list that one number can fill."""
    if isinstance(type_, OptionalType):
        code, _, length = _kind(type_.elem)
        return code, True, length
    if isinstance(type_, ListType):
        code, _, _ = _kind(type_.elem)
        return _LISTS.get(code, "IGNORED"), False, type_.size or 0
    assert isinstance(type_, BaseType)
    return _SCALARS.get(type_.name, "IGNORED"), False, 0


def _default(argument: Argument, code: str) -> tuple[list[str], str]:
    """Flags and the initializer of a default."""
    text = argument.default
    if text is None:
        return [], "{0}"
    if text == "None":
        return ["PT_HAS_DEFAULT", "PT_NONE_DEFAULT"], "{0}"
    if text in ("True", "False"):
        return ["PT_HAS_DEFAULT"], f"{{{int(text == 'True')}}}"
    if code in ("STR", "IGNORED", "DTYPE", "TENSORS") or text == "[]":
        return ["PT_HAS_DEFAULT", "PT_NONE_DEFAULT"], "{0}"
    if text == "Mean":
        return ["PT_HAS_DEFAULT"], "{1}"
    if text.startswith("["):
        return ["PT_HAS_DEFAULT"], f"{{{text.strip('[]').split(',')[0]}}}"
    number = float(text)
    if number.is_integer() and "." not in text and "e" not in text:
        return ["PT_HAS_DEFAULT"], f"{{{int(number)}}}"
    return ["PT_HAS_DEFAULT", "PT_FLOAT_DEFAULT"], f"{{.f = {number!r}f}}"


def parameters(overload: Overload) -> list[str]:
    """The initializers of an overload's parameters."""
    rows = []
    schema = overload.schema
    keyword = {a.name for a in schema.arguments.flat_kwarg_only}
    for argument in schema.arguments.flat_non_out:
        code, optional, length = _kind(argument.type)
        flags, value = _default(argument, code)
        flags += ["PT_OPTIONAL"] if optional else []
        flags += ["PT_KEYWORD"] if argument.name in keyword else []
        rows.append(
            f"{{MP_QSTR_{argument.name}, PT_ARG_{code}, {' | '.join(flags) or '0'}, {length}, {value}}}"
        )
    return rows


@dataclass(frozen=True)
class Kernel:
    """The C function of an overload, and what it is told: a number, or a row of the pointwise table."""

    function: str
    data: int | str = 0

    @property
    def initializer(self) -> str:
        return f"{{.row = &{self.data}}}" if isinstance(self.data, str) else f"{{.number = {self.data}}}"


def row(name: str) -> str:
    """A row of the compiler's pointwise table as a kernel's data."""
    return f"pt_row_{name}"


def operator_tables(chosen: Mapping[str, Kernel]) -> tuple[str, list[str], list[str]]:
    """C tables of these overloads; the operators that are functions of the module, and those that are methods."""
    known = overloads()
    groups: dict[str, list[Overload]] = {}
    for name in chosen:
        groups.setdefault(known[name].operator, []).append(known[name])
    lines: list[str] = [*(f"mp_obj_t {f}(pt_call_t *c);" for f in sorted({k.function for k in chosen.values()})), ""]
    for operator, members in sorted(groups.items()):
        rows = []
        for number, overload in enumerate(members):
            items = parameters(overload)
            table = f"params_{operator}_{number}"
            if items:
                lines.append(f"static const pt_param_t {table}[] = {{{', '.join(items)}}};")
            kernel = chosen[overload.name]
            keyword = len(overload.schema.arguments.flat_kwarg_only)
            kind = "PT_IN_PLACE" if overload.in_place else "PT_FUNCTIONAL"
            rows.append(
                f"    {{{table if items else 'NULL'}, {kernel.function}, {kernel.initializer}, {len(items)}, "
                f"{len(items) - keyword}, {kind}, {int(overload.has_out)}}}, /* {overload.schema} */"
            )
        lines += [f"static const pt_overload_t overloads_{operator}[] = {{", *rows, "};"]
        lines.append(
            f"const pt_op_t pt_torch_{operator} = {{{{&pt_op_type}}, MP_QSTR_{operator}, {len(members)}, "
            f"overloads_{operator}}};\n"
        )
    functions = [o for o, m in sorted(groups.items()) if any(x.is_function for x in m)]
    methods = [o for o, m in sorted(groups.items()) if any(x.is_method for x in m)]
    return "\n".join(lines), functions, methods


def table(operators: Iterable[str], macro: str) -> str:
    """Entries of a MicroPython dictionary, as one macro."""
    rows = [f"    {{MP_ROM_QSTR(MP_QSTR_{o}), MP_ROM_PTR(&pt_torch_{o})}}," for o in operators]
    return f"#define {macro} \\\n" + " \\\n".join(rows) + "\n"


def presence(chosen: Iterable[str]) -> str:
    """`PT_OP_add` for every operator of PyTorch's: its address if it is in the build, else NULL."""
    present = set(chosen)
    names = sorted({o.operator for o in overloads().values() if str(o.operator).isidentifier()})
    return "".join(f"#define PT_OP_{o} {f'(&pt_torch_{o})' if o in present else 'NULL'}\n" for o in names)
