"""Sizes and numbers that are known only at run time, such as the number of nonzero elements.

A dimension whose size depends on the data is planned at the largest size that torch.export proves for it; the number of
rows that count is a value of the graph. An operator may read such a tensor when its first rows do not depend on the
rows after them. PyTorch itself is asked: the operator is run on full tensors and on shortened ones, and the results
have to agree. Reductions over such a dimension first overwrite the rows after them with what does not change it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from pilotlight.errors import PilotlightError
from pilotlight.graph import DType, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Lowering

Sizes = Mapping[sympy.Symbol, int]
SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Symbols:
    """The symbols of one exported program: their largest values, and the values they have in a run."""

    def __init__(self, ranges: Mapping[sympy.Symbol, Any]):
        self._ranges = ranges
        self._values: dict[sympy.Symbol, Value] = {}
        self._largest: dict[sympy.Symbol, int] = {}

    def bound(self, node: torch.fx.Node, arguments: Mapping[str, Any]) -> None:
        """Record the largest size of what an operator selects by a mask; torch.export does not always know it."""
        result = node.meta.get("val")
        symbols = [n for n in getattr(result, "shape", ()) if type(n) is not int]
        name = str(node.target).removeprefix("aten.").split(".")[0]
        if len(symbols) != 1 or name not in ("nonzero", "masked_select", "index"):
            return
        symbol = _expression(symbols[0])
        if not symbol.is_Symbol or symbol in self._values:
            return
        masks = [i for i in arguments.get("indices", ()) if i is not None and i.dtype.name in ("bool", "uint8")]
        chosen = masks[:1] if name == "index" else [v for v in arguments.values() if isinstance(v, Value)]
        if chosen:
            self._largest[symbol] = math.prod(torch.broadcast_shapes(*(v.shape for v in chosen)))

    def define(self, symbol: Any, value: Value) -> None:
        self._values[_expression(symbol)] = value

    def maximum(self, size: Any, what: str) -> int:
        """The largest value of a size."""
        if isinstance(size, int):
            return size
        expression = _expression(size)
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

    def shape(self, tensor: torch.Tensor, what: str) -> tuple[int, ...]:
        """A shape with every size at its largest."""
        return tuple(self.maximum(size, what) for size in tensor.shape)

    def value(self, b: Builder, number: Any) -> Value:
        """A number that is computed while the model runs."""
        from pilotlight.ops.pointwise.float import apply

        def build(part: sympy.Expr) -> Value | int | float:
            if part in self._values:
                return self._values[part]
            if part.is_Integer:
                return int(part)
            if part.is_Float:
                return float(part)
            names = {sympy.Add: "add", sympy.Mul: "mul"}
            if type(part) not in names:
                raise b.refuse(f"the number {number}, computed from data, is not supported", "compute it with tensors")
            first, *rest = [build(p) for p in part.args]
            for item in rest:
                first = apply(b, names[type(part)], first, item)
            return first

        result = build(_expression(number))
        return result if isinstance(result, Value) else b.constant(torch.tensor(result))


def _expression(number: Any) -> sympy.Expr:
    return number.node.expr if isinstance(number, SYMBOLIC) else sympy.sympify(number)


def varies(node: torch.fx.Node) -> bool:
    """Whether a tensor that the node reads has a size that depends on the data."""
    tensors = [n.meta.get("val") for n in node.all_input_nodes]
    return any(not isinstance(size, int) for t in tensors if isinstance(t, torch.Tensor) for size in t.shape)


def keeps_rows_apart(node: torch.fx.Node, symbols: Symbols) -> bool:
    """Whether the first rows of the result depend only on the first rows of the operands."""
    free = {s for n in node.all_input_nodes for s in _free(n.meta.get("val"))}
    largest = {s: symbols.maximum(s, str(node)) for s in free}
    for share in (0.3, 0.7):
        some = {s: max(1, int(m * share)) for s, m in largest.items()}
        cuts = [tuple(slice(n) for n in _sizes(t, some)) for t in _tensors(node.meta.get("val"))]
        try:
            pairs = list(zip(_run(node, largest, largest), _run(node, largest, some), cuts, strict=True))
        except (RuntimeError, IndexError, ValueError):
            return False
        for long, short, cut in pairs:
            head = long[cut]
            if head.shape != short.shape or not torch.allclose(
                head.double(), short.double(), rtol=1e-4, atol=1e-5, equal_nan=True
            ):
                return False
    return True


def _run(node: torch.fx.Node, largest: Sizes, sizes: Sizes) -> list[torch.Tensor]:
    """The operator on random tensors made at the largest sizes and cut to `sizes`."""
    generator = torch.Generator().manual_seed(1)

    def make(item: Any) -> Any:
        if not isinstance(item, torch.fx.Node):
            return item
        val = item.meta["val"]
        if isinstance(val, torch.Tensor):
            numbers = torch.rand(_sizes(val, largest), generator=generator)
            tensor = numbers if val.dtype.is_floating_point else (numbers * 1.99).long()
            return tensor.to(val.dtype)[tuple(slice(n) for n in _sizes(val, sizes))]
        return int(_expression(val).subs(sizes)) if isinstance(val, SYMBOLIC) else val

    args, kwargs = pytree.tree_map(make, (node.args, node.kwargs), is_leaf=lambda x: isinstance(x, torch.fx.Node))
    return _tensors(node.target(*args, **kwargs))  # type: ignore[operator]


def _tensors(val: Any) -> list[torch.Tensor]:
    return [t for t in pytree.tree_leaves(val) if isinstance(t, torch.Tensor)]


def _sizes(tensor: torch.Tensor, values: Sizes) -> tuple[int, ...]:
    return tuple(n if isinstance(n, int) else int(_expression(n).subs(values)) for n in tensor.shape)


def _free(val: Any) -> set[sympy.Symbol]:
    sizes = val.shape if isinstance(val, torch.Tensor) else [val]
    return {s for n in sizes if isinstance(n, SYMBOLIC) for s in _expression(n).free_symbols}


ROW_BY_ROW = ("aten.index_put.default", "aten.masked_scatter.default")  # take as many rows as their mask has
NEUTRAL: dict[str, Callable[[DType], float]] = {
    "sum": lambda dtype: 0, "prod": lambda dtype: 1, "any": lambda dtype: 0, "all": lambda dtype: 1,
    "amax": lambda dtype: _extreme(dtype, "min"), "max": lambda dtype: _extreme(dtype, "min"),
    "amin": lambda dtype: _extreme(dtype, "max"), "min": lambda dtype: _extreme(dtype, "max"),
}


def _extreme(dtype: DType, end: str) -> float:
    if dtype.kind in "fh":
        return float("-inf") if end == "min" else float("inf")
    return end == "max" if dtype.kind == "b" else getattr(torch.iinfo(dtype.torch), end)


def around(symbols: Symbols, node: torch.fx.Node, lowering: Lowering) -> Lowering:
    """A lowering for operands whose sizes depend on the data."""
    if str(node.target) in ROW_BY_ROW or keeps_rows_apart(node, symbols):
        return lowering
    return lambda b, **arguments: _reduced(b, symbols, node, lowering, arguments)


def _reduced(
    b: Builder, symbols: Symbols, node: torch.fx.Node, lowering: Lowering, arguments: dict[str, Any]
) -> Any:
    from pilotlight.ops import base
    from pilotlight.ops.pointwise.float import apply

    name = str(node.target).removeprefix("aten.").split(".")[0]
    x = arguments.get("self", arguments.get("input"))
    source = node.args[0]
    if name not in (*NEUTRAL, "mean") or not isinstance(source, torch.fx.Node) or not isinstance(x, Value):
        raise b.refuse(
            f"operator {node.target} mixes rows whose number is only known at run time",
            "reduce with sum, mean, max, min, any or all, or choose with torch.where instead of a mask",
        )
    sizes = source.meta["val"].shape
    key = "self" if "self" in arguments else "input"
    arguments = {**arguments, key: _filled(b, symbols, x, sizes, NEUTRAL["sum" if name == "mean" else name](x.dtype))}
    if name != "mean":
        return lowering(b, **arguments)
    total = base.lowering("sum.dim_IntList")
    assert total is not None
    dims = arguments.get("dim") or list(range(len(sizes)))
    count = sympy.prod([_expression(sizes[d]) for d in dims])
    summed = total(b, **{key: arguments[key], "dim": dims, "keepdim": arguments.get("keepdim", False),
                         "dtype": arguments.get("dtype")})
    assert isinstance(summed, Value)
    return apply(b, "div", summed, b.cast(symbols.value(b, count), summed.dtype))


def _filled(b: Builder, symbols: Symbols, x: Value, sizes: Sequence[Any], neutral: float) -> Value:
    """A tensor whose unused rows are overwritten with values that do not affect the result."""
    from pilotlight.ops.pointwise.float import apply

    for at, size in enumerate(sizes):
        if not isinstance(size, int):
            rows = torch.arange(x.shape[at]).reshape(-1, *[1] * (len(sizes) - at - 1))
            counts = apply(b, "lt", b.constant(rows), symbols.value(b, size))
            x = apply(b, "where", counts, x, b.scalar(neutral, x.dtype))
    return x
