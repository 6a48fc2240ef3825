"""Batch norm and every other constant scale and shift go into the weights of the layer before them."""

from __future__ import annotations

import numpy as np

from pilotlight.graph import Graph, Node, Value
from pilotlight.passes.edit import Editor

OUTPUT_AXIS = {"conv2d": 0, "linear": 0, "conv_transpose2d": 3}  # of the weight


def fold_affine(graph: Graph) -> Graph:
    """conv, linear → multiply, add, subtract by a constant per output channel: one node."""
    edit = Editor(graph)
    for node in edit:
        found = _match(node, edit)
        if found is None:
            continue
        x, dense, constant = found
        inputs = _folded(graph, node, dense, constant)
        if inputs is not None:
            edit.read(dense, inputs)
            edit.remove(node)
            edit.replace(node.output, x)
    return edit.done()


def _match(node: Node, edit: Editor) -> tuple[Value, Node, Value] | None:
    if node.op not in ("mul", "add", "sub"):
        return None
    left, right = node.inputs
    for x, constant in ((left, right), (right, left)):
        dense = edit.layer(x, OUTPUT_AXIS) if constant.is_constant else None
        if dense is None or dense.attrs.keys() & {"clamp", "weight_scale"}:
            continue
        if node.op == "sub" and constant is left:
            continue
        if dense.op == "conv_transpose2d" and dense.attrs["groups"] != 1:
            continue
        if node.output.shape == x.shape and constant.elements in (1, *constant.shape[-1:]):
            return x, dense, constant
    return None


def _folded(graph: Graph, node: Node, dense: Node, constant: Value) -> list[Value] | None:
    """The inputs of a layer that also computes the node after it."""
    x, weight, bias = dense.inputs
    if weight.data is None or bias.data is None or constant.data is None:
        return None
    channels = bias.elements
    number = np.broadcast_to(constant.data.reshape(-1).astype(np.float64), (channels,))
    w, b = weight.data.astype(np.float64), bias.data.astype(np.float64)
    if node.op == "mul":
        shape = [1] * w.ndim
        shape[OUTPUT_AXIS[dense.op]] = channels
        w, b = w * number.reshape(shape), b * number
    else:
        b = b + number if node.op == "add" else b - number
    w32, b32 = w.astype(np.float32), b.astype(np.float32)
    return [x, graph.constant(w32, weight.name), graph.constant(b32, bias.name)]
