"""Operators that are written in Python: each function of `python/torch/operators/` is a unit of the packed stream.

A function with the name of an operator has that operator's parameters, `self` being called `input`. Where users find
it, its in-place form, out= and the types of its arguments follow from PyTorch's schemas. One without a schema in
PyTorch is a function of `torch`. All files share one namespace, in which helpers' names begin with an underscore.
"""

from __future__ import annotations

import ast
import symtable
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType

import torch

from pilotlight.micropython.operators import kernels
from pilotlight.micropython.operators.aliases import ALIASES
from pilotlight.micropython.schemas import Overload, argument_kind, is_variadic, overloads

FOR_C = "_for_"  # prefix of what an operator in C leaves to Python
_MANY = 6  # a helper that this many units need goes to the end
FOLDER = Path(__file__).parent / "python" / "torch" / "operators"
_CODES = ("TENSOR", "SCALAR", "INT", "FLOAT", "BOOL", "INTS", "TENSORS", "FLOATS", "DTYPE", "STR", "DEVICE", "IGNORED")
# Where a result of out= or in place may lie: over the arguments anyhow (v), or over all but the first (w); it must not
# even be one of the arguments (y), or not one after the first (x).
_PLACES = {
    "v": (
        "diag", "triu", "tril", "masked_scatter", "logsumexp", "frobenius_norm", "norm", "nanmean", "nansum", "aminmax",
        "median", "nanmedian", "mode", "kthvalue", "quantile", "nanquantile", "log_sigmoid", "linalg_norm",
        "linalg_matrix_norm", "vdot", "linalg_inv", "inverse", "linalg_cholesky", "cholesky",
        "linalg_multi_dot", "histc",
    ),
    "w": ("ldexp",),
    "x": ("index_copy", "index_reduce", "scatter_reduce", "put"),
    "y": ("take_along_dim", "cross", "linalg_cross"),
}


@dataclass(frozen=True)
class PackedUnit:
    """A function, class or constant, or another name of an operator."""

    name: str
    source: str
    needs: tuple[str, ...]  # other units
    words: frozenset[str]  # names in it, of operators and of others
    head: str  # for the wrapper: forms, and the types of arguments; empty for helpers

    @property
    def in_place(self) -> bool:
        """Whether its form in place is made from it."""
        return "i" in self.head.partition(":")[0].partition("=")[0]


@cache
def units() -> dict[str, PackedUnit]:
    """All units; each comes before those that it needs."""
    nodes: dict[str, ast.stmt] = {}
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                name = _defined(node)
                assert name not in nodes, f"{path}: {name} is there twice"
                nodes[name] = node
    found = {name: _unit(name, node, nodes.keys()) for name, node in nodes.items()}
    found |= {name: _alias(name, target, nodes.keys()) for name, target in ALIASES.items()}
    in_c = {name.partition(".")[0] for name in kernels()}
    assert in_c.isdisjoint(found), f"in C and in Python: {sorted(in_c.intersection(found))}"
    return _in_order(found)


def operators() -> list[str]:
    """The names that users call; in-place forms are not listed separately."""
    return [name for name, unit in units().items() if unit.head and not name.startswith(FOR_C)]


def everything() -> list[str]:
    """All operators, and the rare cases of those in C."""
    return [name for name, unit in units().items() if unit.head]


@cache
def of_file(name: str) -> tuple[str, ...]:
    """The operators of a file, their other names, and rare cases of those in C."""
    body = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")).body
    own = {_defined(node) for node in body if not isinstance(node, (ast.Import, ast.ImportFrom))}
    own |= {name for name, target in ALIASES.items() if target in own}
    return tuple(name for name in everything() if name in own)


def covered() -> list[str]:
    """Every overload, in C or in Python."""
    names = {name + suffix for name in operators() for suffix in ("", "_")}
    return [*kernels(), *(overload.name for overload in overloads().values() if overload.operator in names)]


def with_needed(names: Iterable[str]) -> list[PackedUnit]:
    """The units of some operators, and what they need."""
    wanted: set[str] = set()
    todo = [name for name in names if name in units()]
    while todo:
        name = todo.pop()
        if name in units() and name not in wanted:
            wanted.add(name)
            todo += [*units()[name].needs, *(word for word in units()[name].words if word in units())]
    return [unit for name, unit in units().items() if name in wanted]


def _defined(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    assert isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name), ast.unparse(node)
    return node.targets[0].id


def _unit(name: str, node: ast.stmt, known: Collection[str]) -> PackedUnit:
    names = _globals(symtable.symtable(ast.unparse(node), name, "exec"))
    words = names | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    needs = tuple(sorted(names.intersection(known) - {name}))
    helper = name[0] == "_" and not schemas(name) and not name.startswith(FOR_C)
    head = "" if helper else f"{_forms(name, known, node)}{_types(name, node)}"
    return PackedUnit(name, ast.unparse(node), needs, frozenset(words), head)


def _alias(name: str, target: str, known: Collection[str]) -> PackedUnit:
    needs = (target,) if target in known else ()  # which is loaded with it
    return PackedUnit(name, "", needs, frozenset((target,)), f"{_forms(name, ALIASES, None)}={target}")


def _in_order(found: dict[str, PackedUnit]) -> dict[str, PackedUnit]:
    """Each before those that it needs, which follow soon; helpers that many units need come together at the end."""
    users = Counter(need for unit in found.values() for need in unit.needs)
    common = _closure([name for name, count in users.items() if count >= _MANY and not found[name].head], found)
    ready = [name for name in found if not users[name]]
    placed: list[str] = []
    while ready:
        name = ready.pop()
        placed.append(name)
        for need in found[name].needs:
            users[need] -= 1
            ready += [] if users[need] else [need]
    assert len(placed) == len(found), f"units that need each other: {sorted(found.keys() - set(placed))}"
    return {name: found[name] for name in sorted(placed, key=lambda name: name in common)}


def _closure(names: Iterable[str], found: Mapping[str, PackedUnit]) -> set[str]:
    """Units with all that they need."""
    seen: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += found[name].needs
    return seen


def _globals(table: symtable.SymbolTable) -> set[str]:
    """The names that a unit uses from outside its functions."""
    found = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global() or table.get_type() == "module"}
    return found.union(*(_globals(inner) for inner in table.get_children()))


def schemas(operator: str) -> list[Overload]:
    return [overload for overload in overloads().values() if overload.operator == operator]


def _forms(name: str, units: Collection[str], node: ast.stmt | None) -> str:
    """f: of torch, n: of its parts, m: a method, i: in place, made from it; where results may lie; how many out= takes.

    The wrapper knows nothing about a function that has a parameter `out`.
    """
    known = schemas(name)
    in_place = f"{name}_" not in units and any(overload.in_place for overload in schemas(f"{name}_"))
    if not known:
        return "f0"
    function = any(overload.is_function for overload in known)
    letters = (("f" if hasattr(torch, name) else "n") if function else "") + (
        "m" if any(o.is_method for o in known) and hasattr(torch.Tensor, name) else ""
    ) + ("i" if in_place else "")
    letters += next((letter for letter, names in _PLACES.items() if name in names), "")
    own = isinstance(node, ast.FunctionDef) and "out" in [a.arg for a in node.args.args + node.args.kwonlyargs]
    return f"{letters}{0 if own else max(overload.outs for overload in known)}"


def _types(name: str, node: ast.stmt) -> str:
    """`:input=a,dim=c?`: a letter for each type that a schema allows, upper case if one number may stand for a list."""
    known = schemas(name)
    if not known or not isinstance(node, ast.FunctionDef):
        return ""
    given = node.args
    if not given.vararg and not any(_agrees(given, overload) for overload in known):
        assert isinstance(getattr(torch, name, None), FunctionType), \
            f"{name}: the parameters are not the schema's:\n" + "\n".join(str(o.schema) for o in known)
        return ""  # PyTorch's own Python function is not the schema's either
    items = []
    for argument in [*given.args, *given.kwonlyargs]:
        letters: dict[str, None] = {}
        for overload in known:
            for parameter in overload.schema.arguments.flat_non_out:
                if _public(parameter.name) == argument.arg:
                    letters |= dict.fromkeys(_letters(overload, parameter.name))
        if letters:
            items.append(f"{argument.arg}={''.join(sorted(letters))}")
    return f":{','.join(items)}"


def _letters(overload: Overload, name: str) -> str:
    """A star comes before types whose items may be given one by one."""
    arguments = overload.schema.arguments
    code, optional, length = argument_kind(next(a.type for a in arguments.flat_non_out if a.name == name))
    letter = chr(ord("a") + _CODES.index(code))
    positional = [a.name for a in arguments.flat_non_out if a not in arguments.flat_kwarg_only]
    alone = (code == "INTS" and positional == ["self", name]) or (code == "TENSORS" and is_variadic(overload.operator))
    return ("*" if alone else "") + (letter.upper() if length else letter) + ("?" if optional else "")


def _public(name: str) -> str:
    return "input" if name == "self" else name


def _agrees(given: ast.arguments, overload: Overload) -> bool:
    arguments = overload.schema.arguments
    keyword = {_public(a.name) for a in arguments.flat_kwarg_only}
    names = [_public(a.name) for a in arguments.flat_non_out]
    wanted = [name for name in names if name not in keyword]
    return [a.arg for a in given.args] == wanted and {a.arg for a in given.kwonlyargs} <= keyword | {"out"}
