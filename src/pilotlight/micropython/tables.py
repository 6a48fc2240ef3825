"""The schemas of a build's operators as constant C tables, which one parser in C reads.

They share what they can: parameters that differ only in their names are of one kind, equal lists of parameters and
equal signatures are stored once, a function and a method of one name are one entry, and an in-place operator has no
entry if the functional one has the same arguments and kernels: its name is that one's with `_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from pilotlight.micropython.by_hand import PYTHON_OPERATORS
from pilotlight.micropython.schemas import CFunction, Overload, groups, is_variadic, overloads, parameters

# Kernels that apply the row in their data, where all operands are tensors.
_QUICK = {"pt_pointwise", "pt_do_add", "pt_do_neg", "pt_do_relu"}

# These in-place operators are common enough to have entries: making an object each time would take longer.
_COMMON = {"add_", "sub_", "mul_", "div_"}


@dataclass(frozen=True)
class Tables:
    """C source of the tables, and the operators in their order."""

    source: str
    operators: list[str]  # functions of torch, functions of its parts, methods that are not functions
    own: int  # functions of torch
    functions: int
    several: bool  # an operator has more than one overload
    rows: bool  # an operator is a row of the pointwise table
    changes: list[str]  # in-place operators without an entry
    types: list[str]  # of arguments
    has: dict[str, bool]  # the parts of the parser that some overload needs


class _Lists:
    """Lists of parameters in one array; a list that is already there, or whose head is, is reused."""

    def __init__(self, lists: Iterable[Sequence[tuple[str, str]]]) -> None:
        waiting = sorted({tuple(items) for items in lists}, key=lambda items: (-len(items), items))
        self.flat: list[tuple[str, str]] = []
        while waiting:
            chosen = max(waiting, key=self._overlap)  # the longest of those that overlap most with the end
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
    """Rows of the table of overloads and what they refer to, each stored once."""

    def __init__(self, lists: _Lists) -> None:
        self.lists = lists
        self.kernels: dict[str, int] = {}
        self.rows: dict[str, int] = {}
        self.signatures: dict[str, int] = {}
        self.entries: list[str] = []
        self.starts: dict[tuple[str, ...], int] = {}

    def text(self, overload: Overload, kernel: CFunction, flags: Sequence[int]) -> str:
        items = parameters(overload)
        positional = len(items) - len(overload.schema.arguments.flat_kwarg_only)
        columns = [self.lists.place(items), len(items), positional, *flags, int(_self_second(overload))]
        signature = ", ".join(map(str, columns))
        is_row = isinstance(kernel.data, str)
        data = self.rows.setdefault(kernel.data, len(self.rows)) if isinstance(kernel.data, str) else kernel.data
        function = self.kernels.setdefault(kernel.function, len(self.kernels))
        return f"{function}, {data}, {int(is_row)}, {self.signatures.setdefault(signature, len(self.signatures))}"

    def place(self, members: Sequence[tuple[Overload, CFunction]], as_method: Sequence[bool]) -> int:
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


def _same(one: Iterable[tuple[Overload, CFunction]], other: Iterable[tuple[Overload, CFunction]]) -> bool:
    """Whether an in-place operator computes what the functional one does, from the same arguments."""
    return [(parameters(o), kernel) for o, kernel in one] == [(parameters(o), kernel) for o, kernel in other]


class _Operator:
    """The overloads of an operator, as functions and as methods."""

    def __init__(self, name: str, members: Sequence[tuple[Overload, CFunction]]) -> None:
        self.name, self.members = name, members
        self.as_method = [o.is_method and hasattr(torch.Tensor, name) for o, _ in members]
        self.functions = [m for m in members if m[0].is_function and not name.startswith("__")]
        self.methods = [m for m, method in zip(members, self.as_method, strict=True) if method]
        self.in_place = members[0][0].in_place

    def same(self, other: _Operator) -> bool:
        return (not self.methods or _same(self.methods, other.methods)) and (
            not self.functions or _same(self.functions, other.functions)
        )


def operator_tables(chosen: Mapping[str, CFunction]) -> Tables:
    """C tables of these overloads."""
    operators = {name: _Operator(name, members) for name, members in groups(chosen).items()}
    bases = {  # of in-place operators that differ only in that
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
    """Declarations, and `PT_OP_add` for every operator: NULL if it is not in the build, and the functional one
    if an in-place form has no entry.

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
