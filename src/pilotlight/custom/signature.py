"""Tensors as kernels declare them, `float32[n, t // 2]`, and numbers that depend on their sizes."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pilotlight.errors import PilotlightError
from pilotlight.graph import DType, Shape
from pilotlight.graph.dtypes import BY_NAME

LEADING = "..."  # any dimensions in front, which C sees as one number
BATCH = "batch"  # the name of that number
Dims = Mapping[str, int]

_TENSOR = re.compile(r"\s*(\w+)\s*\[(.*)\]\s*")
_OPERATIONS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a declaration."""

    text: str
    dtype: DType
    dims: tuple[str, ...]  # names, numbers, of results also expressions; the first one may be LEADING

    def __str__(self) -> str:
        return self.text

    @property
    def names(self) -> list[str]:
        """The sizes that it gives names to."""
        return [BATCH if dim == LEADING else dim for dim in self.dims if dim == LEADING or dim.isidentifier()]

    def unify(self, dtype: DType, shape: Shape, known: dict[str, int], leading: list[Shape]) -> bool:
        """Whether a tensor is like this; names that are new get its sizes. `leading` holds what LEADING stands for."""
        dims = list(self.dims)
        if dtype != self.dtype:
            return False
        if dims[:1] == [LEADING]:
            dims.pop(0)
            front = shape[: len(shape) - len(dims)] if len(shape) >= len(dims) else None
            if front is None or (leading and leading[0] != front):
                return False
            leading[:] = [front]
            known[BATCH] = math.prod(front)
            shape = shape[len(front) :]
        if len(shape) != len(dims):
            return False
        return all(
            known.setdefault(dim, size) == size if dim.isidentifier() else int(dim) == size
            for dim, size in zip(dims, shape, strict=True)
        )

    def shape(self, known: Dims, leading: Sequence[Shape]) -> Shape:
        """The shape that it has with these sizes."""
        front = leading[0] if leading else ()
        return tuple(size for dim in self.dims for size in (front if dim == LEADING else (evaluate(dim, known),)))


def parse_tensor(text: str, result: bool, what: str) -> Tensor:
    """`float32[n, t]`; sizes of results may be expressions."""
    found = _TENSOR.fullmatch(text) if isinstance(text, str) else None
    types = [name for name, dtype in BY_NAME.items() if dtype.kind != "h"]  # 16-bit floats are computed in float32
    if found is None or found[1] not in types:
        raise bad(f"{what}: {text!r} is no tensor; expected a type and sizes",
                  f'write it like "float32[n, t]"; types are {", ".join(types)}')
    dims = tuple(part.strip() for part in found[2].split(",")) if found[2].strip() else ()
    for place, dim in enumerate(dims):
        if dim == LEADING and place == 0:
            continue
        simple = dim.isidentifier() or dim.isdecimal()
        if not (simple or (result and dim != LEADING)):
            raise bad(f"{what}: {text!r} has the size {dim!r}; expected a name or a number",
                      'only results may have expressions, and "..." comes first')
        if dim == BATCH:
            raise bad(f"{what}: {text!r} calls a size {BATCH!r}, which is what ... is called", "choose another name")
    return Tensor(text, BY_NAME[found[1]], dims)


def evaluate(expression: int | str, known: Dims) -> int:
    """A number, or an expression of sizes such as `4 * t`."""
    if isinstance(expression, int):
        return expression
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body, known)
    except (SyntaxError, ZeroDivisionError, KeyError, TypeError) as error:
        names = ", ".join(known) or "none"
        reason = f"{error.args[0]!r} is no size" if isinstance(error, KeyError) else str(error)
        raise bad(f"the expression {expression!r} has no value: {reason}", f"the sizes are: {names}") from error


def _value(node: ast.expr, known: Dims) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, known)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left, known), _value(node.right, known))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        values = [_value(argument, known) for argument in node.args]
        return min(values) if node.func.id == "min" else max(values)
    raise TypeError("only whole numbers, sizes, + - * // % min and max are allowed")


def bad(message: str, hint: str | None = None, where: str | None = None) -> PilotlightError:
    return PilotlightError(message, hint=hint, where=where, kind="bad-kernel")
