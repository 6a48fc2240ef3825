"""Pooling of int8, channels last: x (N, H, W, C), y (N, OH, OW, C).

average: y = clamp(zy + rhmul(acc << shift, m[count])), acc = Σ (x - zx) over the taps inside the image: padding adds
         nothing, and counts where PyTorch counts it. m[count] = rint(sx / (sy·count) · 2^(32 - shift)).
maximum: y = clamp(max x), in x's own scale; padding never wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Fields, Step
from pilotlight.codegen.walk import forward_distance
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, Node, Quant, Shape
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.base import Op, Result, add_op
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.table_int8 import make_requantize
from pilotlight.ops.pool.float import pool_part
from pilotlight.ops.reduce.int8 import make_qmean
from pilotlight.ops.spec import (
    Limits,
    NodeSpec,
    narrow,
    quant_of,
    requantize_attrs,
    requantize_table,
    requantized,
    requantizer,
    wide,
)


@dataclass(frozen=True)
class Cell:
    """One output pixel: where it is, the rows and columns it reads, and how many elements it counts."""

    at: tuple[int, int]
    rows: range
    columns: range
    count: int


def cells(shape: Shape, attrs: dict[str, Any], adaptive: bool) -> Iterator[Cell]:
    """The windows of a pooling of (N, H, W, C)."""
    sizes = shape[1:3]
    for at in np.ndindex(*attrs["size"]):
        if adaptive:
            spans = [
                range(o * s // n, -(-(o + 1) * s // n)) for o, s, n in zip(at, sizes, attrs["size"], strict=True)
            ]
            yield Cell(at, spans[0], spans[1], len(spans[0]) * len(spans[1]))
            continue
        taps, covered = [], 1
        for o, size, kernel, stride, pad, dilation in zip(
            at, sizes, attrs["kernel"], attrs["stride"], attrs["pad"], attrs["dilation"], strict=True
        ):
            start = o * stride - pad
            skipped = -(start // dilation) * dilation if start < 0 else 0
            taps.append(range(start + skipped, min(start + (kernel - 1) * dilation + 1, size), dilation))
            covered *= min(start + kernel, size + pad) - start
        inside = len(taps[0]) * len(taps[1])
        yield Cell(at, taps[0], taps[1], attrs["divisor"] or (covered if attrs["count_padding"] else inside))


class QPool(Op):
    """attrs: size, kernel, stride, pad, dilation, count_padding, divisor as for float pooling, lo, hi; for averages
    also zy, shift, zx, first (the count of m[0]) and the input m."""

    def __init__(self, kind: str):
        self.kind = kind  # "avg" or "max", "adaptive_avg" or "adaptive_max"
        self.called = f"{kind}_pool2d"
        self.adaptive = kind.startswith("adaptive")
        self.average = kind.endswith("avg")

    def infer(self, node: Node) -> Result:
        n, _, _, c = node.inputs[0].shape
        return [(INT8, (n, *node.attrs["size"], c))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return narrow(self.pooled(node, args))

    def pooled(self, node: Node, args: list[torch.Tensor]) -> np.ndarray:
        """The results before they get their type."""
        x, a = wide(args[0]), node.attrs
        y = np.empty((x.shape[0], *a["size"], x.shape[3]), np.int64)
        for cell in cells(args[0].shape, a, self.adaptive):
            window = x[:, cell.rows][:, :, cell.columns]
            if self.average:
                m = int(args[1].reshape(-1)[cell.count - a["first"]])
                y[:, *cell.at] = requantized((window - a["zx"]).sum(axis=(1, 2)), m, a)
            else:
                y[:, *cell.at] = np.clip(window.max(axis=(1, 2)), a["lo"], a["hi"])
        return y

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return None if self.adaptive else pool_part(node, area, self.average)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Output pixels are written one after another, each while its window is read."""
        n, ih, iw, c = node.inputs[0].shape
        corners = [
            cell.rows.start * iw + cell.columns.start
            for cell in cells(node.inputs[0].shape, node.attrs, self.adaptive)
        ]
        first = (np.arange(n)[:, None] * (ih * iw) + np.array(corners, np.int64)).reshape(-1) * c
        written = np.arange(1, len(first) + 1) * c
        return {(0, 0): forward_distance(first, written)}

    def pool_fields(self, node: Node) -> Fields:
        """The members of `pl_pool2d_t`."""
        a = node.attrs
        shape = (*node.inputs[0].shape, *a["size"])
        fields = dict(zip(("n", "ih", "iw", "c", "oh", "ow"), shape, strict=True))
        names = (("kh", "kw"), ("sh", "sw"), ("top", "left"), ("dh", "dw"))
        for keys, attr in zip(names, ("kernel", "stride", "pad", "dilation"), strict=True):
            fields |= dict(zip(keys, (1, 1) if self.adaptive else a[attr], strict=True))
        return fields | {"count_padding": int(a.get("count_padding", 0)), "divisor": a.get("divisor", 0)}

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        fields: Fields = {
            "pool": self.pool_fields(node), "out": requantize_table({"shift": 0, "zy": 0, **a}), "zx": a.get("zx", 0),
            "first": a.get("first", 0), "adaptive": int(self.adaptive),
        }
        c.use("q_pool2d")
        table = c.table("pl_q_pool2d_t", "pool", fields)
        constants = [c.read(v) for v in node.inputs]
        c.call(f"pl_q_{'avg' if self.average else 'max'}_pool2d", table, *constants, c.write(node.output))


for _kind in ("avg", "max", "adaptive_avg", "adaptive_max"):
    add_op(f"q{_kind}_pool2d", QPool(_kind))


def make_qavg_pool2d(
    x: Quant, y: Quant, shape: Shape, pool: dict[str, Any], adaptive: bool = False, limits: Limits = LIMITS
) -> NodeSpec:
    """`shape` is x's (N, H, W, C); `pool` holds size and, unless adaptive, kernel, stride, pad, dilation,
    count_padding, divisor. One window that is the whole image is a mean."""
    found = list(cells(shape, pool, adaptive))
    counts = [cell.count for cell in found]
    first, taps = min(counts), max(len(cell.rows) * len(cell.columns) for cell in found)
    if len(found) == 1 and first == taps == shape[1] * shape[2]:
        return make_qmean(x, y, shape, (1, 2), limits)
    m = requantizer(x.scale / y.scale / np.arange(first, max(counts) + 1), 255 * taps)
    attrs = {**pool, **requantize_attrs(m, y.zero_point, limits), "zx": x.zero_point, "first": first}
    return NodeSpec(f"q{'adaptive_' * adaptive}avg_pool2d", attrs, (m.value,))


def make_qmax_pool2d(pool: dict[str, Any], adaptive: bool = False, limits: Limits = LIMITS) -> NodeSpec:
    """y has x's scale and zero point; where it should have others, `make_requantize` follows."""
    return NodeSpec(f"q{'adaptive_' * adaptive}max_pool2d", {**pool, "lo": limits[0], "hi": limits[1]})


@form("max_pool2d", "adaptive_max_pool2d", width=8)
def max_pool(q: Integer) -> list[Node] | None:
    """The largest integer is the largest number; another scale takes a table after it."""
    x = q.inputs[0]
    if not all_int8(q):
        return None
    adaptive = q.node.op.startswith("adaptive")
    if x.quant == q.quant:
        return [q.build(make_qmax_pool2d(q.node.attrs, adaptive, q.limits), x)]
    pool = q.build(make_qmax_pool2d(q.node.attrs, adaptive), x, quant=x.quant)
    return [pool, q.build(make_requantize(quant_of(x), q.quant, q.limits), pool.output)]


@form("avg_pool2d", "adaptive_avg_pool2d", width=8)
def average_pool(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x, adaptive = q.inputs[0], q.node.op.startswith("adaptive")
    return [q.build(make_qavg_pool2d(quant_of(x), q.quant, x.shape, q.node.attrs, adaptive, q.limits), x)]
