"""Softmax of 16-bit tensors along one axis, in integers; at most three steps of 1/32768 from float.

For a lane with largest element t:
    u_i   = rhmul((t - x_i)·up_u, factor)                the distance from the largest, in log2, times 2^16
    e_i   = 2^-u_i · 2^30 by a polynomial of degree five, >> (30 - bits); 0 from `reach` on
    r, h  = the inverse of Σ e as in `int8.py`
    share = rhmul(e_i · 2^(30-bits), r · 2^14) >> (h + 15 - bits)          a probability, times 2^28
    y     = clamp(rhmul(share << shift, m)),  m = rint(2^-28 / sy · 2^(32 - shift))
"""

from __future__ import annotations

import math

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT16, multiplier, rhmul
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.softmax.float import LaneByLane, lanes
from pilotlight.ops.softmax.int8 import inverse
from pilotlight.ops.spec import (
    LIMIT,
    Limits,
    NodeSpec,
    as_int16,
    output_attrs,
    quant_of,
    requantize_table,
    requantized,
    wide,
)

POLYNOMIAL = (1073741824, -744258156, 257898512, -59395829, 9908876, -1024378)  # 2^-f for 0 <= f < 1, times 2^30
OUTPUT = Quant(1.0 / 32768.0, 0)


def exp2(u: np.ndarray) -> np.ndarray:
    """2^-u · 2^30 for u in units of 2^-16."""
    f = (u & 0xFFFF) << 15
    p = np.full(u.shape, POLYNOMIAL[-1], np.int64)
    for c in POLYNOMIAL[-2::-1]:
        p = c + 2 * rhmul(p, f)
    return p >> (u >> 16)


@register
class QSoftmax16(LaneByLane):
    """attrs: axis, reach, up_u, factor, bits, m, zy, shift, lo, hi. Lane by lane, in place."""

    name = "qsoftmax_s16"
    called = "softmax"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x = np.moveaxis(wide(args[0]), a["axis"], -1)
        d = x.max(axis=-1, keepdims=True) - x
        near = d < a["reach"]
        u = rhmul(np.where(near, d, 0) * a["up_u"], a["factor"])
        e = np.where(near, exp2(u) >> (30 - a["bits"]), 0)
        inverses = np.array([inverse(int(t)) for t in e.sum(axis=-1).reshape(-1)]).reshape(*e.shape[:-1], 2)
        r, h = inverses[..., :1], inverses[..., 1:]
        share = rhmul(e << (30 - a["bits"]), r << 14) >> (h + 15 - a["bits"])
        return as_int16(np.moveaxis(requantized(share, a["m"], a), -1, a["axis"]))

    def emit(self, node: Node, c: Step) -> None:
        a, x = node.attrs, node.inputs[0]
        fields = dict(zip(("outer", "axis", "inner"), lanes(x.shape, a["axis"]), strict=True))
        fields |= {"reach": a["reach"], "up": a["up_u"], "factor": a["factor"], "bits": a["bits"]}
        c.use("q_softmax_s16")
        table = c.table("pl_q_softmax_s16_t", "softmax", fields | {"out": requantize_table(a), "m": a["m"]})
        c.call("pl_q_softmax_s16", table, c.read(x), c.write(node.output))


def make_qsoftmax16(x: Quant, y: Quant, size: int, axis: int, limits: Limits = INT16) -> NodeSpec:
    """Softmax along `axis`, which has `size` elements."""
    octaves = x.scale * math.log2(math.e)  # of a step
    distance = multiplier(octaves * 65536.0)
    reach = min(int(30.0 / octaves) + 1, (LIMIT - 1) >> distance.shift, 65536)
    attrs = {
        "axis": axis, "reach": reach, "up_u": 1 << distance.shift, "factor": int(distance.value[0]),
        "bits": 30 - max(size - 1, 1).bit_length(), **output_attrs(2.0**-28 / y.scale, 1 << 29, 0, limits),
    }
    return NodeSpec("qsoftmax_s16", attrs)


@form("softmax", width=16)
def softmax(q: Integer) -> list[Node] | None:
    x, at = q.inputs[0], q.node.attrs["axis"]
    y = q.quant
    return [q.build(make_qsoftmax16(quant_of(x), y, x.shape[at], at, q.limits), x)]
