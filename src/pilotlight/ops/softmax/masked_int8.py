"""Softmax of int8 along one axis where some elements are hidden: the formula of `int8.py` over those that are seen; a
hidden one is 0. A lane that is wholly hidden is uniform.

Models write it as softmax(where(mask, -inf, x)), or as a sum with a constant of 0 and -1e9. Such numbers have no place
in the scale of x, so the mask goes into the operator instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8, rhmul
from pilotlight.graph import Node, Quant, Value
from pilotlight.ops.base import register
from pilotlight.ops.forms import Integer
from pilotlight.ops.pointwise.float import repeats
from pilotlight.ops.softmax.float import lanes
from pilotlight.ops.softmax.int8 import QSoftmax, inverse, make_qsoftmax
from pilotlight.ops.spec import Limits, NodeSpec, narrow, quant_of, requantize_table, requantized, wide

LOW = -1e4  # numbers from here down are not scores


@register
class QMaskedSoftmax(QSoftmax):
    """attrs of qsoftmax; inputs x, hidden (bool, x's shape or its last dimensions), the table of exponentials."""

    name = "qmasked_softmax"
    called = "masked softmax"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x = np.moveaxis(wide(args[0]), a["axis"], -1)
        hidden = np.moveaxis(np.broadcast_to(args[1].numpy(), args[0].shape), a["axis"], -1)
        none = hidden.all(axis=-1, keepdims=True)
        top = np.where(hidden, -256, x).max(axis=-1, keepdims=True)
        table = np.concatenate([wide(args[2]).reshape(-1), np.zeros(256, np.int64)])
        e = np.where(hidden & ~none, 0, table[np.where(hidden, 0, top - x)])
        inverses = np.array([inverse(int(t)) for t in e.sum(axis=-1).reshape(-1)]).reshape(*e.shape[:-1], 2)
        r, h = inverses[..., :1], inverses[..., 1:]
        share = rhmul(e << (30 - a["bits"]), r << 14) >> (h + 15 - a["bits"])
        return narrow(np.moveaxis(requantized(share, a["m"], a), -1, a["axis"]))

    def permuted(self, node: Node, perm: tuple[int, ...]) -> None:
        """The mask repeats in the order that the dimensions have."""
        return

    def emit(self, node: Node, c: Step) -> None:
        a, (x, hidden, exponentials) = node.attrs, node.inputs
        c.use("q_masked_softmax")
        table = c.table("pl_requantize_t", "softmax", requantize_table(a))
        numbers = (*lanes(x.shape, a["axis"]), hidden.elements, exponentials.elements, a["bits"], a["m"])
        pointers = (c.read(x), c.read(hidden), c.read(exponentials), c.write(node.output))
        c.call("pl_q_masked_softmax", table, *pointers, *numbers)


def make_qmasked_softmax(x: Quant, y: Quant, size: int, axis: int, limits: Limits = INT8) -> NodeSpec:
    """Softmax along `axis`, which has `size` elements; the mask follows x."""
    plain = make_qsoftmax(x, y, size, axis, limits)
    return NodeSpec("qmasked_softmax", plain.attrs, plain.constants)


@dataclass(frozen=True)
class Masked:
    """The scores, and a bool value or constant that hides them, or the opposite of one."""

    x: Value
    mask: Value | np.ndarray
    opposite: bool = False

    def form(self, q: Integer) -> list[Node]:
        """The integer nodes; q's only input is x in int8."""
        x, at, before = q.inputs[0], q.node.attrs["axis"], []
        mask = q.graph.constant(self.mask, "hidden") if isinstance(self.mask, np.ndarray) else self.mask
        if self.opposite:
            before.append(q.build(NodeSpec("logical_not", {}), mask))
            mask = before[-1].output
        if not repeats(mask.shape, x.shape):
            before.append(q.build(NodeSpec("expand", {"shape": x.shape}), mask))
            mask = before[-1].output
        for node in before:
            node.output.quant = None
        return [*before, q.build(make_qmasked_softmax(quant_of(x), q.quant, x.shape[at], at, q.limits), x, mask)]


def masked(node: Node, producers: dict[Value, Node]) -> Masked | None:
    """What a softmax hides, if anything."""
    above = producers.get(node.inputs[0]) if node.op == "softmax" else None
    if above is None or above.op not in ("where", "add"):
        return None
    *condition, a, b = above.inputs
    for low, x, opposite in ((a, b, False), (b, a, True)):
        if low.data is None or x.shape != node.output.shape:
            continue
        if condition and low.elements == 1 and float(np.ravel(low.data)[0]) <= LOW:
            return Masked(x, condition[0], opposite)
        if not condition and np.all((low.data == 0) | (low.data <= LOW)):
            return Masked(x, low.data <= LOW)
    return None
