"""The border between float and integers, as PyTorch computes it.

quantize: q = clamp(rint(x * (1 / scale)) + zero), ties to even, in float32; NaN becomes the lowest value.
dequantize: x = (q - zero) * scale, in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step, c_float
from pilotlight.fixed import INT8 as LIMITS8
from pilotlight.fixed import INT16 as LIMITS16
from pilotlight.graph import FLOAT32, INT8, INT16, Node, Quant
from pilotlight.ops.areas import Area, AreaPart, same_part
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.spec import Limits, NodeSpec

_DTYPES = {8: INT8, 16: INT16}


@register
class Quantize(Op):
    """attrs: scale, zero, bits (8 or 16), lo, hi."""

    name = "quantize"

    def infer(self, node: Node) -> Result:
        return [(_DTYPES[node.attrs["bits"]], node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        scaled = args[0].float() * (1.0 / a["scale"])
        scaled = torch.where(scaled.isnan(), -torch.inf, scaled)
        return (scaled.round() + a["zero"]).clamp(a["lo"], a["hi"]).to(_DTYPES[a["bits"]].torch)

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return same_part(node, area)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0} if node.attrs["bits"] == 8 else {}

    def emit(self, node: Node, c: Step) -> None:
        a, x = node.attrs, node.inputs[0]
        c.use("q_quantize")
        numbers = (x.elements, c_float(float(np.float32(1.0 / a["scale"]))), a["zero"], a["lo"], a["hi"])
        c.call(f"pl_q_quantize_s{a['bits']}", c.read(x), c.write(node.output), *numbers)


@register
class Dequantize(Op):
    """attrs: scale, zero."""

    name = "dequantize"

    def infer(self, node: Node) -> Result:
        return [(FLOAT32, node.inputs[0].shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return (args[0].float() - node.attrs["zero"]) * node.attrs["scale"]

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return same_part(node, area)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Element i is read before its four bytes are written."""
        x = node.inputs[0]
        return {(0, 0): -3 * max(x.elements - 1, 0)} if x.dtype == INT8 else {}

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0} if node.inputs[0].dtype == INT8 else {}

    def emit(self, node: Node, c: Step) -> None:
        a, x = node.attrs, node.inputs[0]
        c.use("q_dequantize")
        numbers = (x.elements, c_float(a["scale"]), a["zero"], int(c.reverse))
        c.call(f"pl_q_dequantize_s{8 * x.dtype.size}", c.read(x), c.write(node.output), *numbers)


def make_quantize(y: Quant, bits: int = 8, limits: Limits | None = None) -> NodeSpec:
    """float32 to int8 or int16."""
    lo, hi = limits or (LIMITS8 if bits == 8 else LIMITS16)
    return NodeSpec("quantize", {"scale": float(y.scale), "zero": y.zero_point, "bits": bits, "lo": lo, "hi": hi})


def make_dequantize(x: Quant) -> NodeSpec:
    """int8 or int16 to float32."""
    return NodeSpec("dequantize", {"scale": float(x.scale), "zero": x.zero_point})
