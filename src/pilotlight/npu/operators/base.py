"""How one node of the graph is written in TOSA: the functions by operator, and what they share.

A function gives the same integers as the node's reference, or refuses: TOSA's sums have 32 bits and its RESCALE wants
them below 2^(shift-1), which is proven here for every input that there can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pilotlight.graph import INT8, Node, Value
from pilotlight.npu.tosa import DTYPES, Tensor, TosaGraph

WORD = 32  # bits


class RefusedError(Exception):
    """Why a node is not written in TOSA; a part of a sentence about it."""


class Writer:
    """The TOSA of some nodes, while it is written."""

    def __init__(self, inputs: Iterable[Value], family: str = "u55") -> None:
        self.graph, self.family = TosaGraph(), family
        self._known = {value: self.graph.input(value.shape, value.dtype.name) for value in inputs}

    def read(self, value: Value) -> Tensor:
        """An input, an earlier result or a constant."""
        if value.data is not None and value not in self._known:
            self._known[value] = self.graph.constant(value.data.reshape(value.shape))
        return self._known[value]

    def write(self, node: Node) -> None:
        self._known[node.output] = FUNCTIONS[node.op](self, node)

    def finish(self, outputs: Iterable[Value]) -> TosaGraph:
        self.graph.outputs += [self._known[value] for value in outputs]
        return self.graph


Function = Callable[[Writer, Node], Tensor]
FUNCTIONS: dict[str, Function] = {}


def writes(*names: str) -> Callable[[Function], Function]:
    """Register the function of operators."""

    def wrap(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return wrap


def written(nodes: Iterable[Node], inputs: Iterable[Value], outputs: Iterable[Value], family: str) -> TosaGraph:
    """Nodes in their order as TOSA for a family of NPUs."""
    writer = Writer(inputs, family)
    for node in nodes:
        writer.write(node)
    return writer.finish(outputs)


def refusal(node: Node) -> str | None:
    """Why a node has no form in TOSA; None where it has one."""
    moving = [v for v in node.inputs if not v.is_constant]
    others = sorted({v.dtype.name for v in (*moving, *node.outputs) if v.dtype != INT8})
    if others:
        return f"it works on {' and '.join(others)}; the NPU gets int8"
    if node.op not in FUNCTIONS:
        return "there is no form of it in TOSA that gives the same integers"
    if any(not v.elements or not v.shape for v in (*moving, *node.outputs)):
        return "a tensor of it has no elements or no dimensions"
    if not moving:
        return "it has no input that changes"
    try:
        Writer(dict.fromkeys(moving)).write(node)
    except RefusedError as error:
        return str(error)
    return None


def constant(node: Node, number: int) -> np.ndarray:
    """The data of an input that has to be a constant."""
    data = node.inputs[number].data
    if data is None:
        raise RefusedError("its weights are not constants")
    return data.astype(np.int64)


def requantize(t: TosaGraph, acc: Tensor, m: Any, attrs: dict[str, Any], largest: int) -> Tensor:
    """clamp(zy + rhmul(acc << shift, m), lo, hi) of sums up to `largest`: (acc·m + 2^(31-shift)) >> (32-shift)."""
    shift = WORD - attrs["shift"]
    if attrs.get("down") or largest >= 1 << (shift - 1):
        raise RefusedError("its sums need more than 32 bits")
    if np.min(m) < 0:
        raise RefusedError("one of its factors is negative")
    return t.clamp(t.rescale(acc, m, shift, to=attrs["zy"]), attrs["lo"], attrs["hi"])


def widened(w: Writer, x: Tensor, zero: int, factor: int = 1) -> Tensor:
    """(x - zero) · factor as int32, exactly."""
    t, spare = w.graph, WORD - 1 - factor.bit_length()
    if factor < 0 or spare < 9:  # |x - zero| <= 255 has to be below 2^(spare-1)
        raise RefusedError("one of its scales is too far from the result's")
    if factor == 1 or w.family == "u85":
        return t.rescale(x, [factor << spare], spare, zero=zero, dtype="int32")
    # The U55 and U65 scale an operand of a sum in steps of their own, but the result of a convolution in the same one.
    channels = x.shape[-1]
    rows = t.reshape(x, (1, math.prod(x.shape[:-1]), 1, channels))
    ones, none = np.ones((1, 1, channels, 1), np.int8), np.zeros(channels, np.int32)
    operands = [rows, t.constant(ones), t.constant(none), t.number(zero), t.number(0)]
    acc = t.add(
        "DEPTHWISE_CONV2D", operands, rows.shape, "int32", pad=[0] * 4, stride=[1, 1], dilation=[1, 1],
        local_bound=False, acc_type=DTYPES["int32"])
    return t.reshape(t.rescale(acc, [factor << spare], spare, dtype="int32"), x.shape)
