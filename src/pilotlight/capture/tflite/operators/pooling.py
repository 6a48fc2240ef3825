"""Pooling and resizing, channels last."""

from __future__ import annotations

from typing import Any

import numpy as np

from pilotlight.capture.tflite.operators.dense import limited
from pilotlight.capture.tflite.operators.integers import clamped, compute
from pilotlight.capture.tflite.operators.shapes import image_size
from pilotlight.capture.tflite.operators.windows import Padded, padded
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import LIMITS, Site
from pilotlight.graph import INT8, INT64, Value
from pilotlight.ops.index.float import take
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.pool.int8 import make_qmax_pool2d
from pilotlight.ops.pool.int16 import make_qmax_pool16
from pilotlight.ops.pool.tflm import make_tflm_avg_pool2d


def _window(site: Site) -> tuple[tuple[int, int], tuple[int, int], Padded, Padded]:
    """Kernel, stride, and both axes of the image."""
    o = site.options
    _, h, w, _ = site.x().shape
    kernel, stride = (o.FilterHeight, o.FilterWidth), (o.StrideH, o.StrideW)
    return kernel, stride, padded(site, h, kernel[0], stride[0]), padded(site, w, kernel[1], stride[1])


def _attributes(kernel: tuple[int, int], stride: tuple[int, int], size: tuple[int, int]) -> dict[str, Any]:
    return {"kernel": kernel, "stride": stride, "size": size, "dilation": (1, 1), "count_padding": False}


def _counts(size: int, kernel: int, stride: int, axis: Padded) -> np.ndarray:
    """How many elements of the image each window holds."""
    starts = np.arange(axis.count) * stride - axis.before
    return np.minimum(starts + kernel, size) - np.maximum(starts, 0)


def _around(site: Site, x: Value, rows: Padded, columns: Padded, value: float) -> Value:
    before, after = (0, rows.before, columns.before, 0), (0, rows.after, columns.after, 0)
    return site.b.node("pad", [x], before=before, after=after, value=value) if any(before) or any(after) else x


def _mean(site: Site, x: Value) -> Value:
    """The sum of a window over the number of elements in it; padding does not count."""
    kernel, stride, rows, columns = _window(site)
    size = (rows.count, columns.count)
    attrs = _attributes(kernel, stride, size)
    if not any((rows.before, rows.after, columns.before, columns.after)):
        return site.b.node("avg_pool2d", [x], **attrs, pad=(0, 0), divisor=0)
    total = site.b.node("avg_pool2d", [_around(site, x, rows, columns, 0.0)], **attrs, pad=(0, 0), divisor=1)
    _, h, w, _ = x.shape
    counts = np.outer(_counts(h, kernel[0], stride[0], rows), _counts(w, kernel[1], stride[1], columns))
    return apply(site.b, "div", total, site.b.constant(counts.astype(np.float32)[..., None], hint="counts"))


def _integers(site: Site) -> None:
    """TFLM does not rescale: input and result have one scale."""
    if not site.quantized or site.x().dtype.size != {"INT8": 1, "INT16": 2}[site.quantized]:
        raise site.refuse(f"{site.tensor()} to {site.result}")
    if site.quant(site.tensor()) != site.quant(site.result):
        raise site.refuse(f"{site.tensor()} and {site.result} have several scales")


@operator("AVERAGE_POOL_2D", options="Pool2DOptions")
def average_pool_2d(site: Site) -> Value:
    if site.tensor().type == "FLOAT32":
        return limited(site, _mean(site, site.x()))
    kernel, stride, rows, columns = _window(site)
    _integers(site)
    size, pad = (rows.count, columns.count), (rows.before, columns.before)
    (y,) = make_tflm_avg_pool2d(size, kernel, stride, pad, site.limits()).build(site.b, site.x())
    return y


@operator("L2_POOL_2D", options="Pool2DOptions")
def l2_pool_2d(site: Site) -> Value:
    if site.tensor().type != "FLOAT32":
        raise site.refuse(f"{site.tensor()}; expected float32")
    return limited(site, apply(site.b, "sqrt", _mean(site, apply(site.b, "square", site.x()))))


@operator("MAX_POOL_2D", options="Pool2DOptions")
def max_pool_2d(site: Site) -> Value:
    kernel, stride, rows, columns = _window(site)
    if site.tensor().type != "FLOAT32":
        _integers(site)
        pool = _attributes(kernel, stride, (rows.count, columns.count))
        pool |= {"pad": (rows.before, columns.before), "divisor": 0}
        make = make_qmax_pool2d if site.quantized == "INT8" else make_qmax_pool16
        (y,) = make(pool, limits=site.limits()).build(site.b, site.x())
        return y
    lowest = float(np.finfo(np.float32).min)
    x = _around(site, site.x(), rows, columns, lowest)
    attrs = _attributes(kernel, stride, (rows.count, columns.count))
    return limited(site, site.b.node("max_pool2d", [x], **attrs, pad=(0, 0), divisor=0))


@operator("RESIZE_BILINEAR", options="ResizeBilinearOptions")
def resize_bilinear(site: Site) -> Value:
    out = image_size(site)
    if site.tensor().type == "FLOAT32":
        y = site.x()
        for axis, size in enumerate(out, 1):
            y = _between(site, y, axis, size)
        return y
    if site.quantized != "INT8":
        raise site.refuse(f"{site.tensor()}")
    y = compute(site.b, "add", site.x(), 0)
    for axis, size in enumerate(out, 1):
        y = _between_integers(site, y, axis, size)
    half = compute(site.b, "sub", compute(site.b, "mul", apply(site.b, "gt", y, 0), 1 << 20), 1 << 19)
    y = apply(site.b, "trunc_divide", compute(site.b, "add", y, half), site.b.scalar(1 << 20, INT64))
    return clamped(site.b, y, LIMITS["INT8"], INT8)


def _taken(site: Site, x: Value, axis: int, ids: np.ndarray) -> Value:
    if np.array_equal(ids, np.arange(x.shape[axis])):
        return x
    return take(site.b, x, axis, site.b.constant(ids, INT64, "places"))


def _between(site: Site, x: Value, axis: int, out: int) -> Value:
    """One axis of a float image: each line between its two neighbours."""
    o, size = site.options, x.shape[axis]
    scale = np.float32(size - 1) / np.float32(out - 1) if o.AlignCorners and out > 1 \
        else np.float32(size) / np.float32(out)
    places = np.arange(out, dtype=np.float32)
    places = (places + np.float32(0.5)) * scale - np.float32(0.5) if o.HalfPixelCenters else places * scale
    low = np.maximum(np.floor(places), 0).astype(np.int64)
    high = np.minimum(np.ceil(places), size - 1).astype(np.int64)
    shape = [-1 if k == axis else 1 for k in range(4)]
    part = (places - low.astype(np.float32)).reshape(shape).astype(np.float32)
    left = apply(site.b, "mul", _taken(site, x, axis, np.minimum(low, size - 1)), site.b.constant(1 - part))
    return apply(site.b, "add", left, apply(site.b, "mul", _taken(site, x, axis, high), site.b.constant(part)))


def _between_integers(site: Site, x: Value, axis: int, out: int) -> Value:
    """The same with ten bits of fraction, which are left in the result."""
    o, size = site.options, x.shape[axis]
    steps = out - 1 if o.AlignCorners and out > 1 else out
    scale = (1024 * (size - 1 if steps != out else size) + steps // 2) // steps
    places = np.arange(out, dtype=np.int64) * scale
    if o.HalfPixelCenters:
        places = places + scale // 2 - 512
    low = np.maximum(np.fix(places / 1024).astype(np.int64), 0)
    high = np.minimum(np.fix((places + 1023) / 1024).astype(np.int64), size - 1)
    shape = [-1 if k == axis else 1 for k in range(4)]
    part = (places - 1024 * low).reshape(shape)
    left = compute(site.b, "mul", _taken(site, x, axis, np.minimum(low, size - 1)), 1024 - part)
    return compute(site.b, "add", left, compute(site.b, "mul", _taken(site, x, axis, high), part))


