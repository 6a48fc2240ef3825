"""The operators of TensorFlow Lite that are read: one short function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pilotlight.capture.tflite.site import Site
from pilotlight.graph import Value

Results = Value | Sequence[Value] | None
Rule = Callable[[Site], Results]
RuleFunction = TypeVar("RuleFunction", bound=Rule)


@dataclass(frozen=True)
class OperatorRule:
    """How an operator becomes nodes, and which table of the schema has its options."""

    function: Rule
    options: str | None


_RULES: dict[str, OperatorRule] = {}


def operator(*names: str, options: str | None = None) -> Callable[[RuleFunction], RuleFunction]:
    """Register a function that writes an operator's nodes and returns its results."""

    def wrap(function: RuleFunction) -> RuleFunction:
        for name in names:
            if name in _RULES:
                raise ValueError(f"{name} is registered twice")
            _RULES[name] = OperatorRule(function, options)
        return function

    return wrap


def rule(name: str) -> OperatorRule | None:
    return _RULES.get(name)


def known_operators() -> list[str]:
    return sorted(_RULES)
