"""Sigmoid and tanh of 16 bits as TFLM computes them, in units of 2^-15: one table of the sigmoid for both.

    v = (x·factor + half) >> shift                          in units of 1 / 12288
    sigmoid(|v|) lies between table[|v| >> 9] and the next, tanh(|v|) = 2·sigmoid(2·|v|) - 1

The table has sigmoid(k / 24) with 16 bits, moved towards the curve by half the distance that the line to the next has
from it in the middle.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import Node
from pilotlight.ops.base import Op, Result, register, same
from pilotlight.ops.spec import NodeSpec, as_int16, wide

UNITS = 3 * 4096.0  # of a curve's input
OFFSET = 32768  # what the table has less, so that it fits int16


def sigmoid_table() -> np.ndarray:
    """Of 256 steps; the last one saturates."""
    def exact(k: np.ndarray) -> np.ndarray:
        return 65536.0 / (1.0 + np.exp(-k / 24.0))

    k = np.arange(256.0)
    line = (exact(k) + exact(k + 1)) / 2
    table = np.floor(exact(k) + (exact(k + 0.5) - line) / 2 + 0.5)
    table[255] = 65535
    return (table - OFFSET).astype(np.int16)


def _between(table: np.ndarray, v: np.ndarray, bits: int, top: int) -> np.ndarray:
    full = table.astype(np.int64) + OFFSET
    at = np.minimum(v >> bits, 254)
    y = (full[at] << bits) + (v & ((1 << bits) - 1)) * (full[at + 1] - full[at])
    return np.where(v >> bits >= 255, top, y)


def logistic(table: np.ndarray, v: np.ndarray) -> np.ndarray:
    y = _between(table, np.abs(v), 9, 32767 << 10)
    return np.where(v < 0, (1 << 25) - y + 511, y + 512) >> 10


def tanh(table: np.ndarray, v: np.ndarray) -> np.ndarray:
    y = _between(table, np.abs(v), 8, 65535 << 8)
    return np.where(v < 0, (1 << 23) - y + 127, y - (1 << 23) + 128) >> 8


def curve_input(x: np.ndarray, factor: int, shift: int) -> np.ndarray:
    return (x * factor + ((1 << shift) >> 1)) >> shift


@register
class TflmCurve(Op):
    """attrs: called ("sigmoid" or "tanh"), factor, shift; inputs: x and the table. Element by element, in place."""

    name = "tflm_curve"

    def infer(self, node: Node) -> Result:
        return same(node)

    def describe(self, node: Node) -> str:
        return str(node.attrs["called"])

    def group(self, node: Node) -> str:
        return str(node.attrs["called"])

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        v = curve_input(wide(args[0]), node.attrs["factor"], node.attrs["shift"])
        function = tanh if node.attrs["called"] == "tanh" else logistic
        return as_int16(function(wide(args[1]).reshape(-1), v))

    def permuted(self, node: Node, perm: tuple[int, ...]) -> dict[str, Any]:
        return node.attrs

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        a, (x, table) = node.attrs, node.inputs
        c.use("q_tflm_curve")
        numbers = (x.elements, int(a["called"] == "tanh"), a["factor"], a["shift"])
        c.call("pl_q_tflm_curve", c.read(x), c.read(table), c.write(node.output), *numbers)


def make_tflm_curve(called: str, scale: float) -> NodeSpec:
    """y = sigmoid or tanh of integers with this scale, in units of 2^-15."""
    power = round(math.log2(scale))
    exact = math.log2(scale) == power
    if exact and power in ((-12, -11) if called == "tanh" else (-12,)):
        factor, shift = 3 << (power + 12), 0
    else:
        real, shift = scale * UNITS, 0
        while real <= 32767.0 / 2.0 and shift <= 30:
            real, shift = real * 2.0, shift + 1
        factor = int(real)
    return NodeSpec("tflm_curve", {"called": called, "factor": factor, "shift": shift}, (sigmoid_table(),))
