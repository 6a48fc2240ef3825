"""Operators on tensors with rows that do not count: those after a size that is known only at run time.

An operator may read such a tensor when its first rows do not depend on the rows after them. PyTorch itself is asked:
the operator is run on full tensors and on shortened ones, and the results have to agree, whatever is in the rows after
them. Others need help: reductions first overwrite these rows with what does not change the result, rows counted from
the end are taken by a computed number, and what writes rows by number writes the last one that counts again. Anything
else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from pilotlight.capture.symbols import SYMBOLIC, Symbols, expression_of
from pilotlight.graph import INT64, DType, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops import base
from pilotlight.ops.base import Lowering, axis
from pilotlight.ops.index.float import take
from pilotlight.ops.pointwise.float import apply

Sizes = Mapping[sympy.Symbol, int]
SHARES = (0.0, 0.3, 0.7)  # of the rows, that are kept
TAILS = ("random", "high", "low", "few")  # what is in the rows after them


def varies(node: torch.fx.Node) -> bool:
    """Whether the node reads a tensor with a size, or takes a size, that is known only at run time."""
    return bool(_read_symbols(node))


def _read_symbols(node: torch.fx.Node) -> set[sympy.Symbol]:
    """The symbols in the shapes of a node's operands and in the sizes that it takes."""
    found: set[sympy.Symbol] = set()
    for kind, item in _given(node):
        for part in pytree.tree_leaves(item, is_leaf=lambda x: isinstance(x, torch.fx.Node)):
            val = part.meta.get("val") if isinstance(part, torch.fx.Node) else None
            if isinstance(val, torch.Tensor) or not is_value(node, kind):
                found |= _free(val)
    return found


def _given(node: torch.fx.Node) -> list[tuple[str, Any]]:
    """The kind of each argument, where the operator has a schema, and the argument."""
    schema = getattr(node.target, "_schema", None)
    kinds = {a.name: str(a.type) for a in schema.arguments} if schema else {}
    names = [*kinds, *[""] * len(node.args)]
    return [(kinds.get(name, ""), item) for name, item in [*zip(names, node.args, strict=False), *node.kwargs.items()]]


def is_value(node: torch.fx.Node, kind: str) -> bool:
    """Whether a number that the node takes for an argument of this kind is computed while the model runs; others are
    sizes, which are taken at their largest."""
    return kind in ("Tensor", "number", "Scalar") and _name(node) != "arange"


def around(symbols: Symbols, node: torch.fx.Node, lowering: Lowering) -> Lowering:
    """A lowering for operands whose sizes are known only at run time."""
    name = _name(node)
    inside = _indexed_axes(node)
    if inside:
        return lambda b, **arguments: _counted(b, symbols, node, lowering, arguments, inside)
    if name in ("index_put", "masked_scatter") and not _indices_vary(node) and not _reads(node, 0):
        return lowering  # takes as many rows as its mask has
    if name in WRITES:
        return lambda b, **arguments: _written(b, symbols, node, lowering, arguments)
    if not (name in ("take", "put") and _reads(node, 0)) and keeps_rows_apart(node, symbols):
        return lowering
    if name in ("slice", "select"):
        return lambda b, **arguments: _taken(b, symbols, node, arguments)
    return lambda b, **arguments: _reduced(b, symbols, node, lowering, arguments)


# ---- asking PyTorch ----------------------------------------------------------------------------------------


def keeps_rows_apart(node: torch.fx.Node, symbols: Symbols) -> bool:
    """Whether the first rows of the result depend only on the first rows of the operands."""
    largest = {s: symbols.maximum(s, str(node)) for s in _read_symbols(node)}
    for share in SHARES:
        some = {s: max(1, symbols.least(s), int(m * share)) for s, m in largest.items()}
        cuts = [tuple(slice(n) for n in _sizes(t, some)) for t in _tensors(node.meta.get("val"))]
        for tail in TAILS:
            try:
                operands = _Operands(node, largest, some, tail)
                pairs = list(zip(operands.run(largest), operands.run(some), cuts, strict=True))
            except Exception:  # whatever PyTorch raises for operands that no model would give
                return False
            if not all(_equal(long[cut], short) for long, short, cut in pairs):
                return False
    return True


def _equal(head: torch.Tensor, short: torch.Tensor) -> bool:
    wide = torch.complex128 if head.is_complex() else torch.float64
    return head.shape == short.shape and torch.allclose(
        head.to(wide), short.to(wide), rtol=1e-4, atol=1e-5, equal_nan=True
    )


class _Operands:
    """Tensors for a node, made at the largest sizes; the rows after `some` hold what `tail` says."""

    def __init__(self, node: torch.fx.Node, largest: Sizes, some: Sizes, tail: str):
        self.node, self.largest, self.some, self.tail = node, largest, some, tail
        self.generator = torch.Generator().manual_seed(1)
        self.tensors = {n: self._tensor(n.meta["val"]) for n in node.all_input_nodes
                        if isinstance(n.meta.get("val"), torch.Tensor)}

    def run(self, sizes: Sizes) -> list[torch.Tensor]:
        """The operator on the tensors cut to `sizes`."""
        def convert(item: Any, kind: str) -> Any:
            if isinstance(item, list | tuple):
                return [convert(i, kind) for i in item]
            if not isinstance(item, torch.fx.Node):
                return item
            val = item.meta["val"]
            if isinstance(val, torch.Tensor):
                return self.tensors[item][tuple(slice(n) for n in _sizes(val, sizes))]
            if not isinstance(val, SYMBOLIC):
                return val
            number = expression_of(val).subs(self.largest if is_value(self.node, kind) else sizes)
            number = number.subs(dict.fromkeys(number.free_symbols, 3))  # it is not the size of anything here
            return float(number) if isinstance(val, torch.SymFloat) else int(number)

        given = [convert(item, kind) for kind, item in _given(self.node)]
        count = len(self.node.args)
        kwargs = dict(zip(self.node.kwargs, given[count:], strict=True))
        return _tensors(self.node.target(*given[:count], **kwargs))  # type: ignore[operator]

    def _tensor(self, val: torch.Tensor) -> torch.Tensor:
        numbers = torch.rand(_sizes(val, self.largest), generator=self.generator)
        head = tuple(slice(n) for n in _sizes(val, self.some))
        if not (val.dtype.is_floating_point or val.dtype.is_complex):  # may be the numbers of rows: 0 and 1
            numbers = (numbers * 1.99).floor()
            if self.tail in ("high", "low") and _free(val):
                numbers.fill_(self.tail == "high")
                numbers[head] = self.tail == "low"
        elif self.tail == "few":  # numbers that are equal to each other, but not to those of the tail
            numbers = (numbers * (1.99 if _free(val) else 2.99)).floor()
            numbers = _with_tail(numbers, head, 2.0)
        elif self.tail != "random":
            numbers = _with_tail(numbers, head, 50.0 if self.tail == "high" else -50.0)
        return numbers.to(val.dtype)


def _with_tail(numbers: torch.Tensor, head: tuple[slice, ...], value: float) -> torch.Tensor:
    """With another number after the first rows; as it is if all rows count."""
    filled = torch.full_like(numbers, value)
    filled[head] = numbers[head]
    return filled


def _tensors(val: Any) -> list[torch.Tensor]:
    return [t for t in pytree.tree_leaves(val) if isinstance(t, torch.Tensor)]


def _sizes(tensor: torch.Tensor, values: Sizes) -> tuple[int, ...]:
    return tuple(n if isinstance(n, int) else int(expression_of(n).subs(values)) for n in tensor.shape)


def _free(val: Any) -> set[sympy.Symbol]:
    sizes = val.shape if isinstance(val, torch.Tensor) else [val]
    return {s for n in sizes if isinstance(n, SYMBOLIC) for s in expression_of(n).free_symbols}


def _name(node: torch.fx.Node) -> str:
    return str(node.target).removeprefix("aten.").split(".")[0]


# ---- reductions --------------------------------------------------------------------------------------------

NEUTRAL: dict[str, Callable[[DType], float]] = {
    "sum": lambda dtype: 0, "prod": lambda dtype: 1, "any": lambda dtype: 0, "all": lambda dtype: 1,
    "amax": lambda dtype: _extreme(dtype, "min"), "max": lambda dtype: _extreme(dtype, "min"),
    "amin": lambda dtype: _extreme(dtype, "max"), "min": lambda dtype: _extreme(dtype, "max"),
}


def _extreme(dtype: DType, end: str) -> float:
    if dtype.kind in "fh":
        return float("-inf") if end == "min" else float("inf")
    return end == "max" if dtype.kind == "b" else getattr(torch.iinfo(dtype.torch), end)


def _reduced(
    b: Builder, symbols: Symbols, node: torch.fx.Node, lowering: Lowering, arguments: dict[str, Any]
) -> Any:
    name = _name(node)
    x = arguments.get("self", arguments.get("input"))
    source = node.args[0] if node.args else None
    if name not in (*NEUTRAL, "mean") or not isinstance(source, torch.fx.Node) or not isinstance(x, Value):
        raise _mixes(b, node)
    sizes = source.meta["val"].shape
    key = "self" if "self" in arguments else "input"
    arguments = {**arguments, key: _filled(b, symbols, x, sizes, NEUTRAL["sum" if name == "mean" else name](x.dtype))}
    if name != "mean":
        return lowering(b, **arguments)
    total = base.lowering("sum.dim_IntList")
    assert total is not None
    dims = arguments.get("dim") or list(range(len(sizes)))
    count = sympy.prod([expression_of(sizes[d]) for d in dims])
    summed = total(b, **{key: arguments[key], "dim": dims, "keepdim": arguments.get("keepdim", False),
                         "dtype": arguments.get("dtype")})
    assert isinstance(summed, Value)
    return apply(b, "div", summed, b.cast(symbols.value(b, count), summed.dtype))


def _mixes(b: Builder, node: torch.fx.Node) -> Exception:
    return b.refuse(
        f"operator {node.target} mixes rows whose number is only known at run time",
        "reduce with sum, mean, max, min, any or all, or choose with torch.where instead of a mask",
    )


def _filled(b: Builder, symbols: Symbols, x: Value, sizes: Sequence[Any], neutral: float) -> Value:
    """A tensor whose unused rows are overwritten with values that do not affect the result."""
    for at, size in enumerate(sizes):
        if not isinstance(size, int):
            rows = torch.arange(x.shape[at]).reshape(-1, *[1] * (len(sizes) - at - 1))
            counts = apply(b, "lt", b.constant(rows), symbols.value(b, size))
            x = apply(b, "where", counts, x, b.scalar(neutral, x.dtype))
    return x


# ---- rows by number ----------------------------------------------------------------------------------------


def _taken(b: Builder, symbols: Symbols, node: torch.fx.Node, arguments: dict[str, Any]) -> Value:
    """`x[-1:]`, `x[n - 1]`: a fixed number of rows that begin at a number known at run time."""
    source, *rest = node.args
    assert isinstance(source, torch.fx.Node)
    val = source.meta["val"]
    alone = _name(node) == "select"
    dim = axis(_known(rest[0] if rest else 0), val.dim())
    first = rest[1] if len(rest) > 1 else node.kwargs.get("start", node.kwargs.get("index"))
    step = rest[3] if len(rest) > 3 else node.kwargs.get("step", 1)
    count = 1 if alone else node.meta["val"].shape[dim]
    at = expression_of(first.meta["val"] if isinstance(first, torch.fx.Node) else first or 0)
    if at.is_Integer and int(at) < 0:
        at += expression_of(val.shape[dim])
    if not isinstance(count, int) or step != 1 or symbols.least(at) < 0:
        raise _mixes(b, node)
    ids = symbols.value(b, at)
    if count > 1:
        ids = apply(b, "add", ids, b.constant(torch.arange(count)))
    x = arguments.get("self", arguments.get("input"))
    assert isinstance(x, Value)
    found = take(b, x, dim, b.reshape(ids, (count,)))
    return b.reshape(found, b.results[0][1])


def _known(number: Any) -> int:
    assert isinstance(number, int)
    return number


def _reads(node: torch.fx.Node, at: int) -> set[sympy.Symbol]:
    """The symbols in the shape of an argument."""
    item = node.args[at] if at < len(node.args) else None
    return _free(item.meta.get("val")) if isinstance(item, torch.fx.Node) else set()


def _indexed_axes(node: torch.fx.Node) -> list[int]:
    """The dimensions of x in `x[i, j]` that are indexed by tensors and whose size is known only at run time."""
    if _name(node) not in ("index", "index_put"):
        return []
    x, indices = node.args[:2]
    assert isinstance(x, torch.fx.Node) and isinstance(indices, list | tuple)
    sizes = x.meta["val"].shape
    return [d for d, index in enumerate(indices) if index is not None and not isinstance(sizes[d], int)]


def _counted(
    b: Builder, symbols: Symbols, node: torch.fx.Node, lowering: Lowering, arguments: dict[str, Any], axes: list[int]
) -> Any:
    """`x[i]` where rows of x do not count: a negative number counts from the last one that does."""
    source = node.args[0]
    assert isinstance(source, torch.fx.Node)
    sizes, indices = source.meta["val"].shape, list(arguments["indices"])
    if any(i is not None and i.dtype.name in ("bool", "uint8") for i in indices) or (
        _name(node) == "index_put" and _indices_vary(node)
    ):
        raise _mixes(b, node)
    for d in axes:
        ids = b.cast(indices[d], INT64)
        from_end = apply(b, "add", ids, symbols.value(b, sizes[d]))
        indices[d] = apply(b, "where", apply(b, "lt", ids, 0), from_end, ids)
    return lowering(b, **{**arguments, "indices": indices})


WRITES = ("index_copy", "index_put", "scatter")


def _indices_vary(node: torch.fx.Node) -> bool:
    """Whether the numbers of the rows to write, not only the rows, are as many as is known at run time."""
    index = node.args[1] if len(node.args) > 1 else None
    given = index if isinstance(index, list | tuple) else [index]
    return any(_free(i.meta.get("val")) for i in given if isinstance(i, torch.fx.Node))


def _written(
    b: Builder, symbols: Symbols, node: torch.fx.Node, lowering: Lowering, arguments: dict[str, Any]
) -> Any:
    """Rows are written by number: those that do not count become copies of the last one that does, so that writing them
    again changes nothing."""
    target = node.args[0]
    assert isinstance(target, torch.fx.Node)
    adds = arguments.get("accumulate") or arguments.get("reduce")
    if _free(target.meta["val"]) or adds:
        raise _mixes(b, node)
    schema = node.target._schema  # type: ignore[union-attr]
    given = dict(zip((a.name for a in schema.arguments), node.args, strict=False)) | dict(node.kwargs)

    def repeated(item: Any, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [repeated(i, v) for i, v in zip(item, value, strict=True)]
        if not isinstance(value, Value) or not isinstance(item, torch.fx.Node):
            return value
        for at, size in enumerate(item.meta["val"].shape):
            if isinstance(size, int):
                continue
            if symbols.least(size) < 1:
                raise _mixes(b, node)
            value = take(b, value, at, symbols.rows(b, size, value.shape[at]))
        return value

    renamed = {"input" if name == "self" and "self" not in arguments else name: item for name, item in given.items()}
    return lowering(b, **{name: repeated(renamed.get(name), value) for name, value in arguments.items()})
