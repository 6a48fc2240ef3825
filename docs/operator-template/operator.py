"""A template to copy to src/pilotlight/ops/NAME.py: rows divided by their peak, x / max(|x|, tiny) along the last axis.

In int8, for a row with d = x - zx and the peak p = max |d|, at least 1:
    r = 2^30 / p
    y = clamp(zy + rhmul(d·r << shift, m)), m = rint(2^-30 / sy · 2^(32 - shift))
At most one step from float.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import Node, Quant, Value
from pilotlight.graph.builder import Builder
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.registry import offers
from pilotlight.ops.base import Op, Result, lowers, register, same
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.quantizing import FixedRange, Treatment
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, quant_of, requantize_table, requantized, wide

OUTPUT = Quant(1.0 / 128.0, 0)
TINY = 1e-12


# ---- float -------------------------------------------------------------------------------------------------


@register
class Peak(Op):
    """No attrs; input x (rows, n). Row by row, in place."""

    name = "peak"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return args[0] / args[0].abs().amax(-1, keepdim=True).clamp_min(TINY)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        x = node.inputs[0]
        c.use("peak_f32")
        c.call("pl_peak_f32", c.read(x), c.write(node.output), *x.shape)


@lowers("template.peak.default", quantized=Treatment(FixedRange(OUTPUT.scale, OUTPUT.zero_point)))
def peak(b: Builder, x: Value) -> Value:
    if x.dtype.kind != "f":
        raise b.refuse(f"the peak of {x.dtype} is not supported; expected float32")
    size = x.shape[-1] if x.shape else 1
    return b.reshape(b.node("peak", [b.reshape(x, (x.elements // size, size))]), x.shape)


# ---- int8 --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeakLayer:
    """What the int8 kernels are registered for."""

    rows: int
    size: int
    attrs: dict[str, int]


@register
class QPeak(Chosen):
    """attrs: zx, m, zy, shift, lo, hi; input x (rows, n)."""

    name = "qpeak"
    called = "peak"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        d = wide(args[0]) - a["zx"]
        r = (1 << 30) // np.maximum(np.abs(d).max(axis=-1, keepdims=True), 1)
        return narrow(requantized(d * r, a["m"], a))

    def layer(self, node: Node) -> PeakLayer:
        rows, size = node.inputs[0].shape
        return PeakLayer(rows, size, node.attrs)


def make_qpeak(x: Quant, y: Quant, limits: Limits = LIMITS) -> NodeSpec:
    """The integer node from the scales of its tensors; refuses what 32 bits do not hold."""
    return NodeSpec("qpeak", {"zx": x.zero_point, **output_attrs(2.0**-30 / y.scale, 1 << 30, y.zero_point, limits)})


@form("peak", width=8)
def peak_form(q: Integer) -> list[Node] | None:
    """Which integer nodes take the place of the float node."""
    if not all_int8(q):
        return None
    return [q.build(make_qpeak(quant_of(q.inputs[0]), q.quant, q.limits), q.inputs[0])]


# ---- kernels -----------------------------------------------------------------------------------------------


def _candidate(layer: PeakLayer, name: str, driver: str, each: float) -> Candidate:
    a = layer.attrs
    fields = {"rows": layer.rows, "n": layer.size, "zx": a["zx"], "m": a["m"], "out": requantize_table(a)}
    return Candidate(
        name, headers=(driver,), driver=f"pl_{driver}", ctype="pl_q_peak_t", table=lambda backward: fields,
        pack=lambda: (), distance=0, instructions=int(layer.rows * (30 + layer.size * each)), hint="peak",
    )


@offers(PeakLayer)
def portable(layer: PeakLayer, target: Target) -> Iterator[Candidate]:
    """For every core; the others have to give its bytes."""
    yield _candidate(layer, "portable.peak", "q_peak", 20)


@offers(PeakLayer, needs={"thumb2"})
def extremes(layer: PeakLayer, target: Target) -> Iterator[Candidate]:
    """For cores with conditional moves: it competes by its estimate of instructions."""
    yield _candidate(layer, "thumb2.peak", "q_peak_extremes", 16)
