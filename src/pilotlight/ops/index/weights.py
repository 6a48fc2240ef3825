"""Rows by number out of integer weights, such as an embedding's: ids (N), w (V, D), y (N, D) = w[ids] * scale[ids].

The table is packed as the weight of a linear layer, so that one that is both is stored once.
"""

from __future__ import annotations

import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.graph import FLOAT32, Graph, Node
from pilotlight.kernels.layers import WeightLayer
from pilotlight.ops import base
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.dense.weights import WLinear


class WTake(Op):
    """What both widths share; inputs ids int64 (N), then w, ..., scale as the linear layer has them."""

    layer = ""  # the linear layer that reads the same table

    def linear(self) -> WLinear:
        op = base.get(self.layer)
        assert isinstance(op, WLinear)
        return op

    def infer(self, node: Node) -> Result:
        return [(FLOAT32, (node.inputs[0].elements, node.attrs["columns"]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        ids, *constants = args
        rows = node.attrs["rows"]
        at = torch.where(ids.reshape(-1) < 0, ids.reshape(-1) + rows, ids.reshape(-1)).clamp(0, rows - 1)
        return self.linear().weights(node, [ids, *constants, constants[-1]])[at]

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        w, *steps, scale = (v.data for v in node.inputs[1:])
        assert w is not None and scale is not None
        a = node.attrs
        divided = {"steps": steps[0], "group": a["group"], "bits": a["bits"]} if steps else {}
        layer = a["table"] = WeightLayer(node.inputs[0].elements, w, scale, scale, **divided)
        packed = [graph.constant(c, "packed") for c in layer.packed()]
        node.inputs = [node.inputs[0], *packed, node.inputs[-1]]

    def emit(self, node: Node, c: Step) -> None:
        layer: WeightLayer = node.attrs["table"]
        c.use(f"take_{layer.kind}")
        table = c.table(f"pl_linear_{layer.kind}_t", "take", layer.table(reverse=False))
        ids, *constants = node.inputs
        reads = [c.read(v, ctype) for v, ctype in zip(constants, (*layer.types, "float"), strict=True)]
        c.call(f"pl_take_{layer.kind}", table, *reads, c.read(ids), c.write(node.output))


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
