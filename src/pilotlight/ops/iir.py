"""Recursive filters: `pilotlight::lfilter`, second-order sections with their state in and out, as one loop over time.

    y = b0·x + z0        z0 = b1·x + z1 - a1·y        z1 = b2·x - a2·y

The operator itself, for PyTorch, is in `pilotlight/nn/lfilter.py`.
"""

from __future__ import annotations

import math

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, lowers, register


@register
class Iir(Op):
    """inputs x (..., T), b and a (S, 3), z (..., S, 2); outputs y like x and the next z."""

    name = "iir"
    called = "recursive filter"

    def infer(self, node: Node) -> Result:
        x, _, _, z = node.inputs
        return [(x.dtype, x.shape), (z.dtype, z.shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        x, b, a, z = args
        y, states = x, []
        for section in range(b.shape[0]):
            z0, z1, out = z[..., section, 0], z[..., section, 1], []
            for sample in y.unbind(-1):
                out.append(b[section, 0] * sample + z0)
                z0 = b[section, 1] * sample + z1 - a[section, 1] * out[-1]
                z1 = b[section, 2] * sample - a[section, 2] * out[-1]
            y = torch.stack(out, -1)
            states.append(torch.stack((z0, z1), -1))
        return y, torch.stack(states, -2)

    def describe(self, node: Node) -> str:
        sections = node.inputs[1].shape[0]
        return f"recursive filter of {sections} section{'s' if sections > 1 else ''}"

    def macs(self, node: Node) -> int:
        return 5 * node.inputs[0].elements * node.inputs[1].shape[0]

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0, (3, 1): 0}

    def emit(self, node: Node, c: Step) -> None:
        c.use("iir_f32")
        x, b = node.inputs[:2]
        rows = math.prod(x.shape[:-1])
        reads, writes = map(c.read, node.inputs), map(c.write, node.outputs)
        c.call("pl_iir_f32", *reads, *writes, rows, x.shape[-1], b.shape[0])


@lowers("pilotlight.lfilter.default")
def lfilter(builder: Builder, /, x: Value, b: Value, a: Value, zi: Value) -> tuple[Value, ...]:
    if not b.shape[0] or not x.elements:
        return x, zi
    return tuple(builder.nodes("iir", [builder.cast(v, FLOAT32) for v in (x, b, a, zi)]))
