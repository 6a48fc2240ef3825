"""Scaled dot product attention: softmax(q k^T * scale + mask) v, one query row at a time."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.codegen.loops import broadcast
from pilotlight.codegen.step import Step
from pilotlight.graph import BOOL, FLOAT32, Node, Shape, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import lowers, register
from pilotlight.ops.quantizing import OwnScale, Treatment
from pilotlight.ops.strided import Strided


@register
class Attention(Strided):
    """q (N, H, L, E), k (N, G, S, E), v (N, G, S, F), and perhaps a mask that broadcasts to (N, H, L, S):
    float, added to the scores, or bool, False hides a key. attrs: causal, scale."""

    name = "attention"
    strided = 3

    def shape(self, node: Node) -> Shape:
        return (*self.walk(node, 0).shape[:3], self.walk(node, 2).shape[3])

    def compute(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        q, k, v = args[:3]
        mask = args[3] if len(args) > 3 else None
        a = node.attrs
        return F.scaled_dot_product_attention(
            q, k, v, mask, is_causal=a["causal"], scale=a["scale"], enable_gqa=True
        )

    def accepts(self, node: Node) -> bool:
        walks = [*(self.walk(node, k) for k in range(3)), self.out(node)]
        return all(w.shape[3] == 1 or w.strides[3] == 1 for w in walks)

    def macs(self, node: Node) -> int:
        (n, h, rows, width), (_, _, keys, depth) = self.walk(node, 0).shape, self.walk(node, 2).shape
        return n * h * rows * keys * (width + depth)

    def scratch(self, node: Node) -> int:
        return 4 * self.walk(node, 1).shape[2]

    def emit(self, node: Node, c: Step) -> None:
        q, k, v = (self.walk(node, i) for i in range(3))
        batch, heads, rows, width = q.shape
        fields: dict[str, int | float | bool] = {
            "batch": batch, "heads": heads, "kv_heads": k.shape[1], "rows": rows, "keys": k.shape[2],
            "width": width, "depth": v.shape[3],
        }
        for letter, walk in (("q", q), ("k", k), ("v", v), ("y", self.out(node))):
            names = (f"{letter}_batch", f"{letter}_head", f"{letter}_row")
            fields |= dict(zip(names, walk.strides[:3], strict=True))
        masks = ["0", "0"]
        if len(node.inputs) > 3:
            mask = node.inputs[3]
            strides = broadcast(mask, (batch, heads, rows, k.shape[2])).strides
            fields |= dict(zip(("m_batch", "m_head", "m_row", "m_key"), strides, strict=True))
            masks[mask.dtype == BOOL] = c.read(mask)
        fields |= {"causal": node.attrs["causal"], "scale": node.attrs["scale"]}
        c.use("attention_f32")
        table = c.table("pl_attention_t", "attention", fields)
        c.call("pl_attention_f32", table, *self.pointers(node, c), *masks, c.scratch(), c.write(node.output))


# ---- ATen --------------------------------------------------------------------------------------------------


@lowers("scaled_dot_product_attention.default", quantized=Treatment(OwnScale(), activations=3))
def scaled_dot_product_attention(
    b: Builder, query: Value, key: Value, value: Value, attn_mask: Value | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Value:
    if query.dtype != FLOAT32:
        raise b.refuse(f"attention over {query.dtype} is not supported; expected float32")
    if dropout_p:
        raise b.refuse("attention with dropout is not supported", "call module.eval() first")
    gqa = enable_gqa and query.shape[-3] != key.shape[-3]
    lead = tuple(np.broadcast_shapes(*(x.shape[:-2] for x in ((query,) if gqa else (query, key, value)))))
    heads = math.prod(lead[-1:])
    operands = [
        b.reshape(x if gqa else b.expand(x, (*lead, *x.shape[-2:])), (-1, x.shape[-3] if gqa else heads, *x.shape[-2:]))
        for x in (query, key, value)
    ]
    if any(x.shape[0] != operands[0].shape[0] for x in operands):
        raise b.refuse(
            f"attention over queries {list(query.shape)} and keys {list(key.shape)} with shared heads is not "
            "supported; expected the same batch"
        )
    if attn_mask is not None:
        mask = attn_mask if attn_mask.dtype == BOOL else b.cast(attn_mask, FLOAT32)
        if len(lead) > 2:  # its batch has several dimensions, which only a whole mask can merge into one
            mask = b.reshape(b.expand(mask, (*lead, *mask.shape[-2:])), (-1, heads, *mask.shape[-2:]))
        operands.append(b.reshape(mask, (1,) * (4 - len(mask.shape)) + mask.shape))
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    y = b.node("attention", operands, causal=is_causal, scale=float(scale))
    return b.reshape(y, b.results[0][1])
