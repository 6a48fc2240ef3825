"""What only moves elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pilotlight.graph import Node
from pilotlight.npu.operators.base import RefusedError, Writer, constant, writes
from pilotlight.npu.tosa import Tensor, TosaGraph


def cut(t: TosaGraph, x: Tensor, start: Sequence[int], size: Sequence[int]) -> Tensor:
    """A block of a tensor."""
    if tuple(size) == x.shape:
        return x
    return t.add("SLICE", [x, t.numbers(start), t.numbers(size)], tuple(size), x.dtype)


@writes("reshape", "copy")
def reshape(w: Writer, node: Node) -> Tensor:
    return w.graph.add(
        "RESHAPE", [w.read(node.inputs[0]), w.graph.numbers(node.output.shape)], node.output.shape)


@writes("permute")
def permute(w: Writer, node: Node) -> Tensor:
    return w.graph.add("TRANSPOSE", [w.read(node.inputs[0])], node.output.shape, perms=list(node.attrs["perm"]))


@writes("slice")
def window(w: Writer, node: Node) -> Tensor:
    ranges = node.attrs["ranges"]
    if any(step != 1 for _, _, step in ranges):
        raise RefusedError("TOSA's slice takes every element")
    return cut(w.graph, w.read(node.inputs[0]), [first for first, _, _ in ranges], node.output.shape)


@writes("flip")
def flip(w: Writer, node: Node) -> Tensor:
    y = w.read(node.inputs[0])
    for axis in node.attrs["dims"]:
        y = w.graph.add("REVERSE", [y], y.shape, axis=axis)
    return y


@writes("expand")
def expand(w: Writer, node: Node) -> Tensor:
    t, x, shape = w.graph, node.inputs[0], node.output.shape
    given = (1,) * (len(shape) - len(x.shape)) + x.shape
    times = [size // have for size, have in zip(shape, given, strict=True)]
    return t.add("TILE", [t.reshape(w.read(x), given), t.numbers(times)], shape)


@writes("pad")
def pad(w: Writer, node: Node) -> Tensor:
    """A constant around a tensor; a negative amount crops it first."""
    t, x, sides = w.graph, w.read(node.inputs[0]), (node.attrs["before"], node.attrs["after"])
    cropped = [size + min(b, 0) + min(a, 0) for size, b, a in zip(x.shape, *sides, strict=True)]
    if min(cropped) <= 0:
        raise RefusedError("it crops everything away")
    x = cut(t, x, [max(-amount, 0) for amount in sides[0]], cropped)
    amounts = [max(amount, 0) for pair in zip(*sides, strict=True) for amount in pair]
    if not any(amounts):
        return x
    return t.add("PAD", [x, t.numbers(amounts), t.number(int(node.attrs["value"]))], node.output.shape)


@writes("concat")
def concat(w: Writer, node: Node) -> Tensor:
    parts = [w.read(value) for value in node.inputs]
    return w.graph.add("CONCAT", parts, node.output.shape, axis=node.attrs["axis"])


@writes("qresize2d")
def nearest(w: Writer, node: Node) -> Tensor:
    """Each pixel as a block of equal ones."""
    t, x, (height, width) = w.graph, node.inputs[0], node.attrs["out"]
    rows, columns = (constant(node, k) for k in (1, 2))
    n, h, wide, c = x.shape
    if node.attrs["mode"] != "nearest":
        raise RefusedError("its weights between pixels are not TOSA's")
    if height % h or width % wide:
        raise RefusedError("it is not a whole number of times larger")
    down, across = height // h, width // wide
    if np.any(rows != np.arange(height) // down) or np.any(columns != np.arange(width) // across):
        raise RefusedError("its pixels are not in blocks")
    y = w.read(x)
    if down > 1:
        y = t.add("TILE", [t.reshape(y, (n * h, 1, wide * c)), t.numbers([1, down, 1])], (n * h, down, wide * c))
    if across > 1:
        rows_of = (n * height * wide, 1, c)
        y = t.add("TILE", [t.reshape(y, rows_of), t.numbers([1, across, 1])], (rows_of[0], across, c))
    return t.reshape(y, node.output.shape)
