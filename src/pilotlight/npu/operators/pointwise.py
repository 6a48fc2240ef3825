"""Sums and products of two tensors, and tables: relu, sigmoid and every other function of one tensor."""

from __future__ import annotations

import math

import numpy as np

from pilotlight.graph import Node, Value
from pilotlight.npu.operators.base import RefusedError, Writer, constant, requantize, widened, writes
from pilotlight.npu.tosa import Tensor, TosaGraph

HALF = 16  # fraction bits of a sum


def operands(w: Writer, node: Node) -> list[Tensor]:
    """Both tensors with the rank of the result."""
    rank = len(node.output.shape)

    def ranked(value: Value) -> Tensor:
        return w.graph.reshape(w.read(value), (1,) * (rank - len(value.shape)) + value.shape)

    return [ranked(value) for value in node.inputs]


@writes("qadd")
def add(w: Writer, node: Node) -> Tensor:
    """(a·(x0 - z0) + b·(x1 - z1) + 2^15) >> 16, then the zero point; a difference has a negative b. The zero points
    are in c alone, so they are chosen such that c comes out."""
    n, t = node.attrs, w.graph
    if 255 * (abs(n["a"]) + abs(n["b"])) >= 2**31:
        raise RefusedError("its sums need more than 32 bits")
    zeros = [v.quant.zero_point if v.quant else 0 for v in node.inputs]
    to, rest = divmod(n["c"] - (1 << (HALF - 1)) + n["a"] * zeros[0] + n["b"] * zeros[1], 1 << HALF)
    if rest or not -128 <= to <= 127:
        raise RefusedError("its zero points do not give its offset")
    x, y = operands(w, node)
    pair = [widened(w, x, zeros[0], n["a"]), widened(w, y, zeros[1], abs(n["b"]))]
    total = t.add("SUB" if n["b"] < 0 else "ADD", pair, node.output.shape, "int32")
    return t.clamp(t.rescale(total, [1 << HALF], 2 * HALF, to=to), n["lo"], n["hi"])


@writes("qmul")
def mul(w: Writer, node: Node) -> Tensor:
    """((x0 - z0)(x1 - z1)·a + c) >> shift, where c is the zero point and a half."""
    n, t = node.attrs, w.graph
    to, rest = divmod(n["c"] - (1 << (n["shift"] - 1)), 1 << n["shift"])
    spare = 31 - n["a"].bit_length()
    if rest or not -128 <= to <= 127:
        raise RefusedError("its offset is not a zero point")
    if n["a"] < 0 or 1 << (n["shift"] + spare - 1) <= 255 * 255:
        raise RefusedError("its scales are too far apart")
    x, y = operands(w, node)
    pair = [widened(w, x, n["z0"]), widened(w, y, n["z1"]), t.number(0)]
    product = t.add("MUL", pair, node.output.shape, "int32")
    return t.clamp(t.rescale(product, [n["a"] << spare], n["shift"] + spare, to=to), n["lo"], n["hi"])


def looked_up(t: TosaGraph, x: Tensor, table: np.ndarray) -> Tensor:
    """A table by the byte of x as TOSA has it, by x itself."""
    codes = np.arange(-128, 128)
    return t.add("TABLE", [x, t.constant(table.reshape(-1)[codes & 255].astype(np.int8))], x.shape)


@writes("qtable")
def table(w: Writer, node: Node) -> Tensor:
    return looked_up(w.graph, w.read(node.inputs[0]), constant(node, 1))


@writes("qconcat")
def concat(w: Writer, node: Node) -> Tensor:
    """Parts with another scale go through a table."""
    tables, t = node.attrs["tables"], w.graph
    parts = [w.read(value) for value in node.inputs[: len(tables)]]
    scaled = [
        part if k < 0 else looked_up(t, part, constant(node, len(tables) + k))
        for part, k in zip(parts, tables, strict=True)
    ]
    return t.add("CONCAT", scaled, node.output.shape, axis=node.attrs["axis"])


@writes("qrequantize")
def rescaled(w: Writer, node: Node) -> Tensor:
    """int8 in another scale."""
    a, t = node.attrs, w.graph
    return requantize(t, widened(w, w.read(node.inputs[0]), a["zx"]), [a["m"]], a, 255)


@writes("qscale")
def scale_and_shift(w: Writer, node: Node) -> Tensor:
    """(d·slope + begin) >> shift per channel; one of two slopes, as PReLU has them, is not written."""
    a, t, x = node.attrs, w.graph, node.inputs[0]
    below, above, begin = constant(node, 1).T
    if np.any(below != above):
        raise RefusedError("TOSA has no slope that depends on the sign")
    if np.max(255 * np.abs(above) + np.abs(begin)) >= 2**30:
        raise RefusedError("its sums need more than 32 bits")
    first, last = a["axes"]
    lanes = (math.prod(x.shape[:first]), math.prod(x.shape[first:last]), math.prod(x.shape[last:]))
    row = (1, lanes[1], 1)
    slopes, begins = (t.constant(v.reshape(row).astype(np.int32)) for v in (above, begin - (1 << (a["shift"] - 1))))
    d = widened(w, t.reshape(w.read(x), lanes), a["zx"])
    total = t.add("ADD", [t.add("MUL", [d, slopes, t.number(0)], lanes, "int32"), begins], lanes, "int32")
    y = t.rescale(total, [1 << (31 - a["shift"])], 31)
    return t.reshape(t.clamp(y, a["lo"], a["hi"]), x.shape)
