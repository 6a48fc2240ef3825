"""What a graph has to know about an operator, and the operators by name. `ops/` registers them and adds the rest."""

from __future__ import annotations

import torch

from pilotlight.graph.dtypes import DType
from pilotlight.graph.graph import Node, Shape

Result = list[tuple[DType, Shape]]


class Operator:
    """The meaning of a node: its shape rule and its result."""

    def infer(self, node: Node) -> Result:
        """The dtype and shape of every output, from the inputs and attributes."""
        raise NotImplementedError(f"{type(self).__name__}.infer")

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """What the outputs are, computed with PyTorch; passes and constant folding rely on it."""
        raise NotImplementedError(f"{type(self).__name__}.reference")


_OPERATORS: dict[str, Operator] = {}


def add(name: str, operator: Operator) -> None:
    if name in _OPERATORS:
        raise ValueError(f"operator {name} is registered twice")
    _OPERATORS[name] = operator


def get(name: str) -> Operator:
    return _OPERATORS[name]


def names() -> list[str]:
    return sorted(_OPERATORS)
