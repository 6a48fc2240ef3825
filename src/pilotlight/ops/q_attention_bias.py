"""Attention of int8 with a float mask that is added to the scores: the formula of `q_attention` with

    score_j += rhmul(mask_j · up, factor)        mask in int16, units of 2^-10; factor = rint(2^-10 / (sq·sk·scale) · …)
A mask of -32 or less hides its key altogether: e^-32 is nothing. A row whose keys are all hidden gives zeros.
"""

from __future__ import annotations

import numpy as np
import torch

from pilotlight.codegen.loops import broadcast
from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.fixed import rhmul
from pilotlight.graph import Node, Value
from pilotlight.ops.base import Integer, register
from pilotlight.ops.q_attention import QAttention, make_qattention
from pilotlight.ops.q_quantize import make_quantize
from pilotlight.ops.q_spec import LIMIT, Affine, Limits, NodeSpec, overflow, requantizer

STEP = 2.0**-10  # of a mask
HIDDEN = -32768


@register
class QAttentionBias(QAttention):
    """inputs q, k, v as in qattention and the mask, int16, which broadcasts to (N, H, L, S); further attrs: up_b,
    factor_b."""

    name = "qattention_bias"

    def scores(self, node: Node, products: np.ndarray, args: list[torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
        mask = np.broadcast_to(args[3].numpy().astype(np.int64), products.shape)
        return products + rhmul(mask * node.attrs["up_b"], node.attrs["factor_b"]), mask != HIDDEN

    def emit(self, node: Node, c: Step) -> None:
        a, (q, k, _, mask) = node.attrs, node.inputs
        strides = broadcast(mask, (*q.shape[:3], k.shape[2])).strides
        fields = self.fields(node) | dict(zip(("m_batch", "m_head", "m_row", "m_key"), strides, strict=True))
        c.use("q_attention_bias")
        numbers = {"attention": fields, "up": a["up_b"], "factor": a["factor_b"]}
        table = c.table("pl_q_attention_bias_t", "attention", numbers)
        pointers = (*map(c.read, node.inputs), c.scratch("int32_t"), c.write(node.output))
        c.call("pl_q_attention_bias", table, *pointers)


def make_qattention_bias(
    q: Affine, k: Affine, v: Affine, y: Affine, width: int, keys: int, scale: float, causal: bool = False,
    limits: Limits = LIMITS,
) -> NodeSpec:
    """softmax(q k^T · scale + mask) v."""
    plain = make_qattention(q, k, v, y, width, keys, scale, causal, limits)
    unit = STEP / (Affine(*q).scale * Affine(*k).scale * scale)
    factor = requantizer(unit, -HIDDEN)
    if 2 * (255 * 255 * width - HIDDEN * unit) >= LIMIT:
        raise overflow(unit)
    extra = {"up_b": 1 << factor.shift, "factor_b": int(factor.value[0])}
    return NodeSpec("qattention_bias", plain.attrs | extra)


def integer_mask(q: Integer, mask: Value) -> tuple[Value, list[Node]]:
    """A float mask in int16: a constant, or a quantize before it."""
    spec = make_quantize(Affine(STEP, 0), 16)
    if mask.data is not None:
        steps = np.clip(np.rint(np.asarray(mask.data, np.float64) / STEP), HIDDEN, -HIDDEN - 1)
        return q.graph.constant(steps.astype(np.int16), mask.name), []
    node = q.make(spec.op, [mask], **spec.attrs)
    node.output.quant = None
    return node.output, [node]
