"""Pointwise operators on complex numbers: one table row each, one loop each.

A row holds C expressions of the operands' parts: `{0}` and `{1}` are the parts of the first complex operand, or `{0}`
is a real one, and so on. An expression of complex numbers gives a `pl_complex_f32`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step
from pilotlight.graph import BOOL, FLOAT32, DType, Node, Shape, Value
from pilotlight.graph.ports import as_complex
from pilotlight.ops.base import Op, Result, add_op


@dataclass(frozen=True)
class ComplexRow:
    """One operator: `kinds` of its operands and its result, "c" complex, "f" real and "b" bool."""

    name: str
    kinds: str
    result: str
    c: str
    torch: Callable[..., torch.Tensor]
    needs: tuple[str, ...] = ("complex_f32",)


def _row(name: str, kinds: str, result: str, c: str, function: Callable[..., torch.Tensor], *more: str) -> ComplexRow:
    return ComplexRow(name, kinds, result, c, function, ("complex_f32", *more))


_FUNCTIONS = "complex_functions_f32"
ROWS = [
    _row("complex", "ff", "c", "pl_complex({0}, {1})", torch.complex),
    _row("to_complex", "f", "c", "pl_complex({0}, 0.0f)", lambda x: torch.complex(x, torch.zeros_like(x))),
    _row("polar", "ff", "c", "pl_complex_polar({0}, {1})", torch.polar, _FUNCTIONS),
    _row("complex_conj", "c", "c", "pl_complex({0}, -{1})", torch.conj_physical),
    _row("complex_mul", "cc", "c", "pl_complex_mul({0}, {1}, {2}, {3})", torch.mul),
    _row("complex_div", "cc", "c", "pl_complex_div({0}, {1}, {2}, {3})", torch.div),
    _row("complex_reciprocal", "c", "c", "pl_complex_div(1.0f, 0.0f, {0}, {1})", torch.reciprocal),
    _row("complex_exp", "c", "c", "pl_complex_exp({0}, {1})", torch.exp, _FUNCTIONS),
    _row("complex_sgn", "c", "c", "pl_complex_sgn({0}, {1})", torch.sgn, _FUNCTIONS),
    ComplexRow("complex_abs", "c", "f", "pl_hypot_f32({0}, {1})", torch.abs, ("hypot_f32",)),
    ComplexRow("complex_angle", "c", "f", "pl_atan2_f32({1}, {0})", torch.angle, ("atan2_f32",)),
    ComplexRow("complex_power", "c", "f", "({0} * {0}) + ({1} * {1})", lambda z: z.real.square() + z.imag.square(), ()),
    ComplexRow("complex_eq", "cc", "b", "(({0} == {2}) && ({1} == {3})) ? 1u : 0u", torch.eq, ()),
    ComplexRow("complex_ne", "cc", "b", "(({0} != {2}) || ({1} != {3})) ? 1u : 0u", torch.ne, ()),
    ComplexRow("complex_to_bool", "c", "b", "(({0} != 0.0f) || ({1} != 0.0f)) ? 1u : 0u", lambda z: z != 0, ()),
]


class ComplexPointwise(Op):
    """The operator of one row. Complex tensors have a last dimension of 2."""

    def __init__(self, row: ComplexRow):
        self.row = row
        self.called = row.name.replace("_", " ")

    def _shape(self, node: Node) -> Shape:
        """The dimensions before that of the parts."""
        shapes = [v.shape[:-1] if kind == "c" else v.shape for v, kind in zip(node.inputs, self.row.kinds, strict=True)]
        return tuple(np.broadcast_shapes(*shapes))

    def infer(self, node: Node) -> Result:
        dtype: DType = BOOL if self.row.result == "b" else FLOAT32
        return [(dtype, (*self._shape(node), 2) if self.row.result == "c" else self._shape(node))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        given = [as_complex(x) if kind == "c" else x
                 for x, kind in zip(args, self.row.kinds, strict=True)]
        result = self.row.torch(*given)
        return torch.view_as_real(result.resolve_conj()) if self.row.result == "c" else result

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any] | None:
        """The parts stay last."""
        alone = self.row.result == "c" and set(self.row.kinds) == {"c"}
        return node.attrs if alone and perm[-1] == len(perm) - 1 else None

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Elements are read before they are written, and none is smaller than its result."""
        shape = self._shape(node)
        return {(k, 0): 0 for k, (value, kind) in enumerate(zip(node.inputs, self.row.kinds, strict=True))
                if kind == "c" and value.shape[:-1] == shape}

    def emit(self, node: Node, c: Step) -> None:
        c.use(*self.row.needs)
        out, shape = node.output, self._shape(node)
        steps = tuple(s * (2 if self.row.result == "c" else 1) for s in loops.contiguous(shape))
        walks = [_walk(v, kind, shape) for v, kind in zip(node.inputs, self.row.kinds, strict=True)]
        sizes, (to, *strides) = loops.collapse(shape, [steps, *walks])
        names = loops.index_names(len(sizes))
        c.line("{")
        terms: list[str] = []
        for k, (value, kind) in enumerate(zip(node.inputs, self.row.kinds, strict=True)):
            c.line(f"    const float *x{k} = {c.read(value)}; // ({', '.join(map(str, value.shape))})")
            parts = range(2 if kind == "c" else 1)
            terms += [f"x{k}[{loops.position(names, strides[k], p)}]" for p in parts]
        c.line(f"    {out.dtype.c} *y = {c.write(out)}; // ({', '.join(map(str, out.shape))})")
        lines = [f"const float v{k} = {term};" for k, term in enumerate(terms)]
        result = self.row.c.format(*(f"v{k}" for k in range(len(terms))))
        if self.row.result == "c":
            lines += [f"const pl_complex_f32 z = {result};", f"y[{loops.position(names, to, 0)}] = z.re;",
                      f"y[{loops.position(names, to, 1)}] = z.im;"]
        else:
            cast = f"({out.dtype.c})({result})" if self.row.result == "b" else result
            lines.append(f"y[{loops.position(names, to, 0)}] = {cast};")
        loops.nest(c, sizes, lines)
        c.line("}")


def _walk(value: Value, kind: str, shape: Shape) -> tuple[int, ...]:
    """The strides of an operand, in floats, where its elements are expanded to `shape`."""
    wide = (*shape, 2) if kind == "c" else shape
    strides: tuple[int, ...] = loops.broadcast(value, wide).strides
    return strides[: len(shape)]


def _add(row: ComplexRow) -> Any:
    add_op(row.name, ComplexPointwise(row))


for _each in ROWS:
    _add(_each)
