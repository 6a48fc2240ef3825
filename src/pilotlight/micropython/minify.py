"""The same Python program in fewer bytes: what is compressed and compiled on the device is first made small here.

Local variables become letters; comments, docstrings, annotations, asserts and spaces go. Names that others may use
stay: those of modules and classes, attributes, and parameters that a caller may name.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterator

_Function = (ast.FunctionDef, ast.Lambda)
_LETTERS = "etnraisodlcpumfhgbxyvwkzjq"  # those that Python's words have most often, as they have short codes
_STRING = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_CALLED_BY_NAME = ("__init__", "__call__", "__new__")


def keywords(source: str) -> frozenset[str]:
    """Names of arguments that are given by name."""
    return frozenset(node.arg for node in ast.walk(ast.parse(source)) if isinstance(node, ast.keyword) and node.arg)


def minify(source: str, elsewhere: frozenset[str] = frozenset()) -> str:
    """A line without a margin begins a statement of the module or is a decorator of the next.

    `elsewhere`: names that other files call functions of this one with.
    """
    tree = ast.parse(source)
    named = keywords(source) | elsewhere
    tables = {(t.get_name(), t.get_lineno()): t for t in _tables(symtable.symtable(source, "", "exec"))}
    for function in _functions(tree.body):
        first = function.decorator_list[0].lineno if function.decorator_list else function.lineno
        _rename(function, tables.get((function.name, function.lineno)) or tables[function.name, first], named)
    for node in ast.walk(tree):
        _strip(node)
    return _joined([line for line in ast.unparse(tree).splitlines() if line])


# ---- names

def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def _functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Functions of a module and of its classes; what is inside of a function belongs to it."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body)


def _rename(function: ast.FunctionDef, table: symtable.SymbolTable, named: frozenset[str]) -> None:
    """Give letters to what is local, in the order of the text."""
    local = {s.get_name() for t in _tables(table) for s in t.get_symbols() if s.is_local() or s.is_free()}
    fixed = {s.get_name() for t in _tables(table) for s in t.get_symbols() if s.is_global() or s.is_imported()}
    inside = list(ast.walk(function))
    for node in inside:
        if isinstance(node, _Function):
            fixed |= _parameters_to_keep(node, named)
        elif isinstance(node, ast.ClassDef):
            fixed |= {node.name, *_attributes(node)}
    used = [name for node in sorted(inside, key=_place) for name in _names(node)]
    renamed = dict.fromkeys(name for name in used if name in local - fixed)
    free = (letter for letter in _LETTERS if letter in renamed or letter not in fixed.union(used))
    letters = {name: next(free, name) for name in renamed}
    for node in inside:
        if isinstance(node, ast.Name):
            node.id = letters.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = letters.get(node.arg, node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node is not function:
            node.name = letters.get(node.name or "", node.name)
        elif isinstance(node, ast.Nonlocal):
            node.names = [letters.get(name, name) for name in node.names]


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.name] if isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node.name else []


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    """Names of a class, which are attributes."""
    for inner in node.body:
        yield from (name for part in ast.walk(inner) for name in _names(part))


def _parameters_to_keep(function: ast.FunctionDef | ast.Lambda, named: frozenset[str]) -> set[str]:
    """Those that a caller may name: of a private function, those with a default or named in a call of this file."""
    arguments = function.args
    plain = arguments.posonlyargs + arguments.args
    name = "_" if isinstance(function, ast.Lambda) else function.name
    if name[0] != "_" or name in _CALLED_BY_NAME:
        return {a.arg for a in plain + arguments.kwonlyargs if a.arg not in ("self", "cls")}
    optional = plain[len(plain) - len(arguments.defaults) :] + arguments.kwonlyargs
    return {a.arg for a in optional} | {a.arg for a in plain if a.arg in named}


# ---- text

def _strip(node: ast.AST) -> None:
    """Take out what has no effect on the device."""
    if isinstance(node, ast.arg):
        node.annotation = None
    elif isinstance(node, ast.FunctionDef):
        node.returns = None
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is None:
        node.value = None
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        left = [part for part in node.body if not _is_idle(part)]
        node.body = left if left or isinstance(node, ast.Module) else [ast.Pass()]


def _is_idle(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, (ast.Assert, ast.Pass)) or (isinstance(node, ast.AnnAssign) and node.value is None)


def _joined(lines: list[str]) -> str:
    """A block of one simple statement shares the line of its header; a margin is one space a level."""
    made: list[tuple[int, str, bool]] = []  # depth, text, is it simple
    for line in reversed(lines):
        text = line.lstrip()
        depth = (len(line) - len(text)) // 4
        text = _compact(text)
        deeper = [k for k, (inner, _, _) in enumerate(reversed(made)) if inner <= depth]
        block = len(made) if not deeper else deeper[0]
        if block:
            if block == 1 and made[-1][2]:
                text += made.pop()[1]
            made.append((depth, text, False))
        else:
            made.append((depth, text, text[0] != "@"))
    return "".join(" " * depth + text + "\n" for depth, text, _ in reversed(made))


def _compact(text: str) -> str:
    """A line without spaces and parentheses that nothing needs."""
    head, sign, _ = text.partition(" = ")
    if text.startswith("return "):
        text = "return " + _open(text[7:])
    elif sign and re.fullmatch(r"[\w.,() ]+", head):
        text = " = ".join(_open(part) for part in text.split(" = "))
    return "".join(part if k % 2 else _dense(part) for k, part in enumerate(_STRING.split(text)))


def _dense(code: str) -> str:
    code = re.sub(r"(?<![\w.]) +| +(?![\w.])", "", code)
    code = re.sub(r"\b0(\.\d)", r"\1", re.sub(r"\b(\d+\.)0\b", r"\1", code))
    return re.sub(r"e-0+(?=\d)", "e-", code)


def _open(text: str) -> str:
    """A tuple without its parentheses."""
    depth, commas = 0, 0
    for k, c in enumerate(_STRING.sub(lambda found: "x" * len(found[0]), text)):
        depth += (c in "([{") - (c in ")]}")
        commas += c == "," and depth == 1
        if depth == 0 and k + 1 < len(text):
            return text
    tuple_ = text[0] == "(" and depth == 0 and commas and not re.search(r"[(,] ?\*", text)
    return text[1:-1] if tuple_ else text
