"""PyTorch's function schemas, from the file that ships in its wheel, as constant C tables.

An operator is a group of overloads; each overload has parameters with types and defaults, and a kernel that the tables
in `operators/` name. Nothing of a schema is parsed on the device.

Where a user finds an operator follows PyTorch:

    _torch.add        functions of `torch`
    Tensor.add        methods; an overload that is only a function is no method, and the other way round
    _torch._nn.gelu   functions that PyTorch keeps elsewhere (torch._C._nn, _special, _linalg, _fft), by the names of
                      their schemas: `gelu`, `avg_pool2d`, `linalg_vector_norm`, `special_expm1`

The C tables share what they can: parameters that differ only in their names are of one kind, equal lists of parameters
and equal signatures exist once, a function and a method of one name are one entry, and an operator in place is no entry
at all where the functional one has the same arguments and kernels: its name is that one's with `_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import Argument, BaseTy, BaseType, FunctionSchema, ListType, OptionalType, SchemaKind, Type, Variant

from pilotlight.micropython.by_hand import BY_HAND, PYTHON_OPERATORS

_SCALARS = {
    BaseTy.Tensor: "TENSOR", BaseTy.Scalar: "SCALAR", BaseTy.int: "INT", BaseTy.SymInt: "INT", BaseTy.float: "FLOAT",
    BaseTy.bool: "BOOL", BaseTy.ScalarType: "DTYPE", BaseTy.str: "STR", BaseTy.Device: "DEVICE",
}
_LISTS = {"INT": "INTS", "TENSOR": "TENSORS", "FLOAT": "FLOATS", "SCALAR": "FLOATS"}
_CONSTANTS = {"True": "1", "False": "0", "Mean": "0", "long": "PT_INT64", "float": "PT_FLOAT32"}
_LARGEST = 2**31 - 1  # stands for larger defaults ("until the end")

# Kernels that apply the row that they are told, where there are but tensors.
_QUICK = {"pt_pointwise", "pt_do_add", "pt_do_neg", "pt_do_relu"}

# Their lists of tensors may be arguments one by one: torch.meshgrid(x, y).
_VARIADIC = {"atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "meshgrid"}

# Their tensors may be numbers (torch.mul(2, x)), which makes their overloads for a Scalar superfluous.
_NUMBERS = {
    name + suffix for suffix in ("", "_")
    for name in ("add", "sub", "mul", "div", "floor_divide")
}


@dataclass(frozen=True)
class Overload:
    """One schema of PyTorch's."""

    name: str  # "add.Tensor"
    schema: FunctionSchema
    is_function: bool
    is_method: bool
    outs: int  # tensors that out= takes

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
    outs = {
        _without_options(f.func): len(f.func.arguments.out) for f in parsed
        if f.func.kind() == SchemaKind.out and "generated" not in f.tags  # which Python does not see
    }
    found = {}
    for function in parsed:
        schema = function.func
        if schema.kind() in (SchemaKind.functional, SchemaKind.inplace):
            name = f"{schema.name.name}.{schema.name.overload_name or 'default'}"
            functional = schema.kind() == SchemaKind.functional
            found[name] = Overload(
                name, schema, Variant.function in function.variants, Variant.method in function.variants,
                outs.get(_without_options(schema), 0) if functional else 0,
            )
    for line in BY_HAND:
        form, _, text = line.partition(" ")
        schema = FunctionSchema.parse(text)
        name = f"{schema.name.name}.{schema.name.overload_name or 'default'}"
        found[name] = Overload(name, schema, "f" in form, "m" in form, outs=int("o" in form))
    return found


def _without_options(schema: FunctionSchema) -> str:
    """A signature without dtype, layout, device and pin_memory, which forms with `out=` do not take."""
    options = schema.arguments.tensor_options
    dropped = {a.name for a in options.all()} if options else set()
    arguments = [f"{a.type} {a.name}" for a in schema.arguments.flat_non_out if a.name not in dropped]
    return f"{schema.name.name.base}({', '.join(arguments).replace('(a!)', '')})"


def argument_kind(type_: Type) -> tuple[str, bool, int]:
    """The code of a type, whether it may be None, and the length of a list that one number can fill."""
    if isinstance(type_, OptionalType):
        code, _, length = argument_kind(type_.elem)
        return code, True, length
    if isinstance(type_, ListType):
        code, _, _ = argument_kind(type_.elem)
        return _LISTS.get(code, "IGNORED"), False, type_.size or 0
    assert isinstance(type_, BaseType)
    return _SCALARS.get(type_.name, "IGNORED"), False, 0


def _default(argument: Argument, code: str) -> tuple[list[str], str]:
    """Flags and the initializer of a default. A text, and a list of different numbers, is left to the kernel."""
    text = argument.default
    if text is None:
        return [], "{0}"
    if text in _CONSTANTS:
        return ["PT_HAS_DEFAULT"], f"{{{_CONSTANTS[text]}}}"
    items = {item.strip() for item in text.strip("[]").split(",")}
    if text == "None" or code in ("STR", "IGNORED", "DTYPE", "DEVICE", "TENSORS") or text == "[]" or len(items) > 1:
        return ["PT_HAS_DEFAULT", "PT_NONE_DEFAULT"], "{0}"
    number = float(items.pop())
    if number.is_integer() and "." not in text and "e" not in text:
        return ["PT_HAS_DEFAULT"], f"{{{min(int(number), _LARGEST)}}}"
    return ["PT_HAS_DEFAULT", "PT_FLOAT_DEFAULT"], f"{{.f = {number!r}f}}"


def is_variadic(operator: str) -> bool:
    """Whether its list of tensors may be arguments one by one."""
    return operator in _VARIADIC


def parameters(overload: Overload) -> list[tuple[str, str]]:
    """The names of an overload's parameters and the initializers of their kinds."""
    rows = []
    for argument in overload.schema.arguments.flat_non_out:
        code, optional, length = argument_kind(argument.type)
        length = int(is_variadic(overload.operator)) if code == "TENSORS" else length
        flags, value = _default(argument, code)
        flags += ["PT_OPTIONAL"] if optional else []
        flags += ["PT_GAPS"] if code == "TENSORS" and str(argument.type).startswith("Tensor?[") else []
        flags += ["PT_NUMBER"] if code == "TENSOR" and overload.operator in _NUMBERS else []
        rows.append((argument.name, f"{{PT_ARG_{code}, {' | '.join(flags) or '0'}, {length}, {value}}}"))
    return rows


@dataclass(frozen=True)
class Kernel:
    """The C function of an overload, and what it is told: a number, or a row of the pointwise table."""

    function: str
    data: int | str = 0


def row(name: str) -> str:
    """A row of the compiler's pointwise table as a kernel's data."""
    return f"pt_row_{name}"


# ---- the order in which overloads are tried ----------------------------------------------------------------------


def _yields(one: Overload, other: Overload) -> bool:
    """Whether PyTorch tries `other` first: a Tensor goes before a number and an int before a list."""
    pairs = [
        (str(a.type).removesuffix("?").replace("SymInt", "int"), str(b.type).removesuffix("?").replace("SymInt", "int"))
        for a, b in zip(one.schema.arguments.flat_non_out, other.schema.arguments.flat_non_out, strict=False)
    ]
    weaker = [a != b for a, b in pairs]
    first = ("Scalar", "Tensor"), ("int", "Tensor"), ("int[]", "int"), ("Tensor[]", "int[]")
    same_length = len(one.schema.arguments.flat_non_out) == len(other.schema.arguments.flat_non_out)
    return same_length and any(weaker) and all(pair in first or pair[0] == pair[1] for pair in pairs)


def _text(overload: Overload) -> str:
    """Types and names of the arguments as PyTorch's signatures spell them, which it sorts by."""
    arguments = overload.schema.arguments
    texts = [f"{a.type} {a.name}" for a in arguments.flat_non_out]
    texts.insert(len(texts) - len(arguments.flat_kwarg_only), "*")
    text = ", ".join(texts)
    return text.replace("int ", "int64_t ").replace("int[", "IntArrayRef[").replace("Tensor[]", "TensorList")


def _in_order(members: Sequence[Overload]) -> list[Overload]:
    """By their texts, each behind those that it yields to."""
    waiting = sorted(members, key=_text)
    ordered: list[Overload] = []
    while waiting:
        chosen = next(o for o in waiting if not any(_yields(o, other) for other in waiting))
        waiting.remove(chosen)
        ordered.append(chosen)
    return ordered


def _groups(chosen: Mapping[str, Kernel]) -> dict[str, list[tuple[Overload, Kernel]]]:
    """The overloads of each operator in the order of trying, with their kernels."""
    known = overloads()
    found: dict[str, dict[str, Kernel]] = {}
    for name, kernel in chosen.items():
        operator, _, overload = name.partition(".")
        if operator in _NUMBERS and overload.startswith("Scalar"):
            wider = f"{operator}.{overload.replace('Scalar', 'Tensor')}"
            found.setdefault(operator, {}).setdefault(wider if wider in known else f"{operator}.default", kernel)
        else:
            found.setdefault(operator, {})[name] = kernel
    return {
        operator: [(o, kernels[o.name]) for o in _in_order([known[name] for name in kernels])]
        for operator, kernels in sorted(found.items())
    }


# ---- the tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """C source of the tables, and the operators in their order."""

    source: str
    operators: list[str]  # functions of torch, functions of its parts, methods that are no functions
    own: int  # functions of torch
    functions: int
    several: bool  # an operator has more than one overload
    rows: bool  # an operator is a row of the pointwise table
    changes: list[str]  # operators in place that are no entries of their own
    types: list[str]  # of arguments
    has: dict[str, bool]  # what some overload needs of the parser


class _Lists:
    """Lists of parameters in one array; a list that is there already, or whose head is, is used again."""

    def __init__(self, lists: Iterable[Sequence[tuple[str, str]]]) -> None:
        waiting = sorted({tuple(items) for items in lists}, key=lambda items: (-len(items), items))
        self.flat: list[tuple[str, str]] = []
        while waiting:
            chosen = max(waiting, key=self._overlap)  # the longest of those that share most with the end
            waiting.remove(chosen)
            if self._find(chosen) is None:
                self.flat += chosen[self._overlap(chosen) :]
        self.names = list(dict.fromkeys(name for name, _ in self.flat))
        self.kinds = list(dict.fromkeys(kind for _, kind in self.flat))

    def _overlap(self, items: Sequence[tuple[str, str]]) -> int:
        return next(n for n in range(min(len(items), len(self.flat)), -1, -1)
                    if self.flat[len(self.flat) - n :] == list(items[:n]))

    def _find(self, items: Sequence[tuple[str, str]]) -> int | None:
        ends = len(self.flat) - len(items) + 1
        return next((k for k in range(ends) if self.flat[k : k + len(items)] == list(items)), None)

    def place(self, items: Sequence[tuple[str, str]]) -> int:
        found = self._find(items)
        assert found is not None
        return found

    def types(self) -> list[str]:
        return sorted({kind[1 : kind.index(",")] for kind in self.kinds})

    def lines(self) -> list[str]:
        assert len(self.names) < 1 << 8 and len(self.kinds) < 1 << 8, "pt_param_t has no place for more"
        return [
            *_array("pt_kind_t pt_kinds", self.kinds),
            *_array("uint16_t pt_names", [f"MP_QSTR_{name}" for name in self.names]),
            *_array("pt_param_t pt_params", [
                f"{{{self.names.index(name)}, {self.kinds.index(kind)}}}" for name, kind in self.flat
            ]),
        ]


class _Overloads:
    """Rows of the table of overloads and what they refer to, each thing once."""

    def __init__(self, lists: _Lists) -> None:
        self.lists = lists
        self.kernels: dict[str, int] = {}
        self.rows: dict[str, int] = {}
        self.signatures: dict[str, int] = {}
        self.entries: list[str] = []
        self.starts: dict[tuple[str, ...], int] = {}

    def text(self, overload: Overload, kernel: Kernel, flags: Sequence[int]) -> str:
        items = parameters(overload)
        positional = len(items) - len(overload.schema.arguments.flat_kwarg_only)
        columns = [self.lists.place(items), len(items), positional, *flags, int(_self_second(overload))]
        signature = ", ".join(map(str, columns))
        is_row = isinstance(kernel.data, str)
        data = self.rows.setdefault(kernel.data, len(self.rows)) if isinstance(kernel.data, str) else kernel.data
        function = self.kernels.setdefault(kernel.function, len(self.kernels))
        return f"{function}, {data}, {int(is_row)}, {self.signatures.setdefault(signature, len(self.signatures))}"

    def place(self, members: Sequence[tuple[Overload, Kernel]], as_method: Sequence[bool]) -> int:
        """Where the overloads of an operator are; operators with the same ones share them."""
        texts = tuple(
            self.text(o, kernel, (o.outs, int(o.is_function), int(method)))
            for (o, kernel), method in zip(members, as_method, strict=True)
        )
        if texts not in self.starts:
            self.starts[texts] = len(self.entries)
            for number, (text, (overload, _)) in enumerate(zip(texts, members, strict=True)):
                self.entries.append(f"{{{text}, {int(number == len(members) - 1)}}}, /* {overload.schema} */")
        return self.starts[texts]

    def lines(self) -> list[str]:
        assert len(self.entries) < 1 << 10 and len(self.signatures) < 1 << 10, "pt_op_t has no place for more"
        return [
            *(f"mp_obj_t {function}(pt_call_t *c);" for function in sorted(self.kernels)), "",
            *_array("pt_signature_t pt_signatures", [f"{{{s}}}" for s in self.signatures]),
            *_array("pt_kernel_t pt_kernels", list(self.kernels)),
            *_array("pt_pointwise_t *const pt_rows", [f"&{name}" for name in self.rows]),
            *_array("pt_entry_t pt_overloads", self.entries),
        ]


def _self_second(overload: Overload) -> bool:
    items = overload.schema.arguments.flat_non_out
    return len(items) > 1 and items[1].name == "self"


# In place, these are so common that they have entries of their own: to make an object of them each time takes longer.
_COMMON = {"add_", "sub_", "mul_", "div_"}


def _same(one: Iterable[tuple[Overload, Kernel]], other: Iterable[tuple[Overload, Kernel]]) -> bool:
    """Whether an operator in place computes what the functional one does, from the same arguments."""
    return [(parameters(o), kernel) for o, kernel in one] == [(parameters(o), kernel) for o, kernel in other]


class _Operator:
    """The overloads of an operator, as functions and as methods."""

    def __init__(self, name: str, members: Sequence[tuple[Overload, Kernel]]) -> None:
        self.name, self.members = name, members
        self.as_method = [o.is_method and hasattr(torch.Tensor, name) for o, _ in members]
        self.functions = [m for m in members if m[0].is_function and not name.startswith("__")]
        self.methods = [m for m, method in zip(members, self.as_method, strict=True) if method]
        self.in_place = members[0][0].in_place

    def same(self, other: _Operator) -> bool:
        return (not self.methods or _same(self.methods, other.methods)) and (
            not self.functions or _same(self.functions, other.functions)
        )


def operator_tables(chosen: Mapping[str, Kernel]) -> Tables:
    """C tables of these overloads."""
    operators = {name: _Operator(name, members) for name, members in _groups(chosen).items()}
    bases = {  # of operators in place that are the same but for that
        name: operators[name[:-1]] for name, operator in operators.items()
        if operator.in_place and name[:-1] in operators and operator.same(operators[name[:-1]])
    }
    lists = _Lists(parameters(o) for operator in operators.values() for o, _ in operator.members)
    overloaded = _Overloads(lists)
    own: dict[str, str] = {}
    elsewhere: dict[str, str] = {}
    alone: dict[str, str] = {}
    for name, operator in operators.items():
        if name in bases and name not in _COMMON:
            continue
        shown = bases.get(name, operator)
        first = overloaded.place(shown.members, shown.as_method)
        changed = operators[f"{name}_"] if f"{name}_" in bases and f"{name}_" not in _COMMON else None
        flags = [operator.members[0][1].function in _QUICK, operator.in_place]
        flags += [bool(changed and changed.methods), bool(changed and changed.functions)]
        row = f"{{MP_QSTR_{name}, {first}, {', '.join(str(int(f)) for f in flags)}, %d, %d}},"
        if operator.functions:
            (own if hasattr(torch, name) else elsewhere)[name] = row % (1, bool(operator.methods))
        elif operator.methods:
            alone[name] = row % (0, 1)
    source = "\n".join([
        *lists.lines(), *overloaded.lines(),
        *_array("pt_op_t pt_ops", [*own.values(), *elsewhere.values(), *alone.values()]), "",
    ])
    return Tables(
        source, [*own, *elsewhere, *alone], len(own), len(own) + len(elsewhere),
        several=any(len(operator.members) > 1 for operator in operators.values()), rows=bool(overloaded.rows),
        changes=sorted(bases.keys() - _COMMON), types=lists.types(), has={
            "VARIADIC": any(is_variadic(name) for name in operators), "FACTORIES": "pin_memory" in lists.names,
            "OUTS": any(o.outs > 1 for operator in operators.values() for o, _ in operator.members),
        },
    )


def _array(declaration: str, rows: Sequence[str]) -> list[str]:
    lines = (f"    {row}" if row.endswith((",", "*/")) else f"    {row}," for row in rows)
    return [f"const {declaration}[] = {{", *(lines if rows else ["    0"]), "};"]


def header(tables: Tables, alone: bool) -> str:
    """Declarations, and `PT_OP_add` for every operator: NULL if it is not in the build, and the functional one where a
    form in place is no entry of its own.

    `PT_HAS_SEVERAL` and the like are 0 where nothing in the build needs that part of it, `PT_KINDS` has a bit for each
    type of arguments, `PT_ALONE` is 1 where there is no Python part.
    """
    present = {name: number for number, name in reversed(list(enumerate(tables.operators)))}
    present |= {name: present[name[:-1]] for name in tables.changes}
    counts = {"OWN_FUNCTIONS": tables.own, "FUNCTIONS": tables.functions, "OPERATORS": len(tables.operators)}
    lines = [f"enum {{ {', '.join(f'PT_{name} = {count}' for name, count in counts.items())} }};"]
    for name in sorted({o.operator for o in overloads().values() if o.operator.isidentifier()}):
        lines.append(f"#define PT_OP_{name} {f'(&pt_ops[{present[name]}])' if name in present else 'NULL'}")
    operators = any(name in present for name in PYTHON_OPERATORS)
    has = {"SEVERAL": tables.several, "ROWS": tables.rows, "CHANGES": bool(tables.changes), "OPERATORS": operators}
    lines += [f"#define PT_HAS_{name} {int(value)}" for name, value in (has | tables.has).items()]
    lines.append(f"#define PT_ALONE {int(alone)}")
    lines.append(f"#define PT_KINDS ({' | '.join(f'1 << {type_}' for type_ in tables.types) or 0})")
    return "\n".join([*lines, ""])
