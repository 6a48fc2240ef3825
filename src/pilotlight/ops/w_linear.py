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

from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.graph import FLOAT32, Graph, Node
from pilotlight.kernels import pack_f32, pack_weights
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.conv import NO_CLAMP, clamped

LEAST_EXPONENT = 40  # PL_FIXED_LEAST


def exponent(x: np.ndarray) -> np.ndarray:
    """The exponents, as float32 stores them, of the largest of each last dimension."""
    bits = x.view(np.uint32) & 0x7FFFFFFF
    return np.maximum(bits.max(axis=-1, initial=0) >> 23, LEAST_EXPONENT).astype(np.int64)


def as_integers(x: np.ndarray, e: np.ndarray, bits: int) -> np.ndarray:
    """x in units of 2^(e - 126 - bits), ties away from zero."""
    units = np.ldexp(np.abs(x.astype(np.float64)), (bits + 126 - e)[..., None].astype(np.int32))
    return (np.sign(x) * np.floor(units + 0.5)).astype(np.int64)


class WLinear(Op):
    """What both widths share; inputs x, w int8 (O, I), ..., scale (O), bias (O); attrs: clamp."""

    header = ""

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

    def shape(self, node: Node) -> tuple[int, int, int]:
        """Rows, inputs, outputs."""
        i, o = node.inputs[0].shape[-1], node.output.shape[-1]
        return (node.output.elements // o if o else 0), i, o

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): pack_weights.forward_distance(*self.shape(node))}

    def reverse_overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): pack_weights.reverse_distance(*self.shape(node))}

    def numbers(self, node: Node) -> dict[str, int]:
        """The members of the kernel's struct up to `reverse`."""
        n, i, o = self.shape(node)
        return {"n": n, "i": i, "o": o, "width": pack_weights.width(i)}

    def emit(self, node: Node, c: Step) -> None:
        c.use(self.header)
        limits = pack_f32.limits(*node.attrs.get("clamp", NO_CLAMP))
        table = c.table(f"pl_{self.header}_t", "linear", {**self.numbers(node), "reverse": int(c.reverse), **limits})
        x, *constants = node.inputs
        reads = [c.read(v, ctype) for v, ctype in zip(constants, self.ctypes(), strict=True)]
        c.call(f"pl_{self.header}", table, c.read(x), *reads, c.write(node.output), c.scratch())

    def ctypes(self) -> list[str]:
        return ["int8_t", "float", "float"]


@register
class WLinear8(WLinear):
    """Inputs x, w (O, I), scale (O), bias (O)."""

    name = "wlinear8"
    called = "linear with 8-bit weights"
    header = "linear_w8"

    def sums(self, node: Node, x: np.ndarray, args: list[torch.Tensor]) -> np.ndarray:
        e = exponent(x)
        total = as_integers(x, e, pack_weights.INPUT_BITS8) @ args[1].numpy().astype(np.int64).T
        return total.astype(np.float32) * np.ldexp(np.float32(1), e - 126 - pack_weights.INPUT_BITS8)[:, None]

    def weights(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        return args[1].float() * args[2][:, None]

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        weight = node.inputs[1]
        assert weight.data is not None
        node.inputs[1] = graph.constant(pack_weights.pack_w8(weight.data), weight.name)

    def scratch(self, node: Node) -> int:
        return 4 * pack_weights.width(node.inputs[0].shape[-1])


@register
class WLinear4(WLinear):
    """Inputs x, w (O, I) in -8..7, steps int32 (O, groups), scale (O), bias (O); attrs: group, bits (of an input)."""

    name = "wlinear4"
    called = "linear with 4-bit weights"
    header = "linear_w4"

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

    def prepare(self, node: Node, graph: Graph, target: Target) -> None:
        x, weight, steps, scale, bias = node.inputs
        assert weight.data is not None and steps.data is not None
        packed = graph.constant(pack_weights.pack_w4(weight.data), weight.name)
        node.inputs = [x, packed, graph.constant(pack_weights.pack_steps(steps.data), steps.name), scale, bias]

    def scratch(self, node: Node) -> int:
        inputs = node.inputs[0].shape[-1]
        return 4 * (pack_weights.width(inputs) + self.grid(node).chunks)

    def numbers(self, node: Node) -> dict[str, int]:
        grid = self.grid(node)
        per = node.attrs["group"] // grid.chunk
        return super().numbers(node) | {
            "chunk": grid.chunk, "per": per, "groups": grid.groups, "bits": node.attrs["bits"], "room": grid.room,
        }

    def ctypes(self) -> list[str]:
        return ["uint32_t", "uint16_t", "float", "float"]
