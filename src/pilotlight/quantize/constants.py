"""What is constant in an exported module: parameters, buffers that nobody writes, and what is computed from them."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

LOW = -1e4  # numbers from here down hide an element from a softmax: they are not scores


def is_state(node: Any) -> bool:
    """A buffer that the model writes, or a copy of it: PT2E would take its present value for a constant."""
    if node.target is torch.ops.aten.clone.default:
        return is_state(node.args[0])
    return node.op == "get_attr" and any(
        user.target is torch.ops.aten.copy_.default and user.args[0] is node for user in node.users
    )


class Constants:
    """Values of the nodes that depend on no input. Each node is visited once: the number of
    paths through residual blocks grows exponentially, the number of nodes does not."""

    def __init__(self, model: GraphModule):
        self.model = model
        self.known: dict[Node, Any] = {}  # None where a node is not a constant

    def __call__(self, node: Any) -> torch.Tensor | None:
        """A node's value, if it is a constant tensor."""
        found = self._value(node) if isinstance(node, Node) else None
        return found.detach() if isinstance(found, torch.Tensor) else None

    def _value(self, node: Node) -> Any:
        waiting = [node]
        while waiting:
            last = waiting[-1]
            missing = [a for a in last.all_input_nodes if a not in self.known] if _is_pure(last) else []
            if missing and all(self.known.get(a, 0) is not None for a in last.all_input_nodes):
                waiting.append(missing[0])
                continue
            if last not in self.known:
                self.known[last] = self._evaluated(last)
            waiting.pop()
        return self.known[node]

    def _evaluated(self, node: Node) -> Any:
        if node.op == "get_attr" and not is_state(node):
            found: Any = self.model
            for part in str(node.target).split("."):
                found = getattr(found, part)
            return found
        if not _is_pure(node) or any(self.known.get(a) is None for a in node.all_input_nodes):
            return None
        assert callable(node.target)
        return node.target(*map_arg(node.args, self.known.get), **map_arg(node.kwargs, self.known.get))


def _is_pure(node: Node) -> bool:
    """Whether a node computes from its arguments alone, and changes none of them."""
    if node.op != "call_function" or len(node.all_input_nodes) > 4:
        return False
    if node.target is operator.getitem:
        return True
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
        return False
    return not node.target._schema.is_mutable and torch.Tag.nondeterministic_seeded not in node.target.tags


def masked_scores(constant: Constants, node: Node, name: str) -> Node | None:
    """The scores of which a node hides some from the softmax after it: filled with, or added to, very low numbers."""
    if name == "masked_fill.Scalar":
        x, _, low = node.args
        return x if isinstance(x, Node) and isinstance(low, float | int) and low <= LOW else None
    if name == "where.self":
        for x, low in (node.args[1:], node.args[:0:-1]):
            value = constant(low)
            if isinstance(x, Node) and value is not None and value.numel() == 1 and float(value) <= LOW:
                return x
    if name == "add.Tensor":
        for x, low in (node.args[:2], node.args[1::-1]):
            value = constant(low)
            if isinstance(x, Node) and value is not None and bool(((value == 0) | (value <= LOW)).all()):
                return x if value.numel() > 1 else None
    return None
