"""Any smooth function of one 16-bit tensor as straight lines between the numbers of a table:

    i = (x + 2^15) >> shift,  f = (x + 2^15) mod 2^shift
    y = t[i] + ((t[i+1] - t[i])·f + 2^(shift-1)) >> shift

The table has 513 numbers (shift 7) or up to 4,097: the fewest with which every one of the 65,536 inputs gives at most
`ERROR` steps of 32,767 from PyTorch's function. A function that needs more, one with jumps for example, has no form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT16
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import Op, Result, register, same
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.pointwise.float import ROWS
from pilotlight.ops.pointwise.table_int8 import Function, function_of
from pilotlight.ops.spec import Limits, NodeSpec, as_int16, quant_of, wide

ERROR = 24  # steps
SHIFTS = (7, 6, 5, 4)


def interpolated(x: np.ndarray, table: np.ndarray, shift: int) -> np.ndarray:
    at = x + 32768
    first, part = table[at >> shift], at & ((1 << shift) - 1)
    return first + (((table[(at >> shift) + 1] - first) * part + ((1 << shift) >> 1)) >> shift)


@register
class Table16(Op):
    """attrs: shift; inputs: x and the table (2^(16 - shift) + 1). Element by element, in place."""

    name = "qtable_s16"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return as_int16(interpolated(wide(args[0]), wide(args[1]).reshape(-1), node.attrs["shift"]))

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        x, table = node.inputs
        c.use("q_table_s16")
        numbers = (x.elements, node.attrs["shift"])
        c.call("pl_q_table_s16", c.read(x), c.read(table), c.write(node.output), *numbers)


def exact(x: np.ndarray, sx: float, sy: float, function: Function, limits: Limits) -> np.ndarray:
    """PyTorch's function between dequantize and quantize, in float64."""
    real = function(torch.from_numpy(x.astype(np.float64) * sx)).double()
    steps = torch.nan_to_num(real / sy, nan=0.0, posinf=1e6, neginf=-1e6).round()
    return steps.clamp(*limits).to(torch.int64).numpy()


def make_qtable16(
    x: Quant, y: Quant, function: Function, limits: Limits = INT16, called: str = "table"
) -> NodeSpec | None:
    """y = function(x) for a PyTorch function of one tensor; None where lines are too far from it."""
    codes = np.arange(-32768, 32769)
    wanted = exact(codes, x.scale, y.scale, function, limits)
    for shift in SHIFTS:
        table = wanted[:: 1 << shift]
        if np.abs(interpolated(codes[:-1], table, shift) - wanted[:-1]).max() <= ERROR:
            return NodeSpec("qtable_s16", {"shift": shift, "called": called}, (table.astype(np.int16),))
    return None


@form(*(row.name for row in ROWS if row.name not in ("add", "mul", "sub") and row.result == "same"), width=16)
def table(q: Integer) -> list[Node] | None:
    found = function_of(q)
    if found is None:
        return None
    x, function = found
    spec = make_qtable16(quant_of(x), q.quant, function, q.limits, q.node.op)
    return None if spec is None else [q.build(spec, x)]
