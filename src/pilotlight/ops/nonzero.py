"""Elements chosen by a mask: as many as the data says, planned for all of them.

Each operator gives the chosen rows first, zeros after them, and the number of rows that count.
"""

from __future__ import annotations

import math

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import BOOL, INT64, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, lowers, register
from pilotlight.ops.pointwise.float import apply, broadcast_shape


@register
class Compress(Op):
    """x (rows, ...) and mask (rows): the rows where the mask is true, and their number."""

    name = "compress"

    def infer(self, node: Node) -> Result:
        return [(node.inputs[0].dtype, node.inputs[0].shape), (INT64, ())]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return _padded(args[0][args[1].bool()], node.inputs[0].shape)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """A row is never written after the one that is read."""
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        x, mask = node.inputs
        c.use("nonzero")
        row = math.prod(x.shape[1:]) * x.dtype.size
        arguments = f"{c.read(x, 'uint8_t')}, {c.read(mask)}, {c.write(node.outputs[0], 'uint8_t')}"
        c.line(f"*{c.write(node.outputs[1])} = pl_compress({arguments}, {x.shape[0]}, {row});")


@register
class Nonzero(Op):
    """mask: the indices of its true elements (elements, rank), and their number."""

    name = "nonzero"

    def infer(self, node: Node) -> Result:
        mask = node.inputs[0]
        return [(INT64, (mask.elements, len(mask.shape))), (INT64, ())]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return _padded(torch.nonzero(args[0]), node.outputs[0].shape)

    def emit(self, node: Node, c: Step) -> None:
        mask = node.inputs[0]
        c.use("nonzero")
        sizes = f"sizes_{c.index}"
        shape = mask.shape or (1,)
        with c.block(""):
            c.line(f"static const int32_t {sizes}[] = {{{', '.join(map(str, shape))}}};")
            arguments = f"{c.read(mask)}, {c.write(node.outputs[0])}, {sizes}, {len(mask.shape)}, {mask.elements}"
            c.line(f"*{c.write(node.outputs[1])} = pl_nonzero({arguments});")


@register
class NonzeroPlace(Op):
    """x (rows, ...), mask (rows) and v (any, ...): x with its masked rows replaced by the rows of v, in order."""

    name = "place"

    def infer(self, node: Node) -> Result:
        return [(node.inputs[0].dtype, node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x, mask, v = args
        y = x.clone()
        y[mask.bool()] = v[: int(mask.sum())]
        return y

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        x, mask, v = node.inputs
        c.use("nonzero")
        row = math.prod(x.shape[1:]) * x.dtype.size
        c.call("pl_copy", c.write(node.output), c.read(x), x.bytes)
        c.call("pl_place", c.read(v, "uint8_t"), c.read(mask), c.write(node.output, "uint8_t"), x.shape[0],
               v.shape[0], row)


def _padded(rows: torch.Tensor, shape: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    result = torch.zeros(shape, dtype=rows.dtype)
    result[: len(rows)] = rows
    return result, torch.tensor(len(rows))


def nonzero_of(b: Builder, x: Value) -> Value:
    """The indices of the elements that are not zero; `b.count` is their number."""
    mask = b.cast(x, BOOL)
    rows, b.count = b.nodes("nonzero", [mask])
    return rows


@lowers("nonzero.default")
def nonzero(b: Builder, self: Value) -> Value:
    return nonzero_of(b, self)


@lowers("nonzero_static.default")
def nonzero_static(b: Builder, self: Value, size: int, fill_value: int = -1) -> Value:
    """The first `size` indices; rows after the last one hold the filler."""
    rows, count = b.nodes("nonzero", [b.cast(self, BOOL)])
    width = rows.shape[1]
    if size > rows.shape[0]:
        rows = b.node("pad", [rows], before=(0, 0), after=(size - rows.shape[0], 0), value=0)
    elif size < rows.shape[0]:
        rows = b.node("slice", [rows], ranges=((0, size, 1), (0, width, 1)))
    number = b.constant(torch.arange(size).reshape(size, 1), hint="number")
    return apply(b, "where", apply(b, "lt", number, count), rows, fill_value)


@lowers("masked_select.default")
def masked_select(b: Builder, self: Value, mask: Value) -> Value:
    shape = broadcast_shape([self, mask])
    x, chosen = (b.reshape(b.expand(v, shape), (math.prod(shape),)) for v in (self, mask))
    rows, b.count = b.nodes("compress", [x, chosen])
    return rows


def compress(b: Builder, x: Value, mask: Value) -> Value:
    """x[mask], the mask covering the first dimensions of x; `b.count` is the number of rows."""
    inner = x.shape[len(mask.shape) :]
    rows, b.count = b.nodes(
        "compress", [b.reshape(x, (mask.elements, *inner)), b.reshape(mask, (mask.elements,))]
    )
    return rows


@lowers("masked_scatter.default")
def masked_scatter(b: Builder, self: Value, mask: Value, source: Value) -> Value:
    shape = broadcast_shape([self, mask])
    x, chosen = (b.reshape(b.expand(v, shape), (math.prod(shape),)) for v in (self, mask))
    rows = b.reshape(source, (source.elements,))
    return b.reshape(b.node("place", [x, chosen, rows]), shape)


@lowers("_local_scalar_dense.default")
def item(b: Builder, self: Value) -> Value:
    return b.reshape(self, ())
