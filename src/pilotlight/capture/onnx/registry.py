"""ONNX operators by name: each is a function on torch tensors.

A function's positional parameters are the node's inputs, its keywords the attributes; an input that is not given, or
an attribute that is not set, has the default. An input named in `fixed` must be known before the model runs, such as a
shape: it arrives as a Python number or list. One named in `numbers` arrives so where it is known, else as a tensor.
A function that asks for `outputs` is told how many outputs are used; one that asks for `constants`, which inputs are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operator:
    """One operator's function, and what its parameters are."""

    function: Callable[..., Any] | None  # None: its own definition in the standard is used
    inputs: tuple[str, ...] = ()
    variadic: bool = False
    attributes: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    varying: bool = False  # the sizes of its results depend on the data

    def input_name(self, position: int) -> str:
        return self.inputs[min(position, len(self.inputs) - 1)] if self.inputs else ""


OPERATORS: dict[tuple[str, str], Operator] = {}  # by domain and name
MICROSOFT = "com.microsoft"


def operator(
    *names: str, fixed: Sequence[str] = (), numbers: Sequence[str] = (), domain: str = "", varying: bool = False
) -> Callable[[_Function], _Function]:
    """Register a function for operators of these names."""

    def add(function: _Function) -> _Function:
        parameters = inspect.signature(function).parameters.values()
        inputs = tuple(p.name for p in parameters if p.kind != p.KEYWORD_ONLY)
        row = Operator(
            function, inputs, any(p.kind == p.VAR_POSITIONAL for p in parameters),
            frozenset(p.name for p in parameters if p.kind == p.KEYWORD_ONLY), frozenset(fixed),
            frozenset(numbers), varying,
        )
        assert row.fixed | row.numbers <= set(inputs), f"{names} has no such inputs"
        for name in names:
            OPERATORS[domain, name] = row
        return function

    return add


def by_definition(name: str, inputs: Sequence[str], fixed: Sequence[str] = ()) -> None:
    """An operator that is computed as ONNX's own definition says, in other operators."""
    OPERATORS["", name] = Operator(None, tuple(inputs), fixed=frozenset(fixed))


def find(domain: str, name: str) -> Operator | None:
    return OPERATORS.get(("" if domain == "ai.onnx" else domain, name))
