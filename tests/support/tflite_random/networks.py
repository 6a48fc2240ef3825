"""Several operators."""

from __future__ import annotations

import numpy as np
from tests.support.tflite_random.dense import bias_of, output_scale, weights_of
from tests.support.tflite_random.draw import HYBRID_CASES, UINT8_CASES, Draw, both, case


@both("CHAIN")
@case(UINT8_CASES, "CHAIN")
@case(HYBRID_CASES, "CHAIN")
def _chain(d: Draw) -> None:
    """A small network: convolutions with a shortcut, pooling, a linear layer, softmax."""
    n, h, w, c = 1, d.integer(4, 10), d.integer(4, 10), d.integer(1, 5)
    x = d.input((n, h, w, c))
    value, channels = x, c

    def conv(given: int, depthwise: bool, out: int) -> int:
        nonlocal h, w
        inner = d.graph.tensors[given].shape[3]
        kernel, stride = d.pick(1, 3), d.pick(1, 1, 2)
        shape = (1, kernel, kernel, inner) if depthwise else (out, kernel, kernel, inner)
        weights, scales = weights_of(d, shape, inner if depthwise else out, 3 if depthwise else 0)
        s = d.graph.tensors[given].scale[0] if d.kind != "FLOAT32" else 1.0
        bias = bias_of(d, inner if depthwise else out, scales * np.float32(s))
        h, w = -(-h // stride), -(-w // stride)
        terms = kernel * kernel * (1 if depthwise else inner)
        affine = d.affine(output_scale(d, s, scales, terms))
        y = d.graph.tensor((n, h, w, inner if depthwise else out), d.kind, **affine)
        options = {"Padding": 0, "StrideH": stride, "StrideW": stride, "DilationHFactor": 1, "DilationWFactor": 1,
                   "FusedActivationFunction": d.activation()}
        if depthwise:
            options["DepthMultiplier"] = 1
        d.call([given, weights, *bias], [y], "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
               options="DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", **options)
        return y

    for _ in range(d.integer(1, 3)):
        channels = d.integer(1, 8)
        value = conv(value, False, channels)
        before, size = value, (h, w)
        value = conv(value, d.chance(), channels)
        if (h, w) == size:
            y = d.graph.tensor((n, h, w, channels), d.kind, **d.affine())
            d.call([before, value], [y], "ADD", options="AddOptions", FusedActivationFunction=d.activation())
            value = y
    mean = d.graph.tensor((n, channels), d.kind, **d.affine(
        None if d.kind == "FLOAT32" else d.graph.tensors[value].scale[0]))
    d.call([value, d.ints([1, 2])], [mean], "MEAN", options="ReducerOptions", KeepDims=False)
    outputs = d.integer(2, 6)
    weights, scales = weights_of(d, (outputs, channels), outputs, 0, False)
    s = d.graph.tensors[mean].scale[0] if d.kind != "FLOAT32" else 1.0
    y = d.graph.tensor((n, outputs), d.kind, **d.affine(output_scale(d, s, scales, channels)))
    d.call([mean, weights, *(bias_of(d, outputs, scales * np.float32(s)) or [-1])], [y], "FULLY_CONNECTED",
           options="FullyConnectedOptions", FusedActivationFunction=0)
    least = 0 if d.kind == "UINT8" else -128
    d.call([y], [d.result((n, outputs), **d.affine(1 / 256, least))], "SOFTMAX", options="SoftmaxOptions", Beta=1.0)
