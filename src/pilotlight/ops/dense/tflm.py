"""Dense layers of int8 under TFLM's contract, from their scales.

The real factor of an output channel is the input's scale times the filter's over the output's, in float64.
"""

from __future__ import annotations

import math

import numpy as np

from pilotlight import fixed
from pilotlight.errors import PilotlightError
from pilotlight.fixed import TFLM
from pilotlight.graph import INT8, Node
from pilotlight.ops.dense.int8 import integer_weights
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.spec import Limits, NodeSpec, quant_of


def tflm_limits(q: Integer) -> Limits:
    """The clamp that was fused into the layer, as integers, within those of the result."""
    (least, most), (lo, hi) = q.limits, q.node.attrs.get("clamp", (-math.inf, math.inf))
    scale, zero = q.quant.scale, q.quant.zero_point
    low = least if lo == -math.inf else max(least, zero + fixed.tflm_steps(lo, scale))
    high = most if hi == math.inf else min(most, zero + fixed.tflm_steps(hi, scale))
    return min(low, most), max(high, least)


def _checked(q: Integer, weight: np.ndarray, bias: np.ndarray, shifts: np.ndarray, largest: int = 128) -> None:
    """Sums that overflow would be those of TFLM too, but not those of the model."""
    try:
        fixed.check_accumulator(weight, bias, max(int(shifts.max()), 0), largest)
    except PilotlightError as error:
        error.where = str(q.node.place)
        raise


def _attrs(q: Integer, channels: int) -> dict[str, object]:
    attrs = {k: v for k, v in q.node.attrs.items() if k not in ("weight_scale", "clamp")}
    lo, hi = tflm_limits(q)
    zeros = {"zx": quant_of(q.inputs[0]).zero_point, "zy": q.quant.zero_point}
    return attrs | {"channels": channels, **zeros, "lo": lo, "hi": hi}


@form("conv2d", "linear", width=8, numerics=TFLM)
def dense(q: Integer) -> list[Node] | None:
    """CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""
    x, weight, bias = q.inputs
    scale = q.node.attrs.get("weight_scale")
    if scale is None or x.quant is None or weight.data is None or bias.data is None:
        return None
    if (x.dtype, q.dtype) != (INT8, INT8):
        return None
    w, accumulators, scale = integer_weights(weight.data, scale, bias.data, x.quant.scale, float32=True)
    m, shifts = fixed.tflm_multiplier(x.quant.scale * scale / q.quant.scale)
    folded = accumulators - x.quant.zero_point * w.astype(np.int64).reshape(len(w), -1).sum(axis=1)
    _checked(q, w, folded, shifts)
    names = (weight.name, bias.name, "multiplier", "shifts")
    data = (w, folded.astype(np.int32), m, shifts)
    constants = [q.graph.constant(array, name) for array, name in zip(data, names, strict=True)]
    return [q.build(NodeSpec(f"q{q.node.op}", _attrs(q, len(w))), x, *constants)]


@form("conv_transpose2d", width=8, numerics=TFLM)
def transposed(q: Integer) -> list[Node] | None:
    """TRANSPOSE_CONV, which has neither groups nor dilation."""
    x, weight, bias = q.inputs
    a = q.node.attrs
    scale = a.get("weight_scale")
    if not all_int8(q) or scale is None or weight.data is None or bias.data is None:
        return None
    if a["groups"] != 1 or tuple(a["dilation"]) != (1, 1) or len(scale) != weight.data.shape[3]:
        return None
    given = quant_of(x)
    filters = np.ascontiguousarray(weight.data.transpose(3, 1, 2, 0))  # (O, KH, KW, I)
    w, accumulators, scale = integer_weights(filters, scale, bias.data, given.scale, float32=True)
    m, shifts = fixed.tflm_multiplier(given.scale * scale / q.quant.scale)
    _checked(q, w, accumulators, shifts, 255)
    spec = NodeSpec("qconv_transpose2d", _attrs(q, len(w)), (w, accumulators.astype(np.int32), m, shifts))
    return [q.build(spec, x)]
