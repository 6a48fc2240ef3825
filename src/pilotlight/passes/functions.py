"""Pointwise operators between one int8 tensor and a quantize: however many there are, they are one function of it.

- With constants of one element only, the function is a table of 256 bytes.
- With constants per channel, a function of two straight lines that meet at zero (a batch norm that no layer could take
  in, PReLU) is `qscale`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from pilotlight import ops
from pilotlight.graph import BOOL, Graph, Node, Quant, Value
from pilotlight.graph.dtypes import INT8
from pilotlight.ops.pointwise.float import is_pointwise
from pilotlight.ops.pointwise.scale_int8 import make_qscale
from pilotlight.ops.pointwise.table_int8 import CODES, make_qtable, make_qtest
from pilotlight.ops.spec import Limits, NodeSpec, quant_of

LONGEST = 64  # operators of a function


@dataclass
class ScalarFunction:
    """Pointwise operators in order, the one int8 tensor they depend on, and the float values that represent it."""

    leaf: Value
    result: Value
    stand_ins: set[Value] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        values = dict.fromkeys(self.stand_ins, x)
        for node in self.nodes:
            args = [values[v] if v.data is None else _constant(v) for v in node.inputs]
            y = ops.get(node.op).reference(node, args)
            assert isinstance(y, torch.Tensor)
            values[node.output] = y
        return values[self.result]

    @property
    def called(self) -> str:
        """The operators by name, as a fused loop has them."""
        return " + ".join(ops.get(node.op).describe(node) for node in self.nodes)

    def constants(self) -> list[Value]:
        return [v for node in self.nodes for v in node.inputs if v.data is not None]

    def spec(self, graph: Graph, quant: Quant, limits: Limits) -> NodeSpec | None:
        """The integer operator that gives the result in this quantization."""
        if self.result.shape != self.leaf.shape:
            return None
        if all(v.elements == 1 for v in self.constants()):
            return make_qtable(quant_of(self.leaf), quant, self, limits, self.called)
        return self._lines(quant, limits)

    def _lines(self, y: Quant, limits: Limits) -> NodeSpec | None:
        shape = np.broadcast_shapes(*(v.shape for v in self.constants()))
        full = (1,) * (len(self.leaf.shape) - len(shape)) + shape
        wide = [i for i, n in enumerate(full) if n != 1]
        axes = wide[0], wide[-1] + 1
        if full[slice(*axes)] != self.leaf.shape[slice(*axes)]:
            return None  # a constant that repeats between its own axes
        x = quant_of(self.leaf)
        d = CODES.astype(np.float64) - x.zero_point
        steps = torch.from_numpy((d * x.scale).astype(np.float32)).reshape(-1, *(1,) * len(full)).expand(-1, *full)
        found = self(steps).double().numpy().reshape(256, -1)  # (codes, channels)
        offset = found[d == 0]
        lines = [np.zeros_like(offset)] * 2
        for k, side in enumerate((d < 0, d > 0)):
            if side.any():
                far = np.abs(d[side]).argmax()
                lines[k] = (found[side][far] - offset) / (d[side][far] * x.scale)
        straight = offset + np.where(d[:, None] < 0, *lines) * d[:, None] * x.scale
        if not np.isfinite(found).all() or np.abs(straight - found).max() > y.scale / 64:
            return None
        return make_qscale(x, y, axes, lines[0], lines[1], offset, limits)

    def test(self) -> NodeSpec | None:
        """The operator that gives a bool result."""
        if self.result.shape != self.leaf.shape or any(v.elements != 1 for v in self.constants()):
            return None
        return make_qtest(quant_of(self.leaf), self, self.called)


def _constant(value: Value) -> torch.Tensor:
    data = torch.from_numpy(np.asarray(value.data))
    return data.reshape(()) if value.elements == 1 else data


def function_of_one(value: Value, producers: dict[Value, Node], real: dict[Value, Value]) -> ScalarFunction | None:
    """How a float or bool value depends on one int8 tensor and constants, if it does. `real` tells which float values
    were dequantized from which integers."""
    leaves: set[Value] = set()
    stand_ins: set[Value] = set()
    nodes: dict[Node, None] = {}

    def visit(v: Value) -> bool:
        if v.is_constant:
            return True
        if v in real:
            leaves.add(real[v])
            stand_ins.add(v)
            return real[v].dtype == INT8
        node = producers.get(v)
        if node is None or not is_pointwise(node.op) or len(nodes) > LONGEST:
            return False
        if node not in nodes:
            if not all(visit(x) for x in node.inputs):
                return False
            nodes[node] = None
        return True

    if not visit(value) or len(leaves) != 1 or not nodes:
        return None
    return ScalarFunction(leaves.pop(), value, stand_ins, list(nodes))


def is_test(node: Node) -> bool:
    """Whether a pointwise operator gives true or false for numbers."""
    return is_pointwise(node.op) and node.output.dtype == BOOL and any(v.dtype.kind == "f" for v in node.inputs)
