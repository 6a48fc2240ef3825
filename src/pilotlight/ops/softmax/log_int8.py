"""Log-softmax of int8 along one axis, in integers; at most one step from float.

For a lane with largest element t and the sum of `int8.py`, Σ table[t - x_i]:
    l = log2(sum) - bits, in units of 2^-16, by a polynomial
    y = clamp((begin - (t - x_i)·step - rhmul(l·up, m)) >> 16)
with step = rint(sx/sy · 2^16), m = rint(ln 2 / sy · 2^32 / up), begin = zy · 2^16 + 2^15.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8, rhmul
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.softmax.float import lanes
from pilotlight.ops.softmax.int8 import QSoftmax, exponentials
from pilotlight.ops.spec import LIMIT, Limits, NodeSpec, narrow, overflow, quant_of, requantizer, wide

CURVE = (1548159479, -760608807, 444051355, -205366558, 47506355)  # log2(1 + f) / f for 0 <= f < 1, times 2^30
LARGEST = 17 << 16  # of the logarithm: sums have at most 2^16 times the largest term


def log2(v: np.ndarray) -> np.ndarray:
    """log2(v) · 2^16 for 0 < v < 2^32."""
    whole = np.frexp(v.astype(np.float64))[1].astype(np.int64) - 1
    f = (v << (31 - whole)) & (LIMIT - 1)
    p = np.full(v.shape, CURVE[4], np.int64)
    for c in CURVE[3::-1]:
        p = c + 2 * rhmul(p, f)
    return whole * 65536 + ((2 * rhmul(p, f) + 8192) >> 14)


@register
class QLogSoftmax(QSoftmax):
    """attrs: axis, bits, step, begin, up, m, lo, hi; inputs x and the table of exponentials. Lane by lane."""

    name = "qlog_softmax"
    called = "log_softmax"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x = np.moveaxis(wide(args[0]), a["axis"], -1)
        table = np.concatenate([wide(args[1]).reshape(-1), np.zeros(256, np.int64)])
        d = x.max(axis=-1, keepdims=True) - x
        logarithm = log2(table[d].sum(axis=-1, keepdims=True)) - a["bits"] * 65536
        y = (a["begin"] - rhmul(logarithm * a["up"], a["m"]) - d * a["step"]) >> 16
        return narrow(np.moveaxis(np.clip(y, a["lo"], a["hi"]), -1, a["axis"]))

    def emit(self, node: Node, c: Step) -> None:
        a, (x, table) = node.attrs, node.inputs
        c.use("q_log_softmax")
        numbers = c.table("pl_q_log_softmax_t", "log", {k: a[k] for k in ("step", "begin", "up", "m", "lo", "hi")})
        shape = (*lanes(x.shape, a["axis"]), table.elements, a["bits"])
        c.call("pl_q_log_softmax", numbers, c.read(x), c.read(table), c.write(node.output), *shape)


def make_qlog_softmax(x: Quant, y: Quant, size: int, axis: int, limits: Limits = INT8) -> NodeSpec:
    """Log-softmax along `axis`, which has `size` elements."""
    m = requantizer(math.log(2.0) / y.scale, LARGEST)
    step, begin = round(x.scale / y.scale * 65536), y.zero_point * 65536 + 32768
    if size > 1 << 16 or 255 * step + abs(begin) + LARGEST * math.log(2.0) / y.scale >= LIMIT:
        raise overflow(max(x.scale, 1.0) / y.scale)
    bits = min(24, 31 - max(size - 1, 1).bit_length())
    attrs = {
        "axis": axis, "bits": bits, "step": step, "begin": begin, "up": 1 << m.shift, "m": int(m.value[0]),
        "lo": limits[0], "hi": limits[1],
    }
    return NodeSpec("qlog_softmax", attrs, (exponentials(x.scale, bits),))


@form("log_softmax", width=8)
def log_softmax(q: Integer) -> list[Node] | None:
    x, at = q.inputs[0], q.node.attrs["axis"]
    if not all_int8(q):
        return None
    return [q.build(make_qlog_softmax(quant_of(x), q.quant, x.shape[at], at, q.limits), x)]
