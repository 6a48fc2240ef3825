"""Rows by number out of integer weights, such as an embedding's: ids (N), w (V, D), y (N, D) = w[ids] * scale[ids].

The table is packed as the weight of a linear layer, so that one that is both is stored once.
"""

from __future__ import annotations

import torch

from pilotlight.codegen.step import Fields, Step
from pilotlight.codegen.target import Target
from pilotlight.graph import FLOAT32, Graph, Node, Value
from pilotlight.kernels import pack_f32
from pilotlight.ops import base
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.conv import NO_CLAMP
from pilotlight.ops.w_linear import WLinear


class WTake(Op):
    """What both widths share; inputs ids int64 (N), then w, ..., scale as the linear layer has them."""

    layer = ""  # the linear layer that reads the same table

    def linear(self) -> WLinear:
        op = base.get(self.layer)
        assert isinstance(op, WLinear)
        return op

    def as_linear(self, node: Node) -> Node:
        """A linear layer from D inputs to V outputs with this table."""
        ids, weight = node.inputs[0], node.inputs[1]
        table = node.attrs["rows"], node.output.shape[1]
        x, y = (Value("", FLOAT32, (ids.elements, size)) for size in (table[1], table[0]))
        return Node(self.layer, [x, weight, *node.inputs[2:]], [y], node.attrs)

    def infer(self, node: Node) -> Result:
        return [(FLOAT32, (node.inputs[0].elements, node.attrs["columns"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        ids, *constants = args
        rows = node.attrs["rows"]
        at = torch.where(ids.reshape(-1) < 0, ids.reshape(-1) + rows, ids.reshape(-1)).clamp(0, rows - 1)
        return self.linear().weights(node, [ids, *constants, constants[-1]])[at]

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        made = Node(self.layer, [*node.inputs, node.inputs[-1]], node.outputs, node.attrs)
        self.linear().prepare(made, graph, target)
        node.inputs = made.inputs[:-1]

    def emit(self, node: Node, c: Step) -> None:
        linear, header = self.linear(), self.linear().header.replace("linear", "take")
        c.use(header)
        fields: Fields = {**linear.numbers(self.as_linear(node)), "reverse": 0, **pack_f32.limits(*NO_CLAMP)}
        table = c.table(f"pl_{linear.header}_t", "take", fields)
        ids, *constants = node.inputs
        reads = [c.read(v, ctype) for v, ctype in zip(constants, linear.ctypes(), strict=False)]
        c.call(f"pl_{header}", table, *reads, c.read(ids), c.write(node.output))


@register
class WTake8(WTake):
    """Inputs ids, w int8 (V, D), scale (V); attrs: rows, columns."""

    name = "wtake8"
    called = "take with 8-bit weights"
    layer = "wlinear8"


@register
class WTake4(WTake):
    """Inputs ids, w (V, D) in -8..7, steps int32 (V, groups), scale (V); attrs: rows, columns, group, bits."""

    name = "wtake4"
    called = "take with 4-bit weights"
    layer = "wlinear4"
