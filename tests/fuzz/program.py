"""A model as Python text. Statements carry the lines of `__init__` that they need, so that they go together."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

Call = tuple[tuple[Any, ...], dict[str, Any]]  # arguments of one call
HEADER = "from __future__ import annotations\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
_MADE = re.compile(r"([a-z]\w*) = ")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True)
class Statement:
    """Lines of forward; `init` are the lines of __init__ they need, `classes` the modules next to the model."""

    body: str
    init: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Input:
    """`make` is an expression over the generator `g`; `place` is "", the name of a dict or tuple, or "*": a keyword."""

    name: str
    make: str
    place: str = ""


@dataclass(frozen=True)
class Program:
    """One random model."""

    seed: int
    statements: tuple[Statement, ...]
    inputs: tuple[Input, ...]
    result: str
    name: str = "Net"
    mode: str = "float"
    kind: str = "mixed"
    comment: str = ""
    dicts: frozenset[str] = field(default=frozenset())  # names of places that are dicts, the others are tuples

    def signature(self) -> tuple[str, list[str], str]:
        """Parameters of forward, lines that unpack dicts and tuples, and the call that fits them."""
        plain = [i for i in self.inputs if not i.place]
        places = list(dict.fromkeys(i.place for i in self.inputs if i.place not in ("", "*")))
        keywords = [i for i in self.inputs if i.place == "*"]
        unpack, packed = [], []
        for place in places:
            own = [i.name for i in self.inputs if i.place == place]
            if place in self.dicts:
                unpack += [f'{name} = {place}["{name}"]' for name in own]
                packed.append("{" + ", ".join(f'"{name}": {name}' for name in own) + "}")
            else:
                unpack.append(f"{', '.join(own)}{',' if len(own) == 1 else ''} = {place}")
                packed.append(f"({', '.join(own)}{',' if len(own) == 1 else ''})")
        parameters = ["self", *(i.name for i in plain), *places, *(f"{i.name}=None" for i in keywords)]
        args = [*(i.name for i in plain), *packed]
        call = (
            f"({', '.join(args)}{',' if len(args) == 1 else ''}), {{"
            + ", ".join(f'"{i.name}": {i.name}' for i in keywords)
            + "}"
        )
        return ", ".join(parameters), unpack, call

    def used_inputs(self) -> tuple[Input, ...]:
        words = set(_WORD.findall("\n".join([*(s.body for s in self.statements), self.result])))
        return tuple(i for i in self.inputs if i.name in words)

    def text(self) -> str:
        """The Python file of this program."""
        parameters, unpack, call = self.signature()
        classes = list(dict.fromkeys(c for s in self.statements for c in s.classes))
        init = [line for s in self.statements for line in s.init]
        lines = [*unpack, *(line for s in self.statements for line in s.body.splitlines()), f"return {self.result}"]
        note = f"# seed {self.seed}, kind {self.kind}, mode {self.mode}\n"
        note += "".join(f"# {line}\n" for line in self.comment.splitlines())
        made = "".join(f"    {i.name} = {i.make}\n" for i in self.inputs)
        return (
            f"{note}{HEADER}\n\n"
            + "".join(f"{c.strip()}\n\n\n" for c in classes)
            + f"class {self.name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            + "".join(f"        {line}\n" for line in init)
            + f"\n    def forward({parameters}):\n"
            + "".join(f"        {line}\n" for line in lines)
            + (self._second(parameters, unpack) if self.mode == "entries" else "")
            + f"\n\ndef model():\n    torch.manual_seed({self.seed})\n    return {self.name}().eval()\n"
            + f"\n\ndef inputs(call):\n    g = torch.Generator().manual_seed({self.seed % 100_000} + call)\n{made}"
            + f"    return {call}\n"
            + f'\n\nif __name__ == "__main__":\n    from fuzz.check import main\n\n    main(__file__, "{self.mode}")\n'
        )

    def _second(self, parameters: str, unpack: Sequence[str]) -> str:
        """Another method, for a second entry point: half of the statements, and every buffer."""
        half = [line for s in self.statements[: len(self.statements) // 2 + 1] for line in s.body.splitlines()]
        names = [match[1] for line in half if (match := _MADE.match(line))]
        made = [f"{names[-1]} * 1"] if names else []
        result = ", ".join([*made, "*[b * 1 for b in self.buffers()]"])
        return f"\n    def second({parameters}):\n" + "".join(
            f"        {line}\n" for line in [*unpack, *half, f"return [{result}]"]
        )

    def without(self, gone: Sequence[int]) -> Program:
        return replace(self, statements=tuple(s for k, s in enumerate(self.statements) if k not in set(gone)))


@dataclass(frozen=True)
class Loaded:
    """A program that Python has read."""

    model: Callable[[], torch.nn.Module]
    inputs: Callable[[int], Call]


def load(text: str, name: str = "<fuzz>") -> Loaded:
    """Run a program's text; tracebacks show its lines."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "fuzzed"}
    exec(compile(text, name, "exec"), scope)
    return Loaded(scope["model"], scope["inputs"])


def tensors(tree: Any) -> list[torch.Tensor]:
    """The tensors among the leaves of a result or of arguments."""
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
