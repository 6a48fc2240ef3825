"""The operators of an exported module: their names, and how each is quantized."""

from __future__ import annotations

from torch.fx import Node

from pilotlight.ops.quantizing import DenseLayer, Treatment, treatment_of


def operator_name(node: Node) -> str | None:
    """`add.Tensor`."""
    return str(node.target).removeprefix("aten.") if node.op == "call_function" else None


def treatment(node: Node) -> Treatment:
    """What the operator's file declares."""
    return treatment_of(operator_name(node))


def is_dense(node: Node) -> bool:
    return isinstance(treatment(node).result, DenseLayer)
