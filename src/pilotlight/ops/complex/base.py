"""Complex tensors while a model is captured, and the rules that lower operators on them.

A complex64 tensor is a float32 value of the graph with a last dimension of 2, real and imaginary parts. No lowering of
real tensors ever sees such a value: capture gives `Complex` only to a rule that is registered here, and refuses an
operator that has none.

    @complex_rule("abs.default")
    def absolute(b: Builder, self: Complex) -> Value: ...

A rule takes the arguments of the operator's schema, complex tensors as `Complex`, real ones as values, and returns
`Complex` for complex results. A real tensor never gets to a parameter that is annotated with `Complex` alone. Shapes in
`b.results` include the last dimension of 2.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pilotlight.graph import FLOAT32, Shape, Value
from pilotlight.graph.builder import Builder

Rule = Callable[..., Any]
RuleFunction = TypeVar("RuleFunction", bound=Rule)


@dataclass(frozen=True, eq=False)
class Complex:
    """A complex tensor: `pair` is its value in the graph."""

    pair: Value

    @property
    def shape(self) -> Shape:
        return self.pair.shape[:-1]


Tensor = Complex | Value
Operand = Complex | Value | complex | float | int | bool

_RULES: dict[str, Rule] = {}
_COMPLEX_ONLY: dict[Rule, list[str]] = {}  # parameters of a rule


def complex_rule(*aten: str) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule for ATen overloads such as "mul.Tensor", where a tensor or a number is complex."""
    def wrap(function: RuleFunction) -> RuleFunction:
        for name in aten:
            if name in _RULES:
                raise ValueError(f"aten.{name} has two rules for complex tensors")
            _RULES[name] = function
        types = inspect.get_annotations(function, eval_str=True)
        _COMPLEX_ONLY[function] = [name for name, kind in types.items() if kind is Complex and name != "return"]
        return function

    return wrap


def rule(aten: str) -> Rule | None:
    return _RULES.get(aten)


def rule_names() -> list[str]:
    return sorted(_RULES)


def lacks_complex(rule: Rule, arguments: Mapping[str, Any]) -> bool:
    """Whether an argument is real where a rule takes a complex tensor."""
    return any(isinstance(arguments.get(name), Value) for name in _COMPLEX_ONLY[rule])


def pair_of(b: Builder, x: Operand) -> Value:
    """A tensor or a number as pairs; the imaginary parts of real ones are 0."""
    if isinstance(x, Complex):
        return x.pair
    if isinstance(x, Value):
        return b.node("to_complex", [b.cast(x, FLOAT32)])
    return b.constant(np.array([complex(x).real, complex(x).imag], np.float32), hint="scalar")


def part(b: Builder, x: Complex, which: int) -> Value:
    """The real (0) or imaginary (1) parts."""
    ranges = (*((0, size, 1) for size in x.shape), (which, which + 1, 1))
    return b.reshape(b.node("slice", [x.pair], ranges=ranges), x.shape)


def joined(b: Builder, real: Value, imaginary: Value) -> Complex:
    """Two real tensors as the parts of a complex one."""
    return Complex(b.node("complex", [b.cast(real, FLOAT32), b.cast(imaginary, FLOAT32)]))
