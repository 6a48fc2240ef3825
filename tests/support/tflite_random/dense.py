"""Convolutions, linear layers, products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.support.tflite_random.draw import HYBRID_CASES, UINT8_CASES, Draw, case, every, windowed


def weights_of(
    d: Draw, shape: Sequence[int], channels: int, axis: int, per_channel: bool = True
) -> tuple[int, np.ndarray]:
    if d.hybrid:
        scales = np.array([d.scale(0.001, 0.01) for _ in range(channels if d.chance() else 1)], np.float32)
        return d.graph.constant(d.rng.integers(-127, 128, shape).astype(np.int8), scales, axis=axis), np.ones(1)
    if d.kind == "UINT8":
        scale = d.scale(0.001, 0.05)
        data = d.rng.integers(1, 256, shape).astype(np.uint8)
        return d.graph.constant(data, scale, d.pick(128, d.integer(60, 200))), np.array([scale], np.float32)
    if d.kind == "FLOAT32":
        return d.graph.constant(d.numbers(shape) / np.float32(np.sqrt(np.prod(shape[1:]) + 1))), np.ones(1)
    count = channels if per_channel and d.chance(0.8) else 1
    scales = np.array([d.scale(0.001, 0.05) for _ in range(count)], np.float32)
    if d.kind == "INT8" and d.chance(0.1):
        data = d.rng.integers(-8, 8, shape).astype(np.int8)
        if not (d.name == "FULLY_CONNECTED" and len(scales) > 1) and d.name != "TRANSPOSE_CONV":
            return d.graph.constant(data, scales, axis=axis, type="INT4"), scales
    data = d.rng.integers(-127, 128, shape).astype(np.int8)
    return d.graph.constant(data, scales, axis=axis), scales


def bias_of(d: Draw, channels: int, scale: np.ndarray) -> list[int]:
    if d.chance(0.2) and d.kind != "UINT8":  # which LiteRT runs with a bias only
        return []
    if d.kind == "FLOAT32":
        return [d.graph.constant(d.numbers((channels,)))]
    kind = np.int64 if d.kind == "INT16" else np.int32
    return [d.graph.constant(d.rng.integers(-3000, 3000, channels).astype(kind), scale)]


def output_scale(d: Draw, x: float, weights: np.ndarray, terms: int) -> float:
    """Such that results fill their range, more or less."""
    if d.kind == "FLOAT32":
        return 1.0
    typical = 70.0 * 70.0 * np.sqrt(terms) * x * float(np.mean(weights)) * (256 if d.kind == "INT16" else 1)
    return float(np.float32(typical / d.pick(20, 60, 100, 300) / (256 if d.kind == "INT16" else 1)))


def _conv(d: Draw) -> None:
    depthwise = d.name == "DEPTHWISE_CONV_2D"
    n, h, w, c = d.image(10, 17)
    kernel = d.integer(1, 4), d.integer(1, 4)
    stride = (d.integer(1, 3),) * 2 if d.chance() else (d.integer(1, 3), d.integer(1, 3))
    dilation = (1, 1) if d.chance(0.8) else (d.integer(1, 2), d.integer(1, 2))
    same = d.chance() or any(n < (k - 1) * a + 1 for n, k, a in zip((h, w), kernel, dilation, strict=True))
    channels = c * d.pick(1, 1, 2, 3) if depthwise else d.integer(1, 17)
    given = c
    if not depthwise and d.chance(0.1) and d.kind == "INT8":
        groups = d.pick(2, 3)
        given, c, channels = c, c * groups, groups * d.integer(1, 4)
    x = d.input((n, h, w, c))
    shape = (1, *kernel, channels) if depthwise else (channels, *kernel, given)
    weights, scales = weights_of(d, shape, channels, 3 if depthwise else 0)
    x_scale = d.graph.tensors[x].scale[0] if d.kind != "FLOAT32" else 1.0
    bias = bias_of(d, channels, scales * np.float32(x_scale))
    size = [windowed(s, k, t, a, same) for s, k, t, a in zip((h, w), kernel, stride, dilation, strict=True)]
    terms = kernel[0] * kernel[1] * (1 if depthwise else given)
    y = d.result((n, *size, channels), **d.affine(output_scale(d, x_scale, scales, terms)))
    options: dict[str, Any] = {
        "Padding": 0 if same else 1, "StrideH": stride[0], "StrideW": stride[1], "DilationHFactor": dilation[0],
        "DilationWFactor": dilation[1], "FusedActivationFunction": d.activation(),
    }
    if depthwise:
        options["DepthMultiplier"] = channels // c
    kind = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    d.call([x, weights, *bias], [y], options=kind, **options)


every("CONV_2D", "DEPTHWISE_CONV_2D")(_conv)
case(UINT8_CASES, "CONV_2D", "DEPTHWISE_CONV_2D")(_conv)
case(HYBRID_CASES, "CONV_2D", "DEPTHWISE_CONV_2D")(_conv)


@every("FULLY_CONNECTED")
@case(UINT8_CASES, "FULLY_CONNECTED")
@case(HYBRID_CASES, "FULLY_CONNECTED")
def _fully_connected(d: Draw) -> None:
    rows, inputs, outputs = d.pick(1, 1, 2, 5), d.integer(1, 70), d.integer(1, 40)
    x = d.input((rows, inputs) if d.chance(0.8) else (rows, 1, inputs))
    weights, scales = weights_of(d, (outputs, inputs), outputs, 0, d.chance(0.4))
    x_scale = d.graph.tensors[x].scale[0] if d.kind != "FLOAT32" else 1.0
    bias = bias_of(d, outputs, scales * np.float32(x_scale))
    y = d.result((rows, outputs), **d.affine(output_scale(d, x_scale, scales, inputs)))
    d.call([x, weights, *(bias or [-1])], [y], options="FullyConnectedOptions", FusedActivationFunction=d.activation())


@every("TRANSPOSE_CONV")
def _transpose_conv(d: Draw) -> None:
    n, h, w, c = d.image(5, 9)
    kernel, stride, channels = (d.integer(1, 4), d.integer(1, 4)), (d.integer(1, 3), d.integer(1, 3)), d.integer(1, 9)
    same = d.chance()
    size = [s * t if same else (s - 1) * t + max(k, t) for s, k, t in zip((h, w), kernel, stride, strict=True)]
    shape = d.ints([n, *size, channels])
    weights, scales = weights_of(d, (channels, *kernel, c), channels, 0)
    x = d.input((n, h, w, c))
    x_scale = d.graph.tensors[x].scale[0] if d.kind != "FLOAT32" else 1.0
    bias = bias_of(d, channels, scales * np.float32(x_scale))
    y = d.result((n, *size, channels), **d.affine(output_scale(d, x_scale, scales, kernel[0] * kernel[1] * c)))
    d.call([shape, weights, x, *bias], [y], options="TransposeConvOptions", Padding=0 if same else 1,
           StrideH=stride[0], StrideW=stride[1])


@every("BATCH_MATMUL")
def _batch_matmul(d: Draw) -> None:
    lead = tuple(d.integer(1, 3) for _ in range(d.integer(0, 2)))
    rows, inner, columns = d.integer(1, 6), d.integer(1, 12), d.integer(1, 6)
    turned = d.chance(0.3), d.chance(0.3)
    left = (*lead, inner, rows) if turned[0] else (*lead, rows, inner)
    right = (*lead, columns, inner) if turned[1] else (*lead, inner, columns)
    a, b = d.input(left), d.input(right)
    y = d.result((*lead, rows, columns), **d.affine(
        1.0 if d.kind == "FLOAT32" else float(np.float32(
            d.graph.tensors[a].scale[0] * d.graph.tensors[b].scale[0] * np.sqrt(inner)
            * (60 if d.kind == "INT8" else 15000)))))
    d.call([a, b], [y], options="BatchMatMulOptions", AdjX=turned[0], AdjY=turned[1])
