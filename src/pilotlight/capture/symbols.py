"""Sizes and numbers that are known only at run time: the length of an input, the number of nonzero elements.

A dimension whose size depends on the data, or is given with the input, is planned at the largest size that torch.export
proves for it; the number of rows that count is a value of the graph. `rows.py` says which operators may read such a
tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import sympy
import torch

from pilotlight.errors import PilotlightError
from pilotlight.graph import Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.pointwise.float import apply

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Symbols:
    """The symbols of one exported program: their largest values, and the values they have in a run."""

    def __init__(self, ranges: Mapping[sympy.Symbol, Any]):
        self._ranges = ranges
        self._values: dict[sympy.Symbol, Value] = {}
        self._largest: dict[sympy.Symbol, int] = {}
        self._made: dict[Any, Value] = {}  # numbers computed before

    def bound(self, node: torch.fx.Node, arguments: Mapping[str, Any]) -> None:
        """Record the largest size of what an operator selects by a mask; torch.export does not always know it."""
        result = node.meta.get("val")
        symbols = [n for n in getattr(result, "shape", ()) if type(n) is not int]
        name = str(node.target).removeprefix("aten.").split(".")[0]
        if len(symbols) != 1 or name not in ("nonzero", "masked_select", "index"):
            return
        symbol = expression_of(symbols[0])
        if not symbol.is_Symbol or symbol in self._values:
            return
        masks = [i for i in arguments.get("indices", ()) if i is not None and i.dtype.name in ("bool", "uint8")]
        chosen = masks[:1] if name == "index" else [v for v in arguments.values() if isinstance(v, Value)]
        if chosen:
            self._largest[symbol] = math.prod(torch.broadcast_shapes(*(v.shape for v in chosen)))

    def define(self, symbol: Any, value: Value) -> None:
        self._values[expression_of(symbol)] = value

    def maximum(self, size: Any, what: str) -> int:
        """The largest value of a size."""
        if isinstance(size, int):
            return size
        expression = expression_of(size)
        largest = expression.subs({s: self._limit(s) for s in expression.free_symbols})
        if not largest.is_Integer or int(largest) >= 2**31:
            raise PilotlightError(
                f"{what} has a dimension that is only known at run time ({size}), and nothing bounds it",
                hint="export with fixed shapes, or bound the size with torch._check(n <= 100) in the model",
                kind="dynamic-shape",
            )
        return int(largest)

    def _limit(self, symbol: sympy.Symbol) -> Any:
        return self._largest.get(symbol, self._ranges[symbol].upper if symbol in self._ranges else sympy.oo)

    def least(self, size: Any) -> int:
        """The smallest value of a size that is one symbol or a number more than it."""
        if isinstance(size, int):
            return size
        expression = expression_of(size)
        found = expression.subs({s: max(0, int(self._ranges[s].lower)) if s in self._ranges else 0
                                 for s in expression.free_symbols})
        return int(found)

    def shape(self, tensor: torch.Tensor, what: str) -> tuple[int, ...]:
        """A shape with every size at its largest."""
        return tuple(self.maximum(size, what) for size in tensor.shape)

    def value(self, b: Builder, number: Any) -> Value:
        """A number that is computed while the model runs."""
        def build(part: sympy.Expr) -> Value | int | float:
            if part in self._values:
                return self._values[part]
            if part.is_Integer:
                return int(part)
            if part.is_Float:
                return float(part)
            names = {sympy.Add: "add", sympy.Mul: "mul"}
            if type(part) not in names:
                raise b.refuse(
                    f"the number {number}, computed while the model runs, is not supported", "compute it with tensors"
                )
            first, *rest = [build(p) for p in part.args]
            for item in rest:
                first = apply(b, names[type(part)], first, item)
            return first

        return self._once(b, expression_of(number), lambda: _as_value(b, build(expression_of(number))))

    def rows(self, b: Builder, size: Any, most: int) -> Value:
        """The numbers of `most` rows, of which `size` count: those after the last of these are its number."""
        def made() -> Value:
            last = self.value(b, expression_of(size) - 1)
            return apply(b, "minimum", b.constant(torch.arange(most)), last)

        return self._once(b, (expression_of(size), most), made)

    def _once(self, b: Builder, what: Any, make: Callable[[], Value]) -> Value:
        key = id(b.graph), what
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def _as_value(b: Builder, number: Value | int | float) -> Value:
    return number if isinstance(number, Value) else b.constant(torch.tensor(number))


def expression_of(number: Any) -> sympy.Expr:
    """A number of PyTorch's, or one that is known, in terms of symbols."""
    return number.node.expr if isinstance(number, SYMBOLIC) else sympy.sympify(number)
