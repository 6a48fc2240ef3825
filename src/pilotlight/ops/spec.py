"""What the makers of integer nodes share: scales in, integer constants out.

A maker is a pure function: it takes the quantization of its tensors and returns a `NodeSpec`, the node without its
activations. 16-bit tensors have zero point 0.

Two ways bring a real factor s into integers, both chosen when the model is compiled:
- `rhmul`, the contract of `pilotlight.fixed`, where the accumulator may be large;
- `Terms`, y = (Σ a_i·x_i + c) >> shift in 32 bits, where the x_i are small: one multiply per operand on every core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Fields
from pilotlight.errors import PilotlightError
from pilotlight.fixed import INT8, Multiplier, multiplier, rhmul
from pilotlight.graph import Graph, Node, Place, Quant, Value
from pilotlight.graph.builder import Builder

Limits = tuple[int, int]
LIMIT = 2**31
LARGEST = 32768  # absolute value of a 16-bit activation


def quant_of(value: Value) -> Quant:
    """What the integers of a value stand for."""
    assert value.quant is not None
    return value.quant


@dataclass(frozen=True)
class NodeSpec:
    """An integer node without its activations, which come before the constants in `inputs`."""

    op: str
    attrs: dict[str, Any]
    constants: tuple[np.ndarray, ...] = field(default=())

    def inputs(self, graph: Graph, activations: Sequence[Value]) -> list[Value]:
        return [*activations, *(graph.constant(c, f"{self.op}_const") for c in self.constants)]

    def node(self, graph: Graph, activations: Sequence[Value], outputs: Sequence[Value], place: Place) -> Node:
        """The node, for values that exist."""
        return Node(self.op, self.inputs(graph, activations), list(outputs), dict(self.attrs), place)

    def build(self, b: Builder, *activations: Value) -> list[Value]:
        """Append the node and return its outputs."""
        return b.nodes(self.op, self.inputs(b.graph, activations), None, **self.attrs)


@dataclass(frozen=True)
class Terms:
    """y = (Σ factors·x + offset) >> shift."""

    factors: tuple[int, ...]
    offset: int
    shift: int


def terms(scales: Sequence[float], largest: Sequence[int], offset: float) -> Terms:
    """Integers for Σ scales·x + offset, rounded, |x_i| <= largest_i: as many fraction bits as 32 bits hold."""
    for shift in range(23, 0, -1):
        factors = tuple(int(np.rint(s * 2.0**shift)) for s in scales)
        constant = int(np.rint(offset * 2.0**shift)) + (1 << (shift - 1))
        if sum(abs(f) * m for f, m in zip(factors, largest, strict=True)) + abs(constant) < LIMIT:
            return Terms(factors, constant, shift)
    raise overflow(max(abs(s) for s in scales))


def overflow(ratio: float) -> PilotlightError:
    return PilotlightError(
        f"the output's scale is {ratio:g} times finer than its inputs', which 32-bit integers cannot hold",
        hint="calibrate with data that reaches the range this operator sees, or keep it in float",
        kind="overflow",
    )


def requantizer(scale: np.ndarray | float, largest: int) -> Multiplier:
    """The multiplier of `scale` for accumulators up to `largest`."""
    m = multiplier(scale)
    if largest << m.shift >= LIMIT:
        raise overflow(float(np.max(scale)))
    return m


def requantize_attrs(m: Multiplier, zero: int, limits: Limits = INT8) -> dict[str, int]:
    """The fields of pl_requantize_t as attributes."""
    return {"zy": zero, "shift": m.shift, "lo": limits[0], "hi": limits[1]}


def output_attrs(scale: float, largest: int, zero: int, limits: Limits = INT8) -> dict[str, int]:
    """The attributes of a node that ends with one multiplier: accumulators up to `largest` times `scale`."""
    m = requantizer(scale, largest)
    return {"m": int(m.value[0]), **requantize_attrs(m, zero, limits)}


def requantized(acc: np.ndarray, m: np.ndarray | int, attrs: dict[str, Any]) -> np.ndarray:
    """clamp(zy + rhmul(acc << shift, m), lo, hi)."""
    high = rhmul(acc.astype(np.int64) << attrs["shift"], m)
    return np.clip(high + attrs["zy"], attrs["lo"], attrs["hi"])


def requantize_table(attrs: dict[str, Any]) -> Fields:
    """A pl_requantize_t."""
    return {k: attrs[k] for k in ("zy", "shift", "lo", "hi")}


def wide(x: torch.Tensor) -> np.ndarray:
    return x.detach().numpy().astype(np.int64)


def narrow(y: np.ndarray, dtype: type = np.int8) -> torch.Tensor:
    """A result in its type; one number stays without dimensions."""
    return torch.from_numpy(np.array(y, dtype, order="C"))


def as_int16(y: np.ndarray) -> torch.Tensor:
    return narrow(y, np.int16)


def scaled_distances(distances: dict[tuple[int, int], int], size: int = 2) -> dict[tuple[int, int], int]:
    """Overlaps that were counted in elements, in bytes."""
    return {pair: distance * size for pair, distance in distances.items()}
