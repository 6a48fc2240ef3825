"""Running sums of int8 along one axis: y = clamp(zy + rhmul(acc << shift, m)), acc = Σ (x - zx),
m = rint(sx/sy · 2^(32 - shift))."""

from __future__ import annotations

import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8
from pilotlight.graph import Node, Quant, Shape
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.reduce.int8 import sum_numbers
from pilotlight.ops.softmax.float import LaneByLane, lanes
from pilotlight.ops.spec import Limits, NodeSpec, narrow, quant_of, requantize_table, requantized, wide


@register
class QCumSum(LaneByLane):
    """attrs: axis, zx, m, zy, shift, lo, hi. Lane by lane, in place."""

    name = "qcumsum"
    called = "cumsum"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        return narrow(requantized((wide(args[0]) - a["zx"]).cumsum(a["axis"]), a["m"], a))

    def emit(self, node: Node, c: Step) -> None:
        a, x = node.attrs, node.inputs[0]
        c.use("q_cumsum")
        table = c.table("pl_requantize_t", "sum", requantize_table(a))
        c.call("pl_q_cumsum", table, c.read(x), c.write(node.output), *lanes(x.shape, a["axis"]), a["zx"], a["m"])


def make_qcumsum(x: Quant, y: Quant, shape: Shape, axis: int, limits: Limits = INT8) -> NodeSpec:
    """Running sums along `axis`."""
    return NodeSpec("qcumsum", {"axis": axis, **sum_numbers(x, y, shape[axis], limits)})


@form("cumsum", width=8)
def cumsum(q: Integer) -> list[Node] | None:
    x = q.inputs[0]
    if not all_int8(q):
        return None
    return [q.build(make_qcumsum(quant_of(x), q.quant, x.shape, q.node.attrs["axis"], q.limits), x)]
