"""Softmax of int8 along one axis as TFLM computes it, to int8 of scale 1/256 and zero -128, or to int16 of scale
1/65536 and zero -32768.

For a lane with largest element t, with gemmlowp's fixed-point functions:
    e_i = table[t - x_i], table[d] = exp(-d·beta·sx) as a fraction of 2^31, shorter where TFLM takes it for 0
    sum = Σ rdbpot(e_i, 12), brought to 2^31 <= sum·2^h < 2^32
    r   = 1 / (sum·2^h), by three steps of Newton's method
    y   = clamp(least + rdbpot(srdhm(r, e_i), 12 - h + 31 - bits))
"""

from __future__ import annotations

import math

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.fixed import TFLM, rdbpot, srdhm, tflm_multiplier, tflm_scaled
from pilotlight.graph import INT8, INT16, Node, Quant
from pilotlight.ops.base import Result, register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.gemmlowp import exp_on_negative, one_over_one_plus
from pilotlight.ops.softmax.float import LaneByLane, lanes
from pilotlight.ops.spec import NodeSpec, narrow, quant_of, wide

INTEGER_BITS = 5  # of the exponent


@register
class TflmSoftmax(LaneByLane):
    """attrs: axis, bits (of y); inputs x and the table of exponentials. Lane by lane, in place where y is int8."""

    name = "tflm_softmax"
    called = "softmax"

    def infer(self, node: Node) -> Result:
        return [(INT8 if node.attrs["bits"] == 8 else INT16, node.inputs[0].shape)]

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return super().overlaps(node) if node.attrs["bits"] == 8 else {}

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x = np.moveaxis(wide(args[0]), a["axis"], -1)
        table = np.concatenate([wide(args[1]).reshape(-1), np.zeros(256, np.int64)])
        e = table[x.max(axis=-1, keepdims=True) - x]
        total = rdbpot(e, 12).sum(axis=-1, keepdims=True)
        headroom = 32 - np.frompyfunc(int.bit_length, 1, 1)(total.astype(object)).astype(np.int64)
        scale = one_over_one_plus((total << headroom) - (1 << 31))
        share = rdbpot(srdhm(scale, e), 12 - headroom + 31 - a["bits"])
        half = 1 << (a["bits"] - 1)
        y = np.moveaxis(np.clip(share - half, -half, half - 1), -1, a["axis"])
        return narrow(y, np.int8 if a["bits"] == 8 else np.int16)

    def emit(self, node: Node, c: Step) -> None:
        a, (x, table) = node.attrs, node.inputs
        kernel = f"q_tflm_softmax_s{a['bits']}"
        c.use(kernel)
        numbers = (*lanes(x.shape, a["axis"]), table.elements)
        c.call(f"pl_{kernel}", c.read(x), c.read(table), c.write(node.output), *numbers)


def tflm_exponent(x: Quant, beta: float) -> tuple[int, int, int]:
    """The factor of TFLM's exponents, as a multiplier and a shift, and the largest distance that is not taken for 0."""
    factor = min(beta * x.scale * 2.0 ** (31 - INTEGER_BITS), 2.0**31 - 1)
    (q,), (left,) = tflm_multiplier(factor)
    radius = math.floor(((1 << INTEGER_BITS) - 1) * 2.0 ** (31 - INTEGER_BITS) / 2.0 ** int(left))
    return int(q), int(left), radius


def exponentials(q: int, left: int, radius: int) -> np.ndarray:
    """exp(-d·beta·sx) of each distance d, as a fraction of 2^31."""
    distances = np.arange(min(radius, 255) + 1)
    return exp_on_negative(tflm_scaled(-distances, q, left), INTEGER_BITS).astype(np.int32)


def make_tflm_softmax(x: Quant, beta: float, axis: int, bits: int = 8) -> NodeSpec:
    """TFLM's softmax is along the last axis."""
    return NodeSpec("tflm_softmax", {"axis": axis, "bits": bits}, (exponentials(*tflm_exponent(x, beta)),))


@form("softmax", width=8, numerics=TFLM)
def softmax(q: Integer) -> list[Node] | None:
    """SOFTMAX, whose result has one scale only."""
    x = q.inputs[0]
    if not all_int8(q) or q.quant != Quant(1 / 256, -128) or q.limits != LIMITS:
        return None
    return [q.build(make_tflm_softmax(quant_of(x), 1.0, q.node.attrs["axis"]), x)]
