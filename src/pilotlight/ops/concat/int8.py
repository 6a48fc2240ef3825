"""Int8 tensors side by side; those with another scale go through a table of 256 bytes on their way.
Padding is the float operator's node, with the zero point as its value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from pilotlight.codegen import loops
from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node, Quant
from pilotlight.ops.areas import Area, AreaPart, same_part
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.table_int8 import lookup, table_of
from pilotlight.ops.spec import Limits, NodeSpec, quant_of


@register
class QConcat(Op):
    """attrs: axis, tables: per part the number of its table, or -1; inputs: the parts, then the tables (256)."""

    name = "qconcat"
    called = "concat"

    def infer(self, node: Node) -> Result:
        at, first = node.attrs["axis"], node.inputs[0]
        total = sum(v.shape[at] for v in node.inputs[: len(node.attrs["tables"])])
        return [(INT8, (*first.shape[:at], total, *first.shape[at + 1 :]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        tables = node.attrs["tables"]
        rest = args[len(tables) :]
        parts = [x if t < 0 else lookup(x, rest[t]) for x, t in zip(args, tables, strict=False)]
        return torch.cat(parts, node.attrs["axis"])

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return {**node.attrs, "axis": perm[node.attrs["axis"]]}

    def part(self, node: Node, area: Area) -> AreaPart | None:
        """Side by side in their channels, the parts lie in the same place."""
        return same_part(node, area) if node.attrs["axis"] == 3 else None

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Only along the outermost axis are the parts written one after another."""
        if math.prod(node.output.shape[: node.attrs["axis"]]) != 1:
            return {}
        distances, start = {}, 0
        for k in range(len(node.attrs["tables"])):
            distances[k, 0] = -start
            start += node.inputs[k].bytes
        return distances

    def emit(self, node: Node, c: Step) -> None:
        out, at, tables = node.output, node.attrs["axis"], node.attrs["tables"]
        strides, start = loops.contiguous(out.shape), 0
        for x, t in zip(node.inputs, tables, strict=False):
            if t < 0:
                loops.copy(c, x.shape, x, loops.contiguous(x.shape), 0, out, strides, start * strides[at])
            else:
                run, step = math.prod(x.shape[at:]), math.prod(out.shape[at:])
                c.use("q_table")
                c.line(f"for (int32_t i = 0; i < {math.prod(x.shape[:at])}; i++) {{")
                source = f"{c.read(x)} + (i * {run})"
                target = f"{c.write(out)} + ((i * {step}) + {start * strides[at]})"
                c.line(f"    pl_q_table({source}, {c.read(node.inputs[len(tables) + t])}, {target}, {run});")
                c.line("}")
            start += x.shape[at]


def make_qconcat(parts: Sequence[Quant], y: Quant, axis: int, limits: Limits = LIMITS) -> NodeSpec:
    """The parts along `axis` in y's scale; equal scales share a table."""
    scales = [s for s in dict.fromkeys(parts) if s != y or limits != LIMITS]
    tables = tuple(scales.index(s) if s in scales else -1 for s in parts)
    made = tuple(table_of(s, y, lambda v: v, limits) for s in scales)
    return NodeSpec("qconcat", {"axis": axis, "tables": tables}, made)


def make_qpad(x: Quant, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> NodeSpec:
    """A constant around a tensor, in x's own scale."""
    code = min(max(round(value / x.scale) + x.zero_point, -128), 127)
    return NodeSpec("pad", {"before": tuple(before), "after": tuple(after), "value": code})


@form("concat", width=8)
def concat(q: Integer) -> list[Node] | None:
    """Parts with other scales are rescaled on their way."""
    if not all_int8(q) or any(v.is_constant for v in q.inputs):
        return None
    spec = make_qconcat([quant_of(v) for v in q.inputs], q.quant, q.node.attrs["axis"], q.limits)
    return [q.build(spec, *q.inputs)]
