"""Linear layers and 1x1 convolutions with float inputs and integer weights: x (..., I), w (O, I), y (..., O).

    X   = the row's inputs as integers with a common exponent    (29 bits; int4: 23 bits, an exponent per chunk)
    sum = Σ X·w, for int4 Σ over chunks of 2^shift · step · Σ X·w                               (exact)
    y   = sum * scale + bias                                                   (float32, rounded after each)

The exact sums make the result the same on every core. It is as close to the sum of float products as float32 can be,
as long as a row's numbers are within 2^29 (int4: 2^23 within a chunk of 32) of one another.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.graph import FLOAT32, Node
from pilotlight.kernels import pack_weights
from pilotlight.kernels.layers import WeightLayer
from pilotlight.ops.base import Result, register
from pilotlight.ops.chosen import Chosen
from pilotlight.ops.dense.conv import NO_CLAMP, clamped

LEAST_EXPONENT = 40  # PL_FIXED_LEAST


def exponent(x: np.ndarray) -> np.ndarray:
    """The exponents, as float32 stores them, of the largest of each last dimension."""
    bits = x.view(np.uint32) & 0x7FFFFFFF
    return np.maximum(bits.max(axis=-1, initial=0) >> 23, LEAST_EXPONENT).astype(np.int64)


def as_integers(x: np.ndarray, e: np.ndarray, bits: int) -> np.ndarray:
    """x in units of 2^(e - 126 - bits), ties away from zero."""
    units = np.ldexp(np.abs(x.astype(np.float64)), (bits + 126 - e)[..., None].astype(np.int32))
    return (np.sign(x) * np.floor(units + 0.5)).astype(np.int64)


class WLinear(Chosen):
    """What both widths share; inputs x, w int8 (O, I), ..., scale (O), bias (O); attrs: clamp."""

    def infer(self, node: Node) -> Result:
        return [(FLOAT32, (*node.inputs[0].shape[:-1], node.inputs[-1].elements))]

    def sums(self, node: Node, x: np.ndarray, args: list[torch.Tensor]) -> np.ndarray:
        """Rows of finite numbers → sums."""
        raise NotImplementedError(type(self).__name__)

    def weights(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        """The real numbers that the weights stand for, as the kernel computes them."""
        raise NotImplementedError(type(self).__name__)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x, scale, bias = args[0], args[-2], args[-1]
        rows = x.reshape(-1, x.shape[-1])
        finite = rows.isfinite().all(dim=1)
        with np.errstate(over="ignore"):
            sums = torch.from_numpy(self.sums(node, torch.where(finite[:, None], rows, 0.0).numpy(), args))
        y = sums * scale + bias
        y[~finite] = F.linear(rows[~finite], self.weights(node, args), bias)
        return clamped(node, y.reshape(*x.shape[:-1], len(bias)))

    def macs(self, node: Node) -> int:
        return node.output.elements * node.inputs[0].shape[-1]

    def layer(self, node: Node) -> WeightLayer:
        """Inputs x, w, [steps], scale, bias."""
        w, *steps, scale, bias = (v.data for v in node.inputs[1:])
        assert w is not None and scale is not None and bias is not None
        a, rows = node.attrs, node.output.elements // len(w) if len(w) else 0
        divided = {"steps": steps[0], "group": a["group"], "bits": a["bits"]} if steps else {}
        lo, hi = a.get("clamp", NO_CLAMP)
        return WeightLayer(rows, w, scale, bias, lo=lo, hi=hi, **divided)


@register
class WLinear8(WLinear):
    """Inputs x, w (O, I), scale (O), bias (O)."""

    name = "wlinear8"
    called = "linear with 8-bit weights"

    def sums(self, node: Node, x: np.ndarray, args: list[torch.Tensor]) -> np.ndarray:
        e = exponent(x)
        total = as_integers(x, e, pack_weights.INPUT_BITS8) @ args[1].numpy().astype(np.int64).T
        return total.astype(np.float32) * np.ldexp(np.float32(1), e - 126 - pack_weights.INPUT_BITS8)[:, None]

    def weights(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return args[1].float() * args[2][:, None]


@register
class WLinear4(WLinear):
    """Inputs x, w (O, I) in -8..7, steps int32 (O, groups), scale (O), bias (O); attrs: group, bits (of an input)."""

    name = "wlinear4"
    called = "linear with 4-bit weights"

    def grid(self, node: Node) -> pack_weights.Grid:
        return pack_weights.Grid(node.inputs[0].shape[-1], node.attrs["group"])

    def sums(self, node: Node, x: np.ndarray, args: list[torch.Tensor]) -> np.ndarray:
        grid, bits = self.grid(node), node.attrs["bits"]
        lowest = exponent(x) - grid.room
        w, steps = args[1].numpy().astype(np.int64), args[2].numpy().astype(np.int64)
        total = np.zeros((len(x), len(w)), np.int64)
        for at in range(0, grid.inputs, grid.chunk):
            part = np.ascontiguousarray(x[:, at : at + grid.chunk])
            e = np.maximum(exponent(part), lowest)
            sums = as_integers(part, e, bits) @ w[:, at : at + grid.chunk].T
            total += sums * (steps[:, at // grid.group] << (e - lowest)[:, None])
        return total.astype(np.float32) * np.ldexp(np.float32(1), lowest - 126 - bits)[:, None]

    def weights(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        steps = args[2].repeat_interleave(node.attrs["group"], 1)[:, : args[1].shape[1]]
        return (args[1] * steps).float() * args[3][:, None]
