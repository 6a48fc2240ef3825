"""Which integer operator of 16-bit activations takes the place of which float operator, and what the makers share.

A 16-bit tensor has zero point 0. `wide_form` registers a form as `integer` does for int8. A form sees inputs and a
result of 16 bits only, because `passes/integer.py` widens and narrows what has 8; forms registered with `narrows` may
write 8 themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from pilotlight.fixed import INT16 as LIMITS16
from pilotlight.graph import INT16, Graph, Node, Quant, Value
from pilotlight.ops import base
from pilotlight.ops.base import Integer, IntegerForm
from pilotlight.ops.q_spec import NodeSpec, narrow

LARGEST = 32768  # absolute value of an activation
_WIDE: dict[str, IntegerForm] = {}
_NARROWS: set[str] = set()


def wide_form(*names: str, narrows: bool = False) -> Callable[[IntegerForm], IntegerForm]:
    """Register how a float operator is computed with 16-bit activations."""

    def wrap(function: IntegerForm) -> IntegerForm:
        for name in names:
            if name in _WIDE:
                raise ValueError(f"{name} has two 16-bit forms")
            _WIDE[name] = function
        _NARROWS.update(names if narrows else ())
        return function

    return wrap


def find_wide_form(name: str) -> IntegerForm | None:
    return _WIDE.get(name)


def narrows(name: str) -> bool:
    """Whether an operator's 16-bit form may write 8 bits."""
    return name in _NARROWS


def as_int16(y: np.ndarray) -> torch.Tensor:
    return narrow(y, np.int16)


def build_node(q: Integer, spec: NodeSpec, *activations: Value, quant: Quant | None = None) -> Node:
    """The node of a spec; its result has the quantization of the form's result unless `quant` is given."""
    return node_of(q.graph, spec, activations, q.node, quant or q.quant)


def node_of(graph: Graph, spec: NodeSpec, activations: tuple[Value, ...], at: Node, quant: Quant) -> Node:
    node = Node(spec.op, spec.inputs(graph, activations), [], dict(spec.attrs), at.place)
    for dtype, shape in base.get(spec.op).infer(node):
        node.outputs.append(graph.fresh(spec.op, dtype, shape))
    node.outputs[0].quant = quant
    return node


def constant16(q: Integer, value: Value) -> Value:
    """A float constant as int16 with a scale of its own; anything else as it is."""
    if value.data is None or value.dtype == INT16:
        return value
    scale = max(float(np.abs(value.data).max()) / LIMITS16[1], 2.0**-40)
    made = q.graph.constant(np.rint(value.data / scale).astype(np.int16), value.name)
    made.quant = Quant(scale, 0)
    return made


def scaled_distances(distances: dict[tuple[int, int], int], size: int = 2) -> dict[tuple[int, int], int]:
    """Overlaps that were counted in elements, in bytes."""
    return {pair: distance * size for pair, distance in distances.items()}
