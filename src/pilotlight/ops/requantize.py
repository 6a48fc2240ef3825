"""Integers in another scale, between 8 and 16 bits:

    y = clamp(zy + rhmul((x - zx) << shift, m)), m = rint(sx/sy · 2^(32 - shift))

From int8 to int16 with the same scale this is exact: 16 bits hold x - zx.
"""

from __future__ import annotations

from typing import Any

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import INT8, INT16, Node, Quant, Value
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, quant_of, requantize_table, requantized, wide

TYPES = {8: INT8, 16: INT16}


@register
class Requantize(Op):
    """attrs: bits (of y), zx, m, zy, shift, lo, hi. Element by element."""

    name = "qrequantize"
    called = "requantize"

    def infer(self, node: Node) -> Result:
        return [(TYPES[node.attrs["bits"]], node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        return narrow(requantized(wide(args[0]) - a["zx"], a["m"], a), TYPES[a["bits"]].numpy.type)

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Element i is read before its own bytes are written; a wider y would run into x."""
        growth = node.output.dtype.size - node.inputs[0].dtype.size
        return {(0, 0): -max(growth, 0) * max(node.output.elements - 1, 0)}

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        growth = node.output.dtype.size - node.inputs[0].dtype.size
        return {(0, 0): max(-growth, 0) * max(node.output.elements - 1, 0)}

    def emit(self, node: Node, c: Step) -> None:
        a, x = node.attrs, node.inputs[0]
        c.use("q_requantize")
        table = c.table("pl_requantize_t", "requantize", requantize_table(a))
        kinds = "_".join(f"s{8 * v.dtype.size}" for v in (x, node.output))
        numbers = (x.elements, a["zx"], a["m"], int(c.reverse))
        c.call(f"pl_q_requantize_{kinds}", table, c.read(x), c.write(node.output), *numbers)


def make_rescale(x: Quant, y: Quant, bits: int, limits: Limits | None = None) -> NodeSpec:
    """The same numbers in y's scale, `bits` wide."""
    top = 1 << (bits - 1)
    numbers = output_attrs(x.scale / y.scale, 65535, y.zero_point, limits or (-top, top - 1))
    return NodeSpec("qrequantize", {"bits": bits, "zx": x.zero_point, **numbers})


@form("requantize", width=16, narrows=True)
def rescale(q: Integer) -> list[Node]:
    """A form's only input as its result, where either has 16 bits."""
    return [narrowed(q, q.inputs[0], quant_of(q.inputs[0]))]


def narrowed(q: Integer, value: Value, quant: Quant) -> Node:
    """Integers of the scale `quant` as the result of a form."""
    return q.build(make_rescale(quant, q.quant, 8 * q.dtype.size, q.limits), value)


def widened(q: Integer, value: Value) -> Node:
    """An int8 input of a form as int16 of the same scale, exactly."""
    quant = Quant(quant_of(value).scale, 0)
    return q.build(make_rescale(quant_of(value), quant, 16), value, quant=quant)
