"""TorchScript graphs → Python functions.

PyTorch has parsed the archive's source already; each of its functions is a graph here. It is written again as Python
with one statement for each node, which calls only what `operators.py` has, so nothing in an archive runs as Python.
The statements carry the lines of the archive's own source: `model.pt:code/__torch__/net.py:12`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from pilotlight.capture.torchscript import branches, operators
from pilotlight.capture.torchscript.objects import ScriptedObject, assign, invoke, load
from pilotlight.errors import PilotlightError

_SERIALIZED = re.compile(r'Serialized\s+File "([^"]+)", line (\d+)|^\s*File "(code/[^"]+)", line (\d+)', re.MULTILINE)
_MADE = ("prim::ListConstruct", "prim::DictConstruct")
_PASSED = ("prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional", "prim::data")


class Functions:
    """The functions and methods of an archive, translated when they are first called."""

    def __init__(self, unit: Any, archive: str):
        self.archive = archive
        self._graphs = {function.qualified_name: function.graph for function in unit.get_functions()}
        self._made: dict[str, Callable[..., Any]] = {}

    def __deepcopy__(self, memo: Any) -> Functions:
        return self

    def __contains__(self, name: str) -> bool:
        return name in self._graphs

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._made:
            self._made[name] = _Translation(self, name).function()
        return self._made[name]

    def graph(self, name: str) -> Any:
        return self._graphs[name]

    def place(self, node: Any) -> str:
        """Where a node comes from in the archive."""
        file, line = _source(node)
        return f"{self.archive}:{file}:{line}" if file else self.archive

    def obstacle(self, choice: Any) -> str:
        """Why both branches of an `if` cannot be run, though one of them is to count: "" if they can."""
        return next((why for block in choice.blocks() for why in self._effects(block, set())), "")

    def _effects(self, block: Any, seen: set[str]) -> Iterator[str]:
        new = {v.debugName() for n in block.nodes() if n.kind() in _MADE for v in n.outputs()}
        for node in block.nodes():
            kind = node.kind()
            if kind == "prim::RaiseException":
                yield "a branch raises an exception"
            elif kind in operators.CHANGES_CONTAINER and node.inputsAt(0).type().kind() != "TensorType" \
                    and node.inputsAt(0).debugName() not in new:
                yield f"a branch changes a list or dictionary ({kind})"
            elif kind == "prim::SetAttr" and f"{_class_name(node.inputsAt(0))}.__init__" in self:
                yield "a branch changes an object"
            elif kind in ("prim::CallMethod", "prim::CallFunction"):
                name = f"{_class_name(node.inputsAt(0))}.{node.s('name')}" if kind == "prim::CallMethod" \
                    else node.inputsAt(0).type().annotation_str
                if name not in seen and name in self:
                    yield from self._effects(self.graph(name), seen | {name})
            for inner in node.blocks():
                yield from self._effects(inner, seen)

    def stored(self) -> set[tuple[str, str]]:
        """The attributes that any function assigns: the class and the name."""
        found = set()
        for graph in self._graphs.values():
            for node in graph.findAllNodes("prim::SetAttr", True):
                found.add((_class_name(node.inputsAt(0)), node.s("name")))
        return found

    def attributes(self) -> dict[str, set[str]]:
        """The attributes that any function uses, by class."""
        found: dict[str, set[str]] = {}
        for graph in self._graphs.values():
            for node in [*graph.findAllNodes("prim::GetAttr", True), *graph.findAllNodes("prim::SetAttr", True)]:
                found.setdefault(_class_name(node.inputsAt(0)), set()).add(node.s("name"))
        return found


def _class_name(value: Any) -> str:
    kind = value.type()
    return str(kind.qualified_name()) if hasattr(kind, "qualified_name") else str(kind)


def _source(node: Any) -> tuple[str, int]:
    """The file in the archive and the line."""
    found = _SERIALIZED.findall(node.sourceRange())
    if not found:
        return "", 0
    first = found[0]
    return first[0] or first[2], int(first[1] or first[3])


class _Translation:
    """One graph as the text of a function, with a source line for each line of the text."""

    def __init__(self, functions: Functions, name: str):
        self.functions, self.name = functions, name
        self.graph = functions.graph(name)
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.number, self.file = 1, ""
        self.bound: dict[str, Any] = {}  # what the text refers to
        self.names: dict[str, str] = {}

    def function(self) -> Callable[..., Any]:
        short = self.name.rpartition(".")[2]
        first = next((_source(n) for n in self.graph.nodes() if _source(n)[0]), ("", 1))
        self.file, self.number = first
        arguments = [self.local(v) for v in self.graph.inputs()]
        self.line(0, f"def {short}({', '.join(arguments)}):")
        self.block(1, self.graph)
        results = [self.local(v) for v in self.graph.outputs()]
        self.line(1, f"return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ',)'}")
        tree = ast.parse("\n".join(self.lines))
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = self.numbers[node.lineno - 1]  # type: ignore[attr-defined]
                node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        outer = compile(tree, f"{self.functions.archive}:{self.file or 'code'}", "exec")
        (code,) = [c for c in outer.co_consts if isinstance(c, CodeType)]
        return FunctionType(code, {"__builtins__": {}, **self.bound})

    def line(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)
        self.numbers.append(self.number)

    def local(self, value: Any) -> str:
        name = value.debugName()
        if name not in self.names:
            self.names[name] = f"v{len(self.names)}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}"
        return self.names[name]

    def bind(self, thing: Any, hint: str) -> str:
        """A name for something that is not part of the text."""
        for name, known in self.bound.items():
            if known is thing:
                return name
        name = f"{hint}{len(self.bound)}"
        self.bound[name] = thing
        return name

    def block(self, depth: int, block: Any) -> None:
        for node in block.nodes():
            file, number = _source(node)
            if file == self.file:
                self.number = number
            self.node(depth, node)

    def node(self, depth: int, node: Any) -> None:
        kind = node.kind()
        if kind == "prim::If":
            self.branches(depth, node)
        elif kind == "prim::Loop":
            self.loop(depth, node)
        else:
            outputs = [self.local(v) for v in node.outputs()]
            value = self.expression(node)
            several = kind in ("prim::TupleUnpack", "prim::ListUnpack") or len(outputs) > 1
            target = "".join(f"{o}, " for o in outputs) if several else "".join(outputs)
            self.line(depth, f"{target.strip()} = {value}" if outputs else value)

    def branches(self, depth: int, node: Any) -> None:
        names = []
        for block in node.blocks():
            name = f"branch{len(self.lines)}"
            names.append(name)
            self.line(depth, f"def {name}():")
            self.block(depth + 1, block)
            self.line(depth + 1, f"return ({''.join(self.local(v) + ', ' for v in block.outputs())})")
        self.number = _source(node)[1] or self.number
        choose = self.bind(branches.choose, "choose")
        targets = "".join(f"{self.local(v)}, " for v in node.outputs())
        call = f"{choose}({self.local(node.inputsAt(0))}, {', '.join(names)}, {self.functions.obstacle(node)!r})"
        self.line(depth, f"{targets.strip()} = {call}" if targets else call)

    def loop(self, depth: int, node: Any) -> None:
        (body,) = node.blocks()
        limit, go_on, *carried = [self.local(v) for v in node.inputs()]
        counter, *inside = [self.local(v) for v in body.inputs()]
        again, *results = [self.local(v) for v in body.outputs()]
        condition, trip = f"go{len(self.lines)}", f"trip{len(self.lines)}"
        test = self.bind(branches.decided, "decided")
        self.line(depth, f"{''.join(f'{i}, ' for i in (trip, condition, *inside)).strip()} = "
                         f"0, {go_on}, {', '.join(carried)}")
        self.line(depth, f"while {trip} < {limit} and {test}({condition}):")
        self.line(depth + 1, f"{counter} = {trip}")
        self.block(depth + 1, body)
        self.line(depth + 1, f"{''.join(f'{i}, ' for i in (trip, condition, *inside)).strip()} = "
                             f"{trip} + 1, {again}, {', '.join(results)}")
        for output, last in zip(node.outputs(), inside, strict=True):
            self.line(depth, f"{self.local(output)} = {last}")

    def expression(self, node: Any) -> str:
        kind, given = node.kind(), [self.local(v) for v in node.inputs()]
        if kind == "prim::Constant":
            return self.constant(node)
        if kind in _PASSED:
            return given[0]
        if kind in ("prim::TupleConstruct", "prim::ListConstruct"):
            inner = "".join(f"{g}, " for g in given)
            return f"({inner})" if kind == "prim::TupleConstruct" else f"[{inner}]"
        if kind == "prim::DictConstruct":
            pairs = zip(given[::2], given[1::2], strict=True)
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        if kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            return given[0]
        if kind == "prim::TupleIndex":
            return f"{given[0]}[{given[1]}]"
        if kind == "prim::Uninitialized":
            return "None"
        if kind in ("prim::GetAttr", "prim::SetAttr"):
            verb = self.bind(load, "load") if kind == "prim::GetAttr" else self.bind(assign, "assign")
            return f"{verb}({', '.join([given[0], repr(node.s('name')), *given[1:]])})"
        if kind in ("prim::CallMethod", "prim::Enter", "prim::Exit"):
            name = {"prim::Enter": "__enter__", "prim::Exit": "__exit__"}.get(kind) or node.s("name")
            rest = [] if kind == "prim::Exit" else given[1:]
            return f"{self.bind(invoke, 'invoke')}({', '.join([given[0], repr(name), *rest])})"
        if kind == "prim::CallFunction":
            return f"{given[0]}({', '.join(given[1:])})"
        if kind == "prim::CreateObject":
            made = self.bind(ScriptedObject, "made")
            return f"{made}({_class_name(node.output())!r}, {self.bind(self.functions, 'functions')})"
        if kind == "prim::isinstance":
            types = self.bind(tuple(t.str() for t in node.tys("types")), "types")
            return f"{self.bind(operators.is_instance, 'is_instance')}({given[0]}, {types})"
        operator = operators.of_node(node)
        if operator is None:
            raise PilotlightError(
                f"TorchScript's {kind} is not supported", where=self.functions.place(node),
                hint="write that part in another way and save the model again, or give its Python: file.py:name",
                kind="unsupported",
            )
        return f"{self.bind(operator, 'op')}({', '.join(given)})"

    def constant(self, node: Any) -> str:
        kind = node.output().type().kind()
        if kind == "FunctionType":
            return self.bind(self.functions[node.output().type().annotation_str], "function")
        value = node.output().toIValue()
        if value is None or isinstance(value, bool | int | str):
            return repr(value)
        return self.bind(value, "constant")
