"""Softmax of int8 along one axis, in integers; at most one step from float in the usual scale 1/256, zero -128.

For a lane with largest element t:
    e_i   = table[t - x_i],  table[d] = rint(e^(-d·sx) · 2^bits), shorter where that is 0
    sum   = Σ e_i, brought to 2^15 <= sum' < 2^16 by h halvings that round up or doublings
    r     = 2^31 / sum'
    share = rhmul(e_i · 2^(30-bits), r · 2^14) >> (h + 15 - bits)          a probability, times 2^28
    y     = clamp(zy + rhmul(share << shift, m)),  m = rint(2^-28 / sy · 2^(32 - shift))
"""

from __future__ import annotations

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8, rhmul
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.softmax.float import LaneByLane, lanes
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, quant_of, requantize_table, requantized, wide

OUTPUT = Quant(1.0 / 256.0, -128)


def inverse(total: int) -> tuple[int, int]:
    """1 / total as r · 2^-(31 + h)."""
    h = 0
    while total >= 1 << 16:
        total, h = (total + 1) >> 1, h + 1
    while total < 1 << 15:
        total, h = total << 1, h - 1
    return (1 << 31) // total, h


@register
class QSoftmax(LaneByLane):
    """attrs: axis, bits, m, zy, shift, lo, hi; inputs x and the table of exponentials. Lane by lane, in place."""

    name = "qsoftmax"
    called = "softmax"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x = np.moveaxis(wide(args[0]), a["axis"], -1)
        table = np.concatenate([wide(args[1]).reshape(-1), np.zeros(256, np.int64)])
        e = table[x.max(axis=-1, keepdims=True) - x]
        inverses = np.array([inverse(int(t)) for t in e.sum(axis=-1).reshape(-1)]).reshape(*e.shape[:-1], 2)
        r, h = inverses[..., :1], inverses[..., 1:]
        share = rhmul(e << (30 - a["bits"]), r << 14) >> (h + 15 - a["bits"])
        return narrow(np.moveaxis(requantized(share, a["m"], a), -1, a["axis"]))

    def emit(self, node: Node, c: Step) -> None:
        a, (x, exponentials) = node.attrs, node.inputs
        c.use("q_softmax")
        table = c.table("pl_requantize_t", "softmax", requantize_table(a))
        numbers = (*lanes(x.shape, a["axis"]), exponentials.elements, a["bits"], a["m"])
        c.call("pl_q_softmax", table, c.read(x), c.read(exponentials), c.write(node.output), *numbers)


def exponentials(scale: float, bits: int) -> np.ndarray:
    """e^(-d·scale) · 2^bits for d = 0, 1, ... as long as it is not 0."""
    table = np.rint(np.exp(-np.arange(256) * float(scale)) * 2.0**bits).astype(np.int32)
    return table[: max(int(np.count_nonzero(table)), 1)]


def make_qsoftmax(x: Quant, y: Quant, size: int, axis: int, limits: Limits = INT8) -> NodeSpec:
    """Softmax along `axis`, which has `size` elements; y is (1/256, -128) unless calibration says otherwise."""
    bits = min(24, 31 - max(size - 1, 1).bit_length())
    attrs = {"axis": axis, "bits": bits, **output_attrs(2.0**-28 / y.scale, 1 << 29, y.zero_point, limits)}
    return NodeSpec("qsoftmax", attrs, (exponentials(x.scale, bits),))


@form("softmax", width=8)
def softmax(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x, at = q.inputs[0], q.node.attrs["axis"]
    return [q.build(make_qsoftmax(quant_of(x), q.quant, x.shape[at], at, q.limits), x)]
