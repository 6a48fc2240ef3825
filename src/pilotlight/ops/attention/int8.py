"""Scaled dot product attention of int8 q, k, v, one query row at a time, all in integers.

    score_j = Σ (q - zq)(k_j - zk)                      a hidden key takes no part
    u_j     = rhmul((top - score_j)·up_u, factor)       the distance from the largest, in log2, times 2^16
    e_j     = 2^-u_j · 2^bits by a cubic, 0 from `reach` on
    p_j     = e_j / Σ e as in `softmax/int8.py`, rounded to 2^-20
    y       = clamp(zy + rhmul(acc << shift, m)), acc = Σ p_j·(v_j - zv), m = rint(sv/sy · 2^(12 - shift))
There is no int8 between the two products: scores and probabilities keep their own precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.loops import broadcast
from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.fixed import multiplier, rhmul
from pilotlight.graph import INT8, Node, Quant
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.softmax.int8 import inverse
from pilotlight.ops.spec import (
    LIMIT,
    Limits,
    NodeSpec,
    narrow,
    output_attrs,
    overflow,
    requantize_table,
    requantized,
    wide,
)

CUBIC = (1073741824, -742032536, 247053520, -41891888)  # 2^-f for 0 <= f < 1, times 2^30


def exp2(u: np.ndarray) -> np.ndarray:
    """2^-u · 2^30 for u in units of 2^-16."""
    f = (u & 0xFFFF) << 15
    p = np.full(u.shape, CUBIC[3], np.int64)
    for c in CUBIC[2::-1]:
        p = c + 2 * rhmul(p, f)
    return p >> (u >> 16)


@register
class QAttention(Op):
    """q (N, H, L, E), k (N, G, S, E), v (N, G, S, F), and perhaps a bool mask that broadcasts to (N, H, L, S), where
    False hides a key. attrs: causal, zq, zk, zv, reach, up_u, factor, bits, m, zy, shift, lo, hi."""

    name = "qattention"
    called = "attention"

    def infer(self, node: Node) -> Result:
        q, v = node.inputs[0], node.inputs[2]
        return [(INT8, (*q.shape[:3], v.shape[3]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        q, k, v = (wide(x) - a[z] for x, z in zip(args[:3], ("zq", "zk", "zv"), strict=True))
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
        scores, keep = self.scores(node, q @ np.swapaxes(k, -1, -2), args)
        if a["causal"]:
            keep = keep & (np.tri(*scores.shape[-2:]) > 0)
        top = np.where(keep, scores, -LIMIT).max(axis=-1, keepdims=True)
        near = keep & (top - scores < a["reach"])
        u = rhmul(np.where(near, top - scores, 0) * a["up_u"], a["factor"])
        e = np.where(near, exp2(u) >> (30 - a["bits"]), 0)
        pairs = [inverse(int(t)) if t else (0, a["bits"]) for t in e.sum(axis=-1).reshape(-1)]
        inverses = np.array(pairs).reshape(*e.shape[:-1], 2)
        share = rhmul(e << (30 - a["bits"]), inverses[..., :1] << 14) >> (inverses[..., 1:] + 15 - a["bits"])
        return narrow(requantized(((share + 128) >> 8) @ v, a["m"], a))

    def scores(self, node: Node, products: np.ndarray, args: list[torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
        """The scores (N, H, L, S) and which keys are seen."""
        if len(args) == 3:
            return products, np.ones(products.shape, bool)
        return products, np.broadcast_to(args[3].numpy(), products.shape)

    def macs(self, node: Node) -> int:
        (n, h, rows, width), (keys, depth) = node.inputs[0].shape, node.inputs[2].shape[2:]
        return n * h * rows * keys * (width + depth)

    def scratch(self, node: Node) -> int:
        return 4 * node.inputs[1].shape[2]

    def fields(self, node: Node) -> dict[str, Any]:
        """What pl_q_attention_t holds besides the distances in a mask."""
        a, (q, k, v) = node.attrs, node.inputs[:3]
        batch, heads, rows, width = q.shape
        shape = {
            "batch": batch, "heads": heads, "kv_heads": k.shape[1], "rows": rows, "keys": k.shape[2], "width": width,
            "depth": v.shape[3],
        }
        numbers = {name: a[name] for name in ("causal", "zq", "zk", "zv", "reach", "factor", "bits", "m")}
        return shape | numbers | {"up": a["up_u"], "out": requantize_table(a)}

    def emit(self, node: Node, c: Step) -> None:
        q, k, v = node.inputs[:3]
        fields, mask = self.fields(node), "0"
        if len(node.inputs) > 3:
            strides = broadcast(node.inputs[3], (*q.shape[:3], k.shape[2])).strides
            fields |= dict(zip(("m_batch", "m_head", "m_row", "m_key"), strides, strict=True))
            mask = c.read(node.inputs[3])
        c.use("q_attention")
        table = c.table("pl_q_attention_t", "attention", fields)
        pointers = (c.read(q), c.read(k), c.read(v), mask, c.scratch("int32_t"), c.write(node.output))
        c.call("pl_q_attention", table, *pointers)


def make_qattention(
    q: Quant, k: Quant, v: Quant, y: Quant, width: int, keys: int, scale: float, causal: bool = False,
    limits: Limits = LIMITS,
) -> NodeSpec:
    """softmax(q k^T · scale) v with `keys` keys of `width` numbers."""
    if 2 * 255 * 255 * width >= LIMIT:
        raise overflow(width)
    octaves = q.scale * k.scale * scale * math.log2(math.e)  # of a score's step
    distance = multiplier(octaves * 65536.0)
    reach = min(int(30.0 / octaves) + 1, (LIMIT - 1) >> distance.shift)
    attrs = {
        "causal": bool(causal), "zq": q.zero_point, "zk": k.zero_point, "zv": v.zero_point, "reach": reach,
        "up_u": 1 << distance.shift, "factor": int(distance.value[0]), "bits": 30 - max(keys - 1, 1).bit_length(),
        **output_attrs(v.scale / y.scale * 2.0**-20, (255 << 20) + 255 * keys, y.zero_point, limits),
    }
    return NodeSpec("qattention", attrs)
