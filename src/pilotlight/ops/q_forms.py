"""Which integer operator takes the place of which float operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import Node, Quant, Value
from pilotlight.graph.dtypes import INT8
from pilotlight.ops import base
from pilotlight.ops.base import Integer, integer
from pilotlight.ops.pointwise import ROWS
from pilotlight.ops.q_attention import make_qattention
from pilotlight.ops.q_attention_bias import integer_mask, make_qattention_bias
from pilotlight.ops.q_bicubic import make_qbicubic2d
from pilotlight.ops.q_binary import make_qadd, make_qmul
from pilotlight.ops.q_concat import make_qconcat
from pilotlight.ops.q_conv_transpose import make_qconv_transpose2d
from pilotlight.ops.q_div import make_qdiv
from pilotlight.ops.q_matmul import make_qmatmul
from pilotlight.ops.q_mean import make_qmean
from pilotlight.ops.q_norm import make_qnorm
from pilotlight.ops.q_pool import make_qavg_pool2d, make_qmax_pool2d
from pilotlight.ops.q_recurrent import CELL, make_qgru, make_qlstm
from pilotlight.ops.q_resize import make_qresize2d
from pilotlight.ops.q_softmax import make_qsoftmax
from pilotlight.ops.q_spec import Affine, NodeSpec, affine
from pilotlight.ops.q_table import make_qtable, make_requantize


def build_nodes(q: Integer, spec: NodeSpec, *activations: Value) -> list[Node]:
    """The one node of a spec, its output with the quantization of the result."""
    node = Node(spec.op, spec.inputs(q.graph, activations), [], dict(spec.attrs), q.node.place)
    for dtype, shape in base.get(spec.op).infer(node):
        node.outputs.append(q.graph.fresh(spec.op, dtype, shape))
    node.outputs[0].quant = q.quant
    return [node]


def result(q: Integer) -> Affine:
    return Affine(q.quant.scale, q.quant.zero_point)


def all_int8(q: Integer) -> bool:
    return q.dtype == INT8 and all(v.dtype == INT8 and v.quant is not None for v in q.inputs if not v.is_constant)


@integer("requantize")
def requantize(q: Integer) -> list[Node] | None:
    x = q.inputs[0]
    return build_nodes(q, make_requantize(affine(x), result(q), q.limits), x) if all_int8(q) else None


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


@integer(*(row.name for row in ROWS if row.name not in ("add", "mul", "sub", "div") and row.result == "same"))
def table(q: Integer) -> list[Node] | None:
    """Any function of one int8 tensor is 256 bytes."""
    found = _function(q) if all_int8(q) else None
    if found is None:
        return None
    x, function = found
    return build_nodes(q, make_qtable(affine(x), result(q), function, q.limits, q.node.op), x)


def integer_constant(q: Integer, value: Value) -> Value:
    """A float constant as int8 with a scale of its own; anything else as it is."""
    if value.data is None or value.dtype == INT8:
        return value
    scale = max(float(np.abs(value.data).max()) / 127.0, 2.0**-40)
    made = q.graph.constant(np.rint(value.data / scale).astype(np.int8), value.name)
    made.quant = Quant(scale, 0)
    return made


@integer("add", "mul", "sub", "div")
def binary(q: Integer) -> list[Node] | None:
    """Two activations; with a constant of one element it is a table."""
    if any(v.is_constant and v.elements == 1 for v in q.inputs):
        return table(q)
    if not all_int8(q):
        return None
    a, b = (integer_constant(q, v) for v in q.inputs)
    if q.node.op == "div":
        return build_nodes(q, make_qdiv(affine(a), affine(b), result(q), q.limits), a, b)
    if q.node.op == "mul":
        return build_nodes(q, make_qmul(affine(a), affine(b), result(q), q.limits), a, b)
    alpha = 1.0 if q.node.op == "add" else -1.0
    return build_nodes(q, make_qadd(affine(a), affine(b), result(q), alpha, q.limits), a, b)


@integer("max_pool2d", "adaptive_max_pool2d")
def max_pool(q: Integer) -> list[Node] | None:
    """The largest integer is the largest number; another scale takes a table after it."""
    x = q.inputs[0]
    if not all_int8(q):
        return None
    adaptive = q.node.op.startswith("adaptive")
    if x.quant == q.quant:
        return build_nodes(q, make_qmax_pool2d(q.node.attrs, adaptive, q.limits), x)
    pool = build_nodes(q, make_qmax_pool2d(q.node.attrs, adaptive), x)
    pool[0].outputs[0].quant = x.quant
    return pool + build_nodes(q, make_requantize(affine(x), result(q), q.limits), pool[0].output)


@integer("avg_pool2d", "adaptive_avg_pool2d")
def average_pool(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x, adaptive = q.inputs[0], q.node.op.startswith("adaptive")
    return build_nodes(q, make_qavg_pool2d(affine(x), result(q), x.shape, q.node.attrs, adaptive, q.limits), x)


@integer("mean")
def mean(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x = q.inputs[0]
    return build_nodes(q, make_qmean(affine(x), result(q), x.shape, q.node.attrs["axes"], q.limits), x)


@integer("softmax")
def softmax(q: Integer) -> list[Node] | None:
    if not all_int8(q):
        return None
    x, at = q.inputs[0], q.node.attrs["axis"]
    return build_nodes(q, make_qsoftmax(affine(x), result(q), x.shape[at], at, q.limits), x)


@integer("concat")
def concat(q: Integer) -> list[Node] | None:
    """Parts with other scales are rescaled on their way."""
    if not all_int8(q) or any(v.is_constant for v in q.inputs):
        return None
    spec = make_qconcat([affine(v) for v in q.inputs], result(q), q.node.attrs["axis"], q.limits)
    return build_nodes(q, spec, *q.inputs)


@integer("layer_norm", "rms_norm")
def norm(q: Integer) -> list[Node] | None:
    """The affine constants that exist follow x in the order (scale, shift)."""
    if not all_int8(q) or any(not v.is_constant for v in q.inputs[1:]):
        return None
    a, x = q.node.attrs, q.inputs[0]
    given = iter(v.data for v in q.inputs[1:])
    weight, bias, *_ = [next(given) if has else None for has in a["affine"]] + [None]
    center = q.node.op == "layer_norm"
    return build_nodes(q, make_qnorm(affine(x), result(q), a["size"], a["eps"], weight, bias, center, q.limits), x)


@integer("matmul")
def matmul(q: Integer) -> list[Node] | None:
    if not all_int8(q) or any(v.is_constant for v in q.inputs) or q.node.attrs.get("reads"):
        return None
    a, b = q.inputs
    transposed = bool(q.node.attrs.get("transposed", False))
    return build_nodes(q, make_qmatmul(affine(a), affine(b), result(q), a.shape[-1], transposed, q.limits), a, b)


@integer("attention")
def attention(q: Integer) -> list[Node] | None:
    """A bool mask hides keys; a float one is added to the scores."""
    query, key, value, *masks = q.inputs
    if any(v.dtype != INT8 or v.quant is None for v in (query, key, value)) or q.dtype != INT8:
        return None
    a, added = q.node.attrs, [v for v in masks if v.dtype.kind == "f"]
    make = make_qattention_bias if added else make_qattention
    spec = make(
        affine(query), affine(key), affine(value), result(q), query.shape[3], key.shape[2], a["scale"], a["causal"],
        q.limits,
    )
    if not added:
        return build_nodes(q, spec, query, key, value, *masks)
    mask, before = integer_mask(q, added[0])
    return before + build_nodes(q, spec, query, key, value, mask)


@integer("take", "gather")
def rows(q: Integer) -> list[Node] | None:
    """Rows of a constant: the constant in the scale of the result."""
    x, ids = q.inputs
    if x.data is None or x.dtype.kind != "f" or q.dtype != INT8:
        return None
    codes = np.rint(x.data.astype(np.float64) / q.quant.scale) + q.quant.zero_point
    table = q.graph.constant(np.clip(codes, *q.limits).astype(np.int8), x.name)
    return [q.make(q.node.op, [table, ids], **q.node.attrs)]


@integer("conv_transpose2d")
def conv_transpose(q: Integer) -> list[Node] | None:
    x, weight, bias = q.inputs
    scale = q.node.attrs.get("weight_scale")
    if not all_int8(q) or scale is None or weight.data is None or bias.data is None:
        return None
    a = {k: v for k, v in q.node.attrs.items() if k not in ("weight_scale", "clamp")}
    if len(scale) != weight.data.shape[3]:
        return None
    integers = np.clip(np.rint(weight.data / scale), -127, 127).astype(np.int8)
    scales = np.tile(scale, a["groups"])
    return build_nodes(q, make_qconv_transpose2d(affine(x), result(q), integers, scales, bias.data, a, q.limits), x)


@integer("resize2d")
def resize(q: Integer) -> list[Node] | None:
    x, a = q.inputs[0], q.node.attrs
    if not all_int8(q) or max(x.shape[1:3]) >= 1 << 15:
        return None
    if a["mode"] == "bicubic":
        return build_nodes(q, make_qbicubic2d(affine(x), result(q), x.shape, a, q.limits), x)
    if a["mode"] == "bilinear" or (x.quant == q.quant and q.limits == LIMITS):  # nearest only moves
        return build_nodes(q, make_qresize2d(affine(x), result(q), x.shape, a, q.limits), x)
    moved = build_nodes(q, make_qresize2d(affine(x), affine(x), x.shape, a), x)
    moved[0].outputs[0].quant = x.quant
    return moved + build_nodes(q, make_requantize(affine(x), result(q), q.limits), moved[0].outputs[0])


@integer("lstm", "gru")
def recurrent(q: Integer) -> list[Node] | None:
    """int8 weights and outputs; the LSTM's cell in int16."""
    a, (x, *rest) = q.node.attrs, q.inputs
    count = 2 + bool(a["bias"])
    weights, states = rest[:count], rest[count:]
    if q.dtype != INT8 or x.dtype != INT8 or any(not v.is_constant for v in weights):
        return None
    w_x, w_h, *biases = (np.asarray(v.data) for v in weights)
    make = make_qlstm if q.node.op == "lstm" else make_qgru
    spec = make(
        affine(x), result(q), w_x, w_h, biases[0] if a["bias"] else None, reverse=a["reverse"],
        batch_first=a["batch_first"], initial=bool(states),
    )
    made = build_nodes(q, spec, x, *states)
    for out, quant in zip(made[0].outputs[1:], (q.quant, Quant(CELL.scale, CELL.zero)), strict=False):
        out.quant = quant
    return made
