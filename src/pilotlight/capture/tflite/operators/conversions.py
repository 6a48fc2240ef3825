"""Between types: QUANTIZE, DEQUANTIZE, CAST."""

from __future__ import annotations

import numpy as np

from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled
from pilotlight.capture.tflite.operators.tables import table
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import DTYPES, LIMITS, Site
from pilotlight.capture.tflite.weights import real_weights
from pilotlight.graph import FLOAT32, INT8, INT64, Value
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.pointwise.tflm_table import quantized

_INTEGERS = ("INT8", "UINT8", "INT16", "INT32")


@operator("QUANTIZE")
def quantize(site: Site) -> Value:
    b, x, (kind, result) = site.b, site.x(), (site.tensor().type, site.result.type)
    if result not in ("INT8", "INT16", "UINT8", "INT32") or site.result.affine is None:
        raise site.refuse(f"{site.tensor()} to {site.result}")
    qy = site.quant(site.result)
    limits = LIMITS[result]
    dtype = INT8 if result == "UINT8" else DTYPES[result]
    if kind == "FLOAT32" and result != "INT32":
        return _rounded(site, x, np.float32(qy.scale), qy.zero_point, limits)
    if kind not in _INTEGERS:
        raise site.refuse(f"{site.tensor()} to {site.result}")
    qx = site.quant(site.tensor())
    factor = qx.scale / qy.scale
    if x.dtype == dtype == INT8:
        return table(site, quantized(qx, qy), "requantize")
    y = compute(b, "add", scaled(b, compute(b, "sub", x, qx.zero_point), factor), qy.zero_point)
    return clamped(b, y, limits, dtype)


def _rounded(site: Site, x: Value, scale: np.float32, zero: int, limits: tuple[int, int]) -> Value:
    """x / scale, half away from zero: TFLM's own, which is not ours for quantized models."""
    b, dtype = site.b, INT8 if site.result.type == "UINT8" else DTYPES[site.result.type]
    steps = apply(b, "div", x, b.constant(np.array(scale), FLOAT32, "scale"))
    bounded = apply(b, "clamp_max", apply(b, "clamp_min", steps, -70000.0), 70000.0)
    whole = apply(b, "trunc", bounded)
    rest = apply(b, "sub", bounded, whole)
    away = apply(b, "sub", b.cast(apply(b, "ge", rest, 0.5), FLOAT32), b.cast(apply(b, "le", rest, -0.5), FLOAT32))
    return clamped(b, compute(b, "add", b.cast(apply(b, "add", whole, away), INT64), zero), limits, dtype)


@operator("DEQUANTIZE")
def dequantize(site: Site) -> Value:
    b, tensor, data = site.b, site.tensor(), site.known(0)
    if tensor.type == "FLOAT16":
        return b.constant(data.astype(np.float32), hint="weight") if data is not None else b.cast(site.x(), FLOAT32)
    affine = tensor.affine
    if affine is None or tensor.type not in ("INT8", "UINT8", "INT16", "INT4"):
        raise site.refuse(f"{tensor} to {site.result}")
    if tensor.data is not None:
        return b.constant(real_weights(tensor), hint="weight")
    quant = site.quant(tensor)
    return b.node("dequantize", [site.x()], scale=quant.scale, zero=quant.zero_point)


@operator("CAST")
def cast(site: Site) -> Value:
    kinds = (site.tensor().type, site.result.type)
    if any(kind not in DTYPES or kind in ("FLOAT16", "UINT8", "INT4") for kind in kinds):
        raise site.refuse(f"{site.tensor()} to {site.result}")
    return site.b.cast(site.x(), DTYPES[site.result.type])
