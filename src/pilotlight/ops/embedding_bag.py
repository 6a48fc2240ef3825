"""Rows of a table joined by bag: their sum, mean or largest elements."""

from __future__ import annotations

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, INT64, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, lowers, register


@register
class EmbeddingBag(Op):
    """x (rows, width), ids (count), offsets (bags, or one more where attrs["last"]), weights of the ids (count) if
    there are any; attrs: mode (0 sum, 1 mean, 2 largest), last, padding (a row that does not count, or -1)."""

    name = "embedding_bag"

    def infer(self, node: Node) -> Result:
        x, _, offsets = node.inputs[:3]
        return [(FLOAT32, (offsets.elements - node.attrs["last"], x.shape[1]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        mode, last, padding = (node.attrs[k] for k in ("mode", "last", "padding"))
        weights = args[3] if len(args) > 3 else None
        skipped = None if padding < 0 else padding  # a negative number would count from the end
        return torch.embedding_bag(args[0], args[1], args[2], False, mode, False, weights, last, skipped)[0]

    def emit(self, node: Node, c: Step) -> None:
        (x, ids, offsets), a = node.inputs[:3], node.attrs
        fields = {"rows": x.shape[0], "width": x.shape[1], "count": ids.elements, "bags": node.output.shape[0],
                  "ends": offsets.elements, "mode": a["mode"], "padding": a["padding"]}
        c.use("embedding_bag_f32")
        table = c.table("pl_embedding_bag_t", "bag", fields)
        weights = c.read(node.inputs[3]) if len(node.inputs) > 3 else "0"
        c.call("pl_embedding_bag_f32", table, c.read(x), c.read(ids), c.read(offsets), weights, c.write(node.output))


@lowers("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    b: Builder, weight: Value, indices: Value, offsets: Value, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Value | None = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Value | None, ...]:
    given = [weight, b.cast(indices, INT64), b.cast(offsets, INT64)]
    given += [] if per_sample_weights is None else [per_sample_weights]
    padding = padding_idx % weight.shape[0] if padding_idx < -1 else padding_idx
    y = b.node("embedding_bag", given, mode=mode, last=include_last_offset, padding=padding)
    return y, None, None, None
