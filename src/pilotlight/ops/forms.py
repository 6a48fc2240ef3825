"""Which integer nodes take the place of a float operator, by the width of the activations and the graph's contract.

`@form("softmax", width=8)` registers a function that returns these nodes, or None where it cannot. A form of width 8
reads and writes int8. One of width 16 sees 16 bits only, because `passes/integer.py` widens and narrows what has 8;
those registered with `narrows` may write 8 bits themselves. `numerics=TFLM` registers the form of TFLM's contract
(`pilotlight.fixed`); an operator that has none is refused there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pilotlight import fixed
from pilotlight.graph import INT8, INT16, DType, Graph, Node, Quant, Value
from pilotlight.ops.base import get
from pilotlight.ops.spec import Limits, NodeSpec

WIDTHS = {8: INT8, 16: INT16}
LIMITS = {8: fixed.INT8, 16: fixed.INT16}
REPLACES = "replaces"  # attribute of a node with integers: the float operator whose place it took


@dataclass
class Integer:
    """A float node between dequantized inputs and a quantized output, to be made integer."""

    graph: Graph
    node: Node
    inputs: list[Value]  # integers with their `quant`; constants as they are
    quant: Quant  # of the result
    dtype: DType  # of the result
    limits: Limits  # of the result, a clamp after the operator included

    def build(self, spec: NodeSpec, *activations: Value, quant: Quant | None = None) -> Node:
        """The node of a spec; its first output has the quantization of the result unless `quant` is given."""
        node = spec.node(self.graph, activations, [], self.node.place)
        for dtype, shape in get(spec.op).infer(node):
            node.outputs.append(self.graph.fresh(spec.op, dtype, shape))
        node.outputs[0].quant = quant or self.quant
        return node

    def constant(self, value: Value, width: int) -> Value:
        """A float constant as integers with a scale of their own; anything else as it is."""
        if value.data is None or value.dtype == WIDTHS[width]:
            return value
        scale = max(float(np.abs(value.data).max()) / LIMITS[width][1], 2.0**-40)
        if self.graph.numerics == fixed.TFLM:
            scale = float(np.float32(scale))
        made = self.graph.constant(np.rint(value.data / scale).astype(WIDTHS[width].numpy), value.name)
        made.quant = Quant(scale, 0)
        return made


IntegerForm = Callable[[Integer], "list[Node] | None"]

_FORMS: dict[tuple[str, int, str], IntegerForm] = {}
_NARROWS: set[str] = set()
_FLOAT_INPUTS: dict[str, tuple[int, ...]] = {}


def form(
    *names: str, width: int, narrows: bool = False, float_inputs: tuple[int, ...] = (),
    numerics: str = fixed.PILOTLIGHT,
) -> Callable[[IntegerForm], IntegerForm]:
    """Register how float operators are computed with activations of `width` bits; `float_inputs` are those that the
    form quantizes itself."""

    def wrap(function: IntegerForm) -> IntegerForm:
        for name in names:
            if (name, width, numerics) in _FORMS:
                raise ValueError(f"{name} has two forms of {width} bits")
            _FORMS[name, width, numerics] = function
        _NARROWS.update(names if narrows else ())
        _FLOAT_INPUTS.update(dict.fromkeys(names, float_inputs) if float_inputs else {})
        return function

    return wrap


def form_of(name: str, width: int, numerics: str = fixed.PILOTLIGHT) -> IntegerForm | None:
    return _FORMS.get((name, width, numerics))


def narrows(name: str) -> bool:
    """Whether an operator's 16-bit form may write 8 bits."""
    return name in _NARROWS


def float_inputs(name: str) -> tuple[int, ...]:
    """The inputs that an operator's forms take as they are."""
    return _FLOAT_INPUTS.get(name, ())


def all_int8(q: Integer) -> bool:
    return q.dtype == INT8 and all(v.dtype == INT8 and v.quant is not None for v in q.inputs if not v.is_constant)
