"""Which integer operator takes the place of which float operator."""

from __future__ import annotations

from collections.abc import Callable

import torch

from pilotlight.graph import Node, Value
from pilotlight.graph.dtypes import INT8
from pilotlight.ops import base
from pilotlight.ops.base import Integer, integer
from pilotlight.ops.pointwise import ROWS
from pilotlight.ops.q_binary import make_qadd, make_qmul
from pilotlight.ops.q_concat import make_qconcat
from pilotlight.ops.q_mean import make_qmean
from pilotlight.ops.q_pool import make_qavg_pool2d, make_qmax_pool2d
from pilotlight.ops.q_recipe import Affine, Recipe
from pilotlight.ops.q_softmax import make_qsoftmax
from pilotlight.ops.q_table import make_qtable, make_requantize


def affine(value: Value) -> Affine:
    assert value.quant is not None
    return Affine(value.quant.scale, value.quant.zero_point)


def cook(q: Integer, recipe: Recipe, *activations: Value) -> list[Node]:
    """The node of a recipe, with the quantization of the result on its output."""
    node = Node(recipe.op, recipe.inputs(q.graph, activations), [], dict(recipe.attrs), q.node.place)
    for dtype, shape in base.get(recipe.op).infer(node):
        node.outputs.append(q.graph.fresh(recipe.op, dtype, shape))
    node.outputs[0].quant = q.quant
    return [node]


def result(q: Integer) -> Affine:
    return Affine(q.quant.scale, q.quant.zero_point)


def all_int8(q: Integer) -> bool:
    return q.dtype == INT8 and all(v.dtype == INT8 and v.quant is not None for v in q.inputs if not v.is_constant)


@integer("requantize")
def requantize(q: Integer) -> list[Node] | None:
    return cook(q, make_requantize(affine(q.inputs[0]), result(q), q.limits), q.inputs[0]) if all_int8(q) else None


def _function(q: Integer) -> tuple[Value, Callable[[torch.Tensor], torch.Tensor]] | None:
    """A pointwise operator of one activation and constants of one element as a function of that activation."""
    moving = [v for v in q.inputs if not v.is_constant]
    if len(moving) != 1 or any(v.elements != 1 for v in q.inputs if v.is_constant):
        return None
    constants = {k: torch.from_numpy(v.data).reshape(()) for k, v in enumerate(q.inputs) if v.data is not None}
    count = len(q.inputs)
    op = base.get(q.node.op)

    def function(x: torch.Tensor) -> torch.Tensor:
        y = op.reference(q.node, [constants.get(k, x) for k in range(count)])
        assert isinstance(y, torch.Tensor)
        return y

    return moving[0], function


@integer(*(row.name for row in ROWS if row.name not in ("add", "mul", "sub") and row.result == "same"))
def table(q: Integer) -> list[Node] | None:
    """Any function of one int8 tensor is 256 bytes."""
    found = _function(q) if all_int8(q) else None
    if found is None:
        return None
    x, function = found
    return cook(q, make_qtable(affine(x), result(q), function, q.limits), x)


@integer("add", "mul", "sub")
def binary(q: Integer) -> list[Node] | None:
    """Two activations; with a constant of one element it is a table."""
    if any(v.is_constant for v in q.inputs):
        return table(q)
    if not all_int8(q) or q.node.op == "sub":
        return None
    a, b = q.inputs
    make = make_qadd if q.node.op == "add" else make_qmul
    return cook(q, make(affine(a), affine(b), result(q), limits=q.limits), a, b)




@integer("max_pool2d", "adaptive_max_pool2d")
def max_pool(q: Integer) -> list[Node] | None:
    """The largest integer is the largest number; another scale takes a table behind it."""
    x = q.inputs[0]
    if not all_int8(q):
        return None
    adaptive = q.node.op.startswith("adaptive")
    if x.quant == q.quant:
        return cook(q, make_qmax_pool2d(q.node.attrs, adaptive, q.limits), x)
    pool = cook(q, make_qmax_pool2d(q.node.attrs, adaptive), x)
    pool[0].outputs[0].quant = x.quant
    return pool + cook(q, make_requantize(affine(x), result(q), q.limits), pool[0].output)


@integer("avg_pool2d", "adaptive_avg_pool2d")
def average_pool(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x, adaptive = q.inputs[0], q.node.op.startswith("adaptive")
    return cook(q, make_qavg_pool2d(affine(x), result(q), x.shape, q.node.attrs, adaptive, q.limits), x)


@integer("mean")
def mean(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x = q.inputs[0]
    return cook(q, make_qmean(affine(x), result(q), x.shape, q.node.attrs["axes"], q.limits), x)


@integer("softmax")
def softmax(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x, at = q.inputs[0], q.node.attrs["axis"]
    return cook(q, make_qsoftmax(affine(x), result(q), x.shape[at], at, q.limits), x)


@integer("concat")
def concat(q: Integer) -> list[Node] | None:
    """Parts with other scales are rescaled on their way."""
    if not all_int8(q) or any(v.is_constant for v in q.inputs):
        return None
    return cook(q, make_qconcat([affine(v) for v in q.inputs], result(q), q.node.attrs["axis"]), *q.inputs)
