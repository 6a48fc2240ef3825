"""Sums, means, extremes and what is computed from them along an axis."""

from __future__ import annotations

import math

import numpy as np

from pilotlight import fixed
from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled, scaled_by, whole
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import DTYPES, LIMITS, Site
from pilotlight.graph import BOOL, INT8, INT16, Value
from pilotlight.ops.reduce.float import reduce
from pilotlight.ops.reduce.tflm import make_tflm_mean, sum_factor, sums_fit

_NARROW = {"INT8": INT8, "INT16": INT16}


def _axes(site: Site) -> tuple[int, ...]:
    """The axes of the second input; all where it is empty."""
    rank = len(site.x().shape)
    return site.axes(1, rank)


def _reduced(site: Site, op: str, x: Value) -> Value:
    """The result has the file's shape: with or without the axes that are gone."""
    axes = _axes(site)
    y = reduce(site.b, op, x, axes) if axes else x
    return site.b.reshape(y, site.result.shape)


def _sum(site: Site, mean: bool) -> Value:
    """Of int8 over neighbouring axes in one step."""
    qx, qy = site.quants(0)
    axes, x = _axes(site), site.x()
    count = math.prod(x.shape[axis] for axis in axes)
    neighbours = bool(axes) and axes == tuple(range(axes[0], axes[-1] + 1))
    if x.dtype == INT8 and neighbours and sums_fit(qx, qy, count, mean):
        (y,) = make_tflm_mean(qx, qy, x.shape, axes, mean=mean).build(site.b, x)
        return site.b.reshape(y, site.result.shape)
    q, shift = sum_factor(qx, qy, count, mean)
    total = compute(site.b, "sub", _reduced(site, "sum", whole(site.b, x)), qx.zero_point * count)
    y = compute(site.b, "add", scaled_by(site.b, total, q, shift), qy.zero_point)
    return clamped(site.b, y, LIMITS[site.quantized], _NARROW[site.quantized])


@operator("MEAN", options="ReducerOptions")
def mean(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return _reduced(site, "mean", site.x())
    if not site.quantized:
        raise site.refuse(f"{site.tensor()}")
    return _sum(site, mean=True)


@operator("SUM", options="ReducerOptions")
def sum_(site: Site) -> Value:
    if site.tensor().type in ("FLOAT32", "INT32", "INT64"):
        return _reduced(site, "sum", site.x())
    if not site.quantized:
        raise site.refuse(f"{site.tensor()}")
    return _sum(site, mean=False)


def _extreme(name: str, op: str) -> None:
    @operator(name, options="ReducerOptions")
    def function(site: Site) -> Value:
        if site.quantized and site.quant(site.tensor()) != site.quant(site.result):
            raise site.refuse(f"{site.tensor()} and {site.result} have several scales")
        return _reduced(site, op, site.x())


_extreme("REDUCE_MAX", "amax")
_extreme("REDUCE_MIN", "amin")


def _logical(name: str, op: str) -> None:
    @operator(name, options="ReducerOptions")
    def function(site: Site) -> Value:
        if site.x().dtype != BOOL:
            raise site.refuse(f"{site.tensor()}; expected bool")
        return _reduced(site, op, site.x())


_logical("REDUCE_ALL", "all")
_logical("REDUCE_ANY", "any")


def _place(name: str, op: str) -> None:
    @operator(name)
    def function(site: Site) -> Value:
        """The first of several equal ones."""
        x = site.x()
        axis = site.axis(site.numbers(1, "the axis")[0], len(x.shape))
        y = reduce(site.b, op, x, (axis,))
        return site.b.cast(site.b.reshape(y, site.result.shape), DTYPES[site.result.type])


_place("ARG_MAX", "argmax")
_place("ARG_MIN", "argmin")


@operator("TOPK_V2")
def topk(site: Site) -> list[Value]:
    """The k largest of the last axis in order, of equals the first, and where they were."""
    b, x = site.b, site.x()
    k, axis = site.numbers(1, "the count")[0], len(x.shape) - 1
    if axis < 0 or not 0 <= k <= x.shape[axis] or len(site.results) != 2:
        raise site.refuse(f"the {k} largest of {site.tensor()}")
    if site.results[0].affine is not None and site.quant(site.tensor()) != site.quant(site.results[0]):
        raise site.refuse(f"{site.tensor()} and {site.results[0]} have several scales")
    compared = x if x.dtype.kind == "f" else whole(b, x)
    values, places = b.nodes("topk", [compared], axis=axis, k=k, largest=True)
    return [b.cast(values, x.dtype), b.cast(places, DTYPES[site.results[1].type])]


@operator("CUMSUM", options="CumsumOptions")
def cumsum(site: Site) -> Value:
    b, x = site.b, site.x()
    axis = site.axis(site.numbers(1, "the axis")[0], len(x.shape))
    kind = site.tensor().type
    if kind not in ("FLOAT32", "INT32", "INT64") and not (kind == "INT8" and site.quantized == "INT8"):
        raise site.refuse(f"{site.tensor()}")
    if kind != "INT8":
        wide = x if kind == "FLOAT32" else whole(b, x)
        return b.cast(_running(site, wide, axis), x.dtype)
    qx, qy = site.quants(0)
    centred = compute(b, "mul", compute(b, "sub", x, qx.zero_point), 1 << 20)
    start = int(fixed.tflm_scaled(np.array(-qx.zero_point << 20), *fixed.tflm_multiplier(0.5))[0])
    total = compute(b, "add", _running(site, scaled(b, centred, 0.5), axis), start)
    y = scaled(b, total, 2 * qx.scale / ((1 << 20) * qy.scale))
    return clamped(b, compute(b, "add", y, qy.zero_point), LIMITS["INT8"], INT8)


def _running(site: Site, x: Value, axis: int) -> Value:
    """Sums up to each element, without it where they are exclusive."""
    b, reverse = site.b, site.options.Reverse
    x = b.node("flip", [x], dims=(axis,)) if reverse else x
    if site.options.Exclusive:
        before = [1 if k == axis else 0 for k in range(len(x.shape))]
        zero = 0.0 if x.dtype.kind == "f" else 0
        after = [-n for n in before]
        x = b.node("pad", [x], before=tuple(before), after=tuple(after), value=zero)
    y = b.node("cumsum", [x], axis=axis)
    return b.node("flip", [y], dims=(axis,)) if reverse else y


