"""Any function of one int8 tensor as 256 bytes: y = table[x]. Rescaling is the table of the identity.

The table is computed with PyTorch between dequantize and quantize, so it gives the same bits as the float operator
between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8
from pilotlight.graph import BOOL, Node, Quant, Value
from pilotlight.ops.areas import Area, AreaPart, same_part
from pilotlight.ops.base import Op, Result, get, register, same
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.float import ROWS
from pilotlight.ops.spec import Limits, NodeSpec, quant_of

Function = Callable[[torch.Tensor], torch.Tensor]
CODES = np.arange(256).astype(np.uint8).view(np.int8)  # every int8, in the order of its byte


def lookup(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return table.reshape(-1)[x.long() & 255]


@register
class TableLookup(Op):
    """inputs: x and the table (256), indexed by x's byte. Element by element, in place."""

    name = "qtable"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return lookup(args[0], args[1])

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return same_part(node, area)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        x, table = node.inputs
        c.use("q_table")
        c.call("pl_q_table", c.read(x), c.read(table), c.write(node.output), x.elements)


@register
class Test(TableLookup):
    """Whether something holds for a number: the table has 0 and 1, the result is bool."""

    name = "qtest"

    def infer(self, node: Node) -> Result:
        return [(BOOL, node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return lookup(args[0], args[1]).bool()

    def emit(self, node: Node, c: Step) -> None:
        x, table = node.inputs
        c.use("q_table")
        c.call("pl_q_table", c.read(x), c.read(table), c.write(node.output, "int8_t"), x.elements)


def _real(x: Quant) -> torch.Tensor:
    """What every int8 stands for, in the order of its byte."""
    return (torch.from_numpy(CODES.astype(np.float32)) - x.zero_point) * x.scale


def table_of(x: Quant, y: Quant, function: Function, limits: Limits = INT8) -> np.ndarray:
    """The int8 results for every int8, in the order of its byte."""
    scaled = torch.nan_to_num(function(_real(x)).float() * (1.0 / y.scale), nan=0.0, posinf=1e6, neginf=-1e6)
    return (scaled.round() + y.zero_point).clamp(*limits).to(torch.int8).numpy()


def make_qtable(
    x: Quant, y: Quant, function: Function, limits: Limits = INT8, called: str = "table"
) -> NodeSpec:
    """y = function(x) for a PyTorch function of one tensor, described to people as `called`."""
    return NodeSpec("qtable", {"called": called}, (table_of(x, y, function, limits),))


def make_qtest(x: Quant, function: Function, called: str = "test") -> NodeSpec:
    """Whether function(x), a PyTorch function of one tensor to bool."""
    return NodeSpec("qtest", {"called": called}, (function(_real(x)).to(torch.int8).numpy(),))


def make_requantize(x: Quant, y: Quant, limits: Limits = INT8) -> NodeSpec:
    """The same numbers in another scale."""
    return make_qtable(x, y, lambda v: v, limits, "requantize")


def function_of(q: Integer) -> tuple[Value, Function] | None:
    """A pointwise operator of one activation and constants of one element as a function of that activation."""
    moving = [v for v in q.inputs if not v.is_constant]
    if len(moving) != 1 or any(v.elements != 1 for v in q.inputs if v.is_constant):
        return None
    constants = {k: torch.from_numpy(v.data).reshape(()) for k, v in enumerate(q.inputs) if v.data is not None}
    count, op = len(q.inputs), get(q.node.op)

    def function(x: torch.Tensor) -> torch.Tensor:
        y = op.reference(q.node, [constants.get(k, x) for k in range(count)])
        assert isinstance(y, torch.Tensor)
        return y

    return moving[0], function


@form(*(row.name for row in ROWS if row.name not in ("add", "mul", "sub", "div") and row.result == "same"), width=8)
def table(q: Integer) -> list[Node] | None:
    """Any function of one int8 tensor is 256 bytes."""
    found = function_of(q) if all_int8(q) else None
    if found is None:
        return None
    x, function = found
    return [q.build(make_qtable(quant_of(x), q.quant, function, q.limits, q.node.op), x)]


@form("requantize", width=8)
def requantize(q: Integer) -> list[Node] | None:
    x = q.inputs[0]
    return [q.build(make_requantize(quant_of(x), q.quant, q.limits), x)] if all_int8(q) else None
