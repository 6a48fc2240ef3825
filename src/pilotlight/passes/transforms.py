"""Fourier transforms take the window that their rows are multiplied by, and powers are computed without a root."""

from __future__ import annotations

import math

import numpy as np

from pilotlight.graph import FLOAT32, Graph, Node, Value
from pilotlight.passes.edit import Editor


def absorb_fft_windows(graph: Graph) -> Graph:
    """x * window → rfft as one node, which multiplies as it reads: the frames of a signal need no memory."""
    edit = Editor(graph)
    for node in edit:
        if node.op == "rfft" and len(node.inputs) == 1:
            product = edit.producers.get(node.inputs[0])
            if product is not None and product.op == "mul" and edit.alone(product.output):
                _absorb(edit, node, product)
    return edit.done()


def _absorb(edit: Editor, node: Node, product: Node) -> None:
    shape = product.output.shape
    for frames, window in (product.inputs, reversed(product.inputs)):
        weights = _row(window, shape[-1])
        if weights is not None and frames.shape == shape:
            edit.remove(product)
            edit.read(node, [frames, edit.graph.constant(weights, "window")])
            return


def _row(value: Value, points: int) -> np.ndarray | None:
    """The window that a constant is, if it is the same for all rows."""
    if value.data is None or value.dtype != FLOAT32 or math.prod(value.shape[:-1]) != 1:
        return None
    return np.ascontiguousarray(np.broadcast_to(value.data.reshape(-1), (points,)))


def join_powers(graph: Graph) -> Graph:
    """z.abs() ** 2 and z.real ** 2 + z.imag ** 2 as one node."""
    edit = Editor(graph)
    for node in edit:
        pair = None
        if node.op == "square":
            above = edit.producers.get(node.inputs[0])
            if above is not None and above.op == "complex_abs" and edit.alone(above.output):
                pair = above.inputs[0]
        elif node.op == "add":
            left, right = (_squared_part(edit, value) for value in node.inputs)
            if left and right and left[0] is right[0] and {left[1], right[1]} == {0, 1}:
                pair = left[0]
        if pair is not None and pair.elements == 2 * node.output.elements:
            power = edit.graph.fresh("power", FLOAT32, pair.shape[:-1])
            edit.exchange(node, Node("complex_power", [pair], [power], {}, node.place),
                          Node("reshape", [power], node.outputs, {"shape": node.output.shape}, node.place))
    edit.prune()
    return edit.done()


def _squared_part(edit: Editor, value: Value) -> tuple[Value, int] | None:
    """The complex tensor, and which of its parts, that a value is the square of."""
    square = edit.producers.get(value)
    if square is None or not edit.alone(value):
        return None
    if square.op != "square" and not (square.op == "mul" and square.inputs[0] is square.inputs[1]):
        return None
    node = edit.producers.get(square.inputs[0])
    while node is not None and node.op == "reshape":
        node = edit.producers.get(node.inputs[0])
    if node is None or node.op != "slice":
        return None
    *others, last = node.attrs["ranges"]
    pair = node.inputs[0]
    whole = all(r == (0, size, 1) for r, size in zip(others, pair.shape, strict=False))
    if not whole or pair.shape[-1] != 2 or last[1] - last[0] != 1:
        return None
    return pair, last[0]
