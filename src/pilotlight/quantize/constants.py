"""What is constant in an exported module: parameters, buffers that nobody writes, and what is computed from them."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

LOW = -1e4  # numbers from here down hide an element from a softmax: they are no scores


def is_state(node: Node) -> bool:
    """A buffer that the model writes: PT2E would take what it holds now for a constant."""
    return node.op == "get_attr" and any(
        str(user.target).split(".")[-2].endswith("_") and user.args[:1] == (node,) for user in node.users
    )


def constant(model: GraphModule, node: Any) -> torch.Tensor | None:
    """The value of a node that depends on no input."""
    found = _evaluated(model, node) if isinstance(node, Node) else None
    return found.detach() if isinstance(found, torch.Tensor) else None


def _evaluated(model: GraphModule, node: Node) -> Any:
    if is_state(node):
        return None
    if node.op == "get_attr":
        found: Any = model
        for part in str(node.target).split("."):
            found = getattr(found, part)
        return found
    if node.op != "call_function" or len(node.all_input_nodes) > 4:
        return None
    if node.target is not operator.getitem and not str(node.target).startswith("aten."):
        return None
    values = {a: _evaluated(model, a) for a in node.all_input_nodes}
    if any(v is None for v in values.values()):
        return None
    assert callable(node.target)
    return node.target(*map_arg(node.args, values.get), **map_arg(node.kwargs, values.get))


def masked_scores(model: GraphModule, node: Node, name: str) -> Node | None:
    """The scores of which a node hides some from the softmax behind it: filled with, or added to, very low numbers."""
    if name == "masked_fill.Scalar":
        x, _, low = node.args
        return x if isinstance(x, Node) and isinstance(low, float | int) and low <= LOW else None
    if name == "where.self":
        for x, low in (node.args[1:], node.args[:0:-1]):
            value = constant(model, low)
            if isinstance(x, Node) and value is not None and value.numel() == 1 and float(value) <= LOW:
                return x
    if name == "add.Tensor":
        for x, low in (node.args[:2], node.args[1::-1]):
            value = constant(model, low)
            if isinstance(x, Node) and value is not None and bool(((value == 0) | (value <= LOW)).all()):
                return x if value.numel() > 1 else None
    return None
