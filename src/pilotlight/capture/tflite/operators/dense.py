"""Convolutions and linear layers.

Integers: the real factor of an output channel is the input's scale times the filter's over the output's, in float64.
Floats with integer weights are computed with the numbers that the weights stand for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pilotlight import fixed
from pilotlight.capture.tflite.operators.integers import clamped, compute, scaled, scaled_wide
from pilotlight.capture.tflite.operators.windows import padded
from pilotlight.capture.tflite.registry import operator
from pilotlight.capture.tflite.site import LIMITS, Site
from pilotlight.capture.tflite.weights import HYBRID, INTEGERS, real_weights
from pilotlight.graph import FLOAT32, INT8, INT16, Value
from pilotlight.ops.dense.tflm_int16 import tflm_factors
from pilotlight.ops.matmul.float import product
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.views import slice_axis


def limited(site: Site, y: Value) -> Value:
    """The fused activation of a float result."""
    low, high = site.activation()
    if low > -math.inf:
        y = apply(site.b, "clamp_min", y, low)
    return y if high == math.inf else apply(site.b, "clamp_max", y, high)


def filter_scales(site: Site, k: int, channels: int) -> np.ndarray:
    """One scale for each output channel, in float64; a filter has no zero point."""
    affine = site.tensor(k).affine
    if affine is None:
        raise site.refuse(f"the filter {site.tensor(k)} has no scale")
    if np.any(affine.zero_points) and site.tensor(k).type != "UINT8":
        raise site.refuse(f"the filter {site.tensor(k)} has the zero point {affine.zero_points[0]}; expected 0")
    if len(affine.scales) not in (1, channels):
        raise site.refuse(f"the filter {site.tensor(k)} has {len(affine.scales)} scales for {channels} channels")
    return np.broadcast_to(affine.scales.astype(np.float64), channels)


def _kind(site: Site, k: int, weight: int) -> str:
    """The types of input and filter: "float", also with integer weights, "int8" or "int16"."""
    kinds = (site.tensor(k).type, site.tensor(weight).type)
    if kinds == ("FLOAT32", "FLOAT32") or (kinds[0] == site.result.type == "FLOAT32" and is_hybrid(site, weight)):
        return "float"
    if site.x(k).dtype == INT8 and site.quantized == "INT8" and kinds[1] in ("INT8", "INT4", "UINT8"):
        return "int8"
    if kinds == ("INT16", "INT8") and site.quantized == "INT16":
        return "int16"
    raise site.refuse(f"{site.tensor(k)} with the filter {site.tensor(weight)}; expected both float or both integers")


def _bias(site: Site, k: int, channels: int) -> np.ndarray:
    """The bias of integers; zeros where there is none."""
    if not site.has(k):
        return np.zeros(channels, np.int64)
    bias = site.constant(k, "the bias")
    if bias.dtype.kind != "i" or bias.size != channels:
        raise site.refuse(f"the bias is {site.tensor(k)}; expected {channels} integers")
    return bias.reshape(-1).astype(np.int64)


def _float_bias(site: Site, k: int, channels: int) -> Value:
    if not site.has(k):
        return site.b.constant(np.zeros(channels, np.float32), hint="zero_bias")
    return site.b.constant(site.constant(k, "the bias").reshape(-1), FLOAT32, "bias")


def _factors(site: Site, scale: np.ndarray) -> tuple[Value, Value]:
    q, shifts = fixed.tflm_multiplier(scale)
    return site.b.constant(q, hint="multiplier"), site.b.constant(shifts, hint="shifts")


def is_hybrid(site: Site, k: int) -> bool:
    """Whether an input is integer weights for floats."""
    tensor = site.tensor(k)
    return site.operator.name in HYBRID and tensor.type in INTEGERS and tensor.affine is not None \
        and tensor.data is not None and site.tensor(0).type == "FLOAT32"


def weights_of(site: Site, k: int, what: str) -> np.ndarray:
    """Constant weights: of a float layer real numbers, of another integers without their zero point, which a filter of
    uint8 alone has: then they have 9 bits."""
    tensor = site.tensor(k)
    if is_hybrid(site, k):
        return real_weights(tensor)
    weight = site.constant(k, what)
    if tensor.type != "UINT8" or tensor.affine is None:
        return weight
    if len(tensor.affine.zero_points) != 1:
        raise site.refuse(f"the filter {tensor} has {len(tensor.affine.zero_points)} zero points; expected one")
    return weight.astype(np.int16) - np.int16(int(tensor.affine.zero_points[0]) - 128)


def _filter(site: Site, k: int, rank: int) -> np.ndarray:
    weight = weights_of(site, k, "the filter")
    if weight.ndim != rank:
        raise site.refuse(f"the filter is {site.tensor(k)}; expected {rank} dimensions")
    return weight


def _fits(weight: np.ndarray) -> bool:
    return weight.min(initial=0) >= -128 and weight.max(initial=0) <= 127


def _halves(site: Site, weight: np.ndarray) -> np.ndarray:
    """Weights of 9 bits as two of 8 bits, one after another along the last axis, for inputs that come twice."""
    low = weight >> 1
    both = np.concatenate([low, weight - low], axis=-1)
    if not _fits(both):
        raise site.refuse("a weight is 255 steps from the filter's zero point; at most 254 are supported")
    return both


def _twice(site: Site, x: Value, groups: int) -> Value:
    """The channels of each group, and the same again."""
    *lead, channels = x.shape
    split = site.b.reshape(x, (*lead, groups, channels // groups))
    return site.b.reshape(site.b.node("concat", [split, split], axis=len(lead) + 1), (*lead, 2 * channels))


def _folded(bias: np.ndarray, weight: np.ndarray, zero: int) -> np.ndarray:
    """The bias with the input's zero point times the weights (O, ...), in 32 bits as TFLM's accumulator has."""
    total = bias - zero * weight.reshape(len(weight), -1).astype(np.int64).sum(axis=1)
    return fixed.int32(total).astype(np.int32)


def _convolution(site: Site, weight: np.ndarray, groups: int) -> Value:
    """x (N, H, W, I) with filters (O, KH, KW, I / groups)."""
    b, o, x = site.b, site.options, site.x()
    channels, kh, kw, _ = weight.shape
    (_, h, w, _), dilation = x.shape, (o.DilationHFactor, o.DilationWFactor)
    rows = padded(site, h, kh, o.StrideH, dilation[0])
    columns = padded(site, w, kw, o.StrideW, dilation[1])
    attrs: dict[str, Any] = {
        "kernel": (kh, kw), "stride": (o.StrideH, o.StrideW), "dilation": dilation, "groups": groups,
        "pad": (rows.before, columns.before, rows.after, columns.after), "channels": channels,
    }
    kind = _kind(site, 0, 1)
    if kind == "float":
        filters = b.constant(np.ascontiguousarray(weight), hint="weight")
        return limited(site, b.node("conv2d", [x, filters, _float_bias(site, 2, channels)], **attrs))
    qx, qy = site.quants(0)
    scale = qx.scale * filter_scales(site, 1, channels) / qy.scale
    if kind == "int16":
        return _of_16_bits(site, "tflm_conv2d_s16", x, weight, scale, attrs)
    if not _fits(weight):
        x, weight = _twice(site, x, groups), _halves(site, weight)
    bias = b.constant(_folded(_bias(site, 2, channels), weight, qx.zero_point), hint="bias")
    low, high = site.limits()
    inputs = [x, b.constant(np.ascontiguousarray(weight.astype(np.int8)), hint="weight"), bias, *_factors(site, scale)]
    return b.node("qconv2d", inputs, **attrs, zx=qx.zero_point, zy=qy.zero_point, lo=low, hi=high)


def _of_16_bits(
    site: Site, op: str, x: Value, weight: np.ndarray, scale: np.ndarray, attrs: dict[str, Any],
    inputs: tuple[int, int] = (0, 2),
) -> Value:
    """A layer of int16, whose x and bias are these inputs; a bias of 32 bits makes sums of as many."""
    given, bias = inputs
    if any(q.zero_point for q in site.quants(given)):
        raise site.refuse("16-bit tensors with a zero point")
    wide = not site.has(bias) or site.tensor(bias).type != "INT32"
    q, shifts = tflm_factors(scale, wide)
    names = ("weight", "bias", "multiplier", "shifts")
    data = (np.ascontiguousarray(weight.astype(np.int8)), _bias(site, bias, len(weight)), q, shifts)
    constants = [site.b.constant(v, hint=name) for v, name in zip(data, names, strict=True)]
    low, high = site.limits()
    return site.b.node(op, [x, *constants], **attrs, wide=wide, lo=low, hi=high)


@operator("CONV_2D", options="Conv2DOptions")
def conv_2d(site: Site) -> Value:
    weight = _filter(site, 1, 4)
    channels, given = site.x().shape[3], weight.shape[3]
    if not given or channels % given or len(weight) % (channels // given):
        raise site.refuse(f"{site.tensor(0)} with the filter {site.tensor(1)}")
    return _convolution(site, weight, channels // given)


@operator("DEPTHWISE_CONV_2D", options="DepthwiseConv2DOptions")
def depthwise_conv_2d(site: Site) -> Value:
    """The filter is (1, KH, KW, O); each input channel has as many outputs."""
    weight = _filter(site, 1, 4)
    channels = site.x().shape[3]
    if weight.shape[0] != 1 or not channels or weight.shape[3] % channels:
        raise site.refuse(f"{site.tensor(0)} with the filter {site.tensor(1)}")
    return _convolution(site, weight.transpose(3, 1, 2, 0), channels)


def _linear(site: Site, rows: Value, weight: np.ndarray) -> Value:
    """A linear layer of floats; int8 weights without zero points stay int8."""
    b, channels, tensor = site.b, len(weight), site.tensor(1)
    bias = _float_bias(site, 2, channels)
    if is_hybrid(site, 1) and tensor.type == "INT8":
        assert tensor.affine is not None and tensor.data is not None
        if not np.any(tensor.affine.zero_points) and len(tensor.affine.scales) in (1, channels):
            scale = np.broadcast_to(tensor.affine.scales, channels).astype(np.float32)
            return b.node("wlinear8", [rows, b.constant(tensor.data, hint="weight"), b.constant(scale), bias])
    return b.node("linear", [rows, b.constant(np.ascontiguousarray(weight), hint="weight"), bias])


@operator("FULLY_CONNECTED", options="FullyConnectedOptions")
def fully_connected(site: Site) -> Value:
    b, x = site.b, site.x()
    if site.options.WeightsFormat:
        raise site.refuse("weights in a shuffled order")
    if site.known(1) is None and site.tensor(0).type == site.tensor(1).type == "FLOAT32":
        size = site.x(1).shape[1]
        y = product(b, b.reshape(x, (x.elements // size, size)), b.permute(site.x(1), (1, 0)))
        return limited(site, b.reshape(apply(b, "add", y, site.x(2)) if site.has(2) else y, site.result.shape))
    weight = _filter(site, 1, 2)
    channels, size = weight.shape
    if not size or x.elements % size:
        raise site.refuse(f"{site.tensor(0)} with the filter {site.tensor(1)}")
    rows = b.reshape(x, (x.elements // size, size))
    kind = _kind(site, 0, 1)
    if kind == "float":
        return limited(site, b.reshape(_linear(site, rows, weight), site.result.shape))
    qx, qy = site.quants(0)
    scale = qx.scale * filter_scales(site, 1, channels) / qy.scale
    if kind == "int16":
        attrs = {"channels": channels}
        return b.reshape(_of_16_bits(site, "tflm_linear_s16", rows, weight, scale, attrs), site.result.shape)
    if not _fits(weight):
        rows, weight = _twice(site, rows, 1), _halves(site, weight)
    bias = b.constant(_folded(_bias(site, 2, channels), weight, qx.zero_point), hint="bias")
    low, high = site.limits()
    inputs = [rows, b.constant(np.ascontiguousarray(weight.astype(np.int8)), hint="weight"), bias]
    y = b.node(
        "qlinear", [*inputs, *_factors(site, scale)], channels=channels, zx=qx.zero_point, zy=qy.zero_point, lo=low,
        hi=high,
    )
    return b.reshape(y, site.result.shape)


@operator("TRANSPOSE_CONV", options="TransposeConvOptions")
def transpose_conv(site: Site) -> Value:
    """Inputs: the result's shape, the filter (O, KH, KW, I), x, perhaps a bias."""
    b, o, x = site.b, site.options, site.x(2)
    weight = _filter(site, 1, 4)
    channels, kh, kw, _ = weight.shape
    size = site.numbers(0, "the shape of the result")
    rows = padded(site, size[1], kh, o.StrideH)
    columns = padded(site, size[2], kw, o.StrideW)
    stride, pad = (o.StrideH, o.StrideW), (rows.before, columns.before)
    exact = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[1:3], stride, pad, (kh, kw), strict=True)]
    missing = [want - have for want, have in zip(size[1:3], exact, strict=True)]
    if any(extra >= s for extra, s in zip(missing, stride, strict=True)):
        raise site.refuse(f"{list(size)} from {site.tensor(2)}, further than its windows reach")
    attrs: dict[str, Any] = {
        "kernel": (kh, kw), "stride": stride, "dilation": (1, 1), "groups": 1, "pad": pad, "channels": channels,
        "extra": tuple(max(extra, 0) for extra in missing),
    }
    kind = _kind(site, 2, 1)
    if kind == "int16":
        return _transposed_16(site, weight, stride, pad, size[1:3])
    if kind == "float":
        filters = b.constant(np.ascontiguousarray(weight.transpose(3, 1, 2, 0)), hint="weight")
        y = b.node("conv_transpose2d", [x, filters, _float_bias(site, 3, channels)], **attrs)
    else:
        if not _fits(weight):
            raise site.refuse(f"the filter {site.tensor(1)} has weights of 9 bits")
        qx, qy = site.quants(2)
        scale = qx.scale * filter_scales(site, 1, channels) / qy.scale
        low, high = site.limits()
        inputs = [
            x, b.constant(np.ascontiguousarray(weight.astype(np.int8)), hint="weight"),
            b.constant(_bias(site, 3, channels).astype(np.int32), hint="bias"), *_factors(site, scale),
        ]
        y = b.node("qconv_transpose2d", inputs, **attrs, zx=qx.zero_point, zy=qy.zero_point, lo=low, hi=high)
    for axis, (want, extra) in enumerate(zip(size[1:3], missing, strict=True), 1):
        y = slice_axis(b, y, axis, 0, want) if extra < 0 else y
    return limited(site, y) if kind == "float" else y


def _transposed_16(
    site: Site, weight: np.ndarray, stride: tuple[int, int], pad: tuple[int, int], size: tuple[int, ...]
) -> Value:
    """A convolution of the image with zeros between its pixels, the filter turned around."""
    b, x = site.b, site.x(2)
    channels, *kernel, _ = weight.shape
    if site.has(3) and site.tensor(3).type not in ("INT64", "INT16"):
        raise site.refuse(f"the bias is {site.tensor(3)}; TFLM takes int64 or int16")
    n, h, w, c = x.shape
    spread = b.node(
        "pad", [b.reshape(x, (n, h, 1, w, 1, c))], before=(0,) * 6,
        after=(0, 0, stride[0] - 1, 0, stride[1] - 1, 0), value=0,
    ) if max(stride) > 1 else x
    spread = b.reshape(spread, (n, h * stride[0], w * stride[1], c))
    before = [k - 1 - p for k, p in zip(kernel, pad, strict=True)]
    after = [
        max(want + k - 1 - p - have, 0)
        for want, k, p, have in zip(size, kernel, before, spread.shape[1:3], strict=True)
    ]
    attrs: dict[str, Any] = {
        "kernel": tuple(kernel), "stride": (1, 1), "dilation": (1, 1), "groups": 1, "pad": (*before, *after),
        "channels": channels,
    }
    qx, qy = site.quants(2)
    scale = qx.scale * filter_scales(site, 1, channels) / qy.scale
    turned = np.ascontiguousarray(weight[:, ::-1, ::-1])
    y = _of_16_bits(site, "tflm_conv2d_s16", spread, turned, scale, attrs, inputs=(2, 3))
    for axis, want in enumerate(size, 1):
        y = slice_axis(b, y, axis, 0, want)
    return y


@operator("BATCH_MATMUL", options="BatchMatMulOptions")
def batch_matmul(site: Site) -> Value:
    b, left, right = site.b, site.x(0), site.x(1)

    def turned(x: Value, flag: bool) -> Value:
        rank = len(x.shape)
        return b.permute(x, (*range(rank - 2), rank - 1, rank - 2)) if flag else x

    if site.tensor(0).type == site.tensor(1).type == "FLOAT32":
        return product(b, turned(left, site.options.AdjX), turned(right, site.options.AdjY))
    dtypes = {"INT8": INT8, "INT16": INT16}
    if site.quantized not in dtypes or {left.dtype, right.dtype} != {dtypes[site.quantized]}:
        raise site.refuse(f"{site.tensor(0)} with {site.tensor(1)}")
    q0, q1, qy = site.quants(0, 1)
    if site.quantized == "INT16" and any(q.zero_point for q in (q0, q1, qy)):
        raise site.refuse("16-bit tensors with a zero point")
    pairs = ((left, q0, site.options.AdjX), (right, q1, site.options.AdjY))
    operands = [turned(compute(b, "sub", x, q.zero_point), flag) for x, q, flag in pairs]
    factor = q0.scale * q1.scale / qy.scale
    sums = product(b, *operands)
    steps = scaled(b, sums, factor) if site.quantized == "INT8" else scaled_wide(b, sums, factor)
    return clamped(b, compute(b, "add", steps, qy.zero_point), LIMITS[site.quantized], dtypes[site.quantized])
