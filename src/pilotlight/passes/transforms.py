"""Fourier transforms take the window that their rows are multiplied by."""

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
