"""Constant tables as C, every number with the name of its member."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from pilotlight.codegen.step import Table, wrap

_STRUCT = re.compile(r"typedef struct \{([^{}]*)\} (\w+);")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r"\{|\}|,|[^{},]+")

Tree: TypeAlias = "str | list[Tree]"


@dataclass(frozen=True)
class Member:
    ctype: str
    name: str


def structs(kernels: str) -> dict[str, list[Member]]:
    """The members of every struct that the text of the kernels defines."""
    found = {}
    for body, name in _STRUCT.findall(kernels):
        members = []
        for declaration in _COMMENT.sub("", body).split(";"):
            ctype, _, names = declaration.strip().partition(" ")
            members += [Member(ctype, n.strip().lstrip("*")) for n in names.split(",") if n.strip()]
        found[name] = members
    return found


def render(table: Table, known: dict[str, list[Member]]) -> str:
    """`static const T name = {.member = number, ...};`, broken into lines."""
    tree = _parse(table.initializer)
    return wrap(f"static const {table.ctype} {table.name} = {_named(tree, table.ctype, known)};", "    ")


def _parse(text: str) -> Tree:
    """Nested braces as nested lists."""
    stack: list[list[Tree]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "{":
            stack.append([])
        elif token == "}":
            done = stack.pop()
            stack[-1].append(done)
        elif token != "," and token.strip():
            stack[-1].append(token.strip())
    return stack[0][0]


def _named(tree: Tree, ctype: str, known: dict[str, list[Member]]) -> str:
    if isinstance(tree, str):
        return tree
    members = known.get(ctype)
    if members is None or len(members) < len(tree) or any(isinstance(t, str) and t.startswith(".") for t in tree):
        return "{" + ", ".join(_given(tree, {m.name: m.ctype for m in members or []}, known)) + "}"
    pairs = zip(members, tree, strict=False)
    return "{" + ", ".join(f".{m.name} = {_named(t, m.ctype, known)}" for m, t in pairs) + "}"


def _given(tree: list[Tree], ctypes: dict[str, str], known: dict[str, list[Member]]) -> list[str]:
    """Items as they were written; `.member =` takes the braces behind it along."""
    items: list[str] = []
    for item in tree:
        if items and items[-1].endswith("="):
            items[-1] += f" {_named(item, ctypes.get(items[-1].strip('. ='), ''), known)}"
        else:
            items.append(_named(item, "", known))
    return items
