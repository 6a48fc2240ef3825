"""Attention of int8 with a float mask that is added to the scores: the formula of `int8.py` with

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
from pilotlight.graph import INT8, Node, Quant, Value
from pilotlight.ops.attention.int8 import QAttention, make_qattention
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.quantize import make_quantize
from pilotlight.ops.spec import LIMIT, Limits, NodeSpec, overflow, quant_of, requantizer

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
    q: Quant, k: Quant, v: Quant, y: Quant, width: int, keys: int, scale: float, causal: bool = False,
    limits: Limits = LIMITS,
) -> NodeSpec:
    """softmax(q k^T · scale + mask) v."""
    plain = make_qattention(q, k, v, y, width, keys, scale, causal, limits)
    unit = STEP / (q.scale * k.scale * scale)
    factor = requantizer(unit, -HIDDEN)
    if 2 * (255 * 255 * width - HIDDEN * unit) >= LIMIT:
        raise overflow(unit)
    extra = {"up_b": 1 << factor.shift, "factor_b": int(factor.value[0])}
    return NodeSpec("qattention_bias", plain.attrs | extra)


def integer_mask(q: Integer, mask: Value) -> tuple[Value, list[Node]]:
    """A float mask in int16: a constant, or a quantize before it."""
    spec = make_quantize(Quant(STEP, 0), 16)
    if mask.data is not None:
        steps = np.clip(np.rint(np.asarray(mask.data, np.float64) / STEP), HIDDEN, -HIDDEN - 1)
        return q.graph.constant(steps.astype(np.int16), mask.name), []
    node = q.build(spec, mask)
    node.output.quant = None
    return node.output, [node]


@form("attention", width=8, float_inputs=(3,))
def attention(q: Integer) -> list[Node] | None:
    """A bool mask hides keys; a float one is added to the scores."""
    query, key, value, *masks = q.inputs
    if any(v.dtype != INT8 or v.quant is None for v in (query, key, value)) or q.dtype != INT8:
        return None
    a, added = q.node.attrs, [v for v in masks if v.dtype.kind == "f"]
    make = make_qattention_bias if added else make_qattention
    spec = make(
        quant_of(query), quant_of(key), quant_of(value), q.quant, query.shape[3], key.shape[2], a["scale"],
        a["causal"], q.limits,
    )
    if not added:
        return [q.build(spec, query, key, value, *masks)]
    mask, before = integer_mask(q, added[0])
    return [*before, q.build(spec, query, key, value, mask)]
