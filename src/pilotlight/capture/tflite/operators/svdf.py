"""SVDF: a layer with a memory, each unit a filter over features and then over time."""

from __future__ import annotations

import numpy as np

from pilotlight.capture.tflite.operators.dense import limited, weights_of
from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled, whole
from pilotlight.capture.tflite.operators.shapes import concat
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import LIMITS, Site
from pilotlight.graph import INT8, INT64, Value
from pilotlight.ops.matmul.float import product
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.reduce.float import reduce
from pilotlight.ops.views import slice_axis


@operator("SVDF", options="SVDFOptions")
def svdf(site: Site) -> Value:
    """Inputs: x (N, I), weights of features (F, I), weights of time (F, M), bias (F / rank), the state (N, F * M)."""
    b, x, rank = site.b, site.x(0), site.options.Rank
    state = site.tensor(4)
    if not state.variable or rank < 1 or site.x(1).shape[0] % rank:
        raise site.refuse(f"the state {state} and the rank {rank}")
    (count, _), (filters, memory) = x.shape, site.x(2).shape
    before = b.reshape(site.variables.now[f"tensor {state.index}"], (count, filters, memory))
    integers = site.tensor(0).type == "INT8"
    new = b.reshape(_features(site) if integers else _float_features(site), (count, filters, 1))
    now = concat(b, [slice_axis(b, before, 2, 1, memory), new], 2)
    site.variables.now[f"tensor {state.index}"] = b.reshape(now, state.shape)
    if integers:
        return _integer_result(site, now, rank)
    over_time = b.constant(weights_of(site, 2, "the weights").reshape(1, filters, memory), hint="weight")
    weighted = apply(b, "mul", now, over_time)
    total = b.reshape(reduce(b, "sum", weighted, (2,)), (count, filters // rank, rank))
    y = b.reshape(reduce(b, "sum", total, (2,)), site.result.shape)
    return limited(site, apply(b, "add", y, site.x(3)) if site.has(3) else y)


def _float_features(site: Site) -> Value:
    weight = site.b.constant(np.ascontiguousarray(weights_of(site, 1, "the weights").T), hint="weight")
    return product(site.b, site.x(0), weight)


def _features(site: Site) -> Value:
    b, state = site.b, site.tensor(4)
    qx, qw, qs = (site.quant(site.tensor(k)) for k in (0, 1, 4))
    factor = qx.scale * qw.scale / qs.scale
    weight = b.constant(np.ascontiguousarray(site.constant(1, "the weights").T), INT64, "weight")
    dots = product(b, compute(b, "sub", site.x(0), qx.zero_point), weight)
    y = scaled(b, dots, factor)
    low, high = LIMITS[state.type]
    limited_ = compute(b, "minimum", compute(b, "maximum", y, low), high)
    return b.cast(compute(b, "add", limited_, qs.zero_point), site.variables.now[f"tensor {state.index}"].dtype)


def _integer_result(site: Site, now: Value, rank: int) -> Value:
    b = site.b
    count, filters, memory = now.shape
    qt, qs, qy = (site.quant(t) for t in (site.tensor(2), site.tensor(4), site.result))
    factor = qs.scale * qt.scale / qy.scale
    weight = b.reshape(whole(b, site.x(2)), (1, filters, memory))
    weighted = compute(b, "mul", compute(b, "sub", now, qs.zero_point), weight)
    total = reduce(b, "sum", b.reshape(weighted, (count, filters // rank, rank * memory)), (2,))
    y = b.reshape(total, site.result.shape)
    y = compute(b, "add", y, site.x(3)) if site.has(3) else y
    return clamped(b, compute(b, "add", scaled(b, y, factor), qy.zero_point), LIMITS["INT8"], INT8)
