"""Operators under TFLM's contract as cases of one node: `real` is what TFLM gives for the integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pilotlight.graph import INT8, INT16, Quant
from pilotlight.ops.dense.tflm_int16 import tflm_factors
from pilotlight.ops.pointwise.tflm_binary import make_tflm_add, make_tflm_mul, make_tflm_squared_difference
from pilotlight.ops.pool.tflm import make_tflm_avg_pool2d
from pilotlight.ops.softmax.tflm import make_tflm_softmax
from pilotlight.ops.spec import NodeSpec
from support.q_cases import Case, near, scale
from support.tflm_truth import TfliteTensor, run, schema

Truth = Callable[..., torch.Tensor]


def truth(operator: str, options: Any, inputs: list[TfliteTensor], output: TfliteTensor) -> Truth:
    return lambda *x: torch.from_numpy(run(operator, options, inputs, output, *(v.numpy() for v in x)))


def _shapes(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of two operands: the same, one number, or a row for each pixel."""
    shape = tuple(int(n) for n in rng.integers(1, 8, 4))
    return shape, (shape, shape, (1, 1, 1, 1), (1, 1, 1, shape[3]))[int(rng.integers(4))]


def _two(rng: np.random.Generator, operator: str, options: Any, bits: int) -> Case:
    dtype = np.int8 if bits == 8 else np.int16
    limits = (-128, 127) if bits == 8 else (-32768, 32767)
    a, b = scale(rng), scale(rng)
    y = near(rng, a if operator != "MUL" else Quant(a.scale * b.scale * 60, 0))
    if bits == 16:
        a, b, y = (Quant(q.scale, 0) for q in (a, b, y))
    makers = {
        "ADD": lambda: make_tflm_add(a, b, y, limits, bits),
        "SUB": lambda: make_tflm_add(a, b, y, limits, bits, -1),
        "MUL": lambda: make_tflm_mul(a, b, y, limits),
        "SQUARED_DIFFERENCE": lambda: make_tflm_squared_difference(a, b, y, limits, bits),
    }
    shapes = _shapes(rng)
    tensors = [TfliteTensor.of(s, q, dtype) for s, q in zip(shapes, (a, b), strict=True)]
    real = truth(operator, options, tensors, TfliteTensor.of(shapes[0], y, dtype))
    return Case(makers[operator](), shapes, (a, b), y, real, 0, (INT8 if bits == 8 else INT16,) * 2)


def add(rng: np.random.Generator) -> Case:
    return _two(rng, "ADD", schema.AddOptionsT(), 8)


def sub(rng: np.random.Generator) -> Case:
    return _two(rng, "SUB", schema.SubOptionsT(), 8)


def mul(rng: np.random.Generator) -> Case:
    return _two(rng, "MUL", schema.MulOptionsT(), 8)


def squared_difference(rng: np.random.Generator) -> Case:
    return _two(rng, "SQUARED_DIFFERENCE", schema.SquaredDifferenceOptionsT(), 8)


def add_s16(rng: np.random.Generator) -> Case:
    return _two(rng, "ADD", schema.AddOptionsT(), 16)


def mul_s16(rng: np.random.Generator) -> Case:
    return _two(rng, "MUL", schema.MulOptionsT(), 16)


def ties(rng: np.random.Generator) -> Case:
    """Scales that are powers of two: sums lie exactly between two results."""
    return _sum(Quant(0.25, 0), Quant(0.125, 3), Quant(0.5, int(rng.integers(-9, 9))))


def steep(rng: np.random.Generator) -> Case:
    """Most sums lie outside the result's range, and small ones are exact."""
    return _sum(Quant(float(np.float32(2.0 ** rng.uniform(0, 2))), 1), Quant(2.0**-10, -2), Quant(2.0**-11, 5))


def _sum(a: Quant, b: Quant, y: Quant) -> Case:
    shape = (16, 16)
    real = truth(
        "ADD", schema.AddOptionsT(), [TfliteTensor.of(shape, a), TfliteTensor.of(shape, b)], TfliteTensor.of(shape, y)
    )
    return Case(make_tflm_add(a, b, y), (shape, shape), (a, b), y, real, 0)


def _pool(rng: np.random.Generator, bits: int) -> Case:
    h, w, c, kh, kw, sh, sw = (int(n) for n in rng.integers((3, 3, 1, 1, 1, 1, 1), (9, 9, 9, 4, 4, 3, 3)))
    o = schema.Pool2DOptionsT()
    o.padding, o.strideH, o.strideW, o.filterHeight, o.filterWidth = int(rng.integers(2)), sh, sw, kh, kw
    dtype, q = (np.int8, scale(rng)) if bits == 8 else (np.int16, Quant(scale(rng).scale, 0))

    def along(size: int, kernel: int, stride: int) -> tuple[int, int]:
        if o.padding == schema.Padding.VALID:
            return (size - kernel) // stride + 1, 0
        count = -(-size // stride)
        return count, max((count - 1) * stride + kernel - size, 0) // 2

    (oh, top), (ow, left) = along(h, kh, sh), along(w, kw, sw)
    shape, limits = (2, h, w, c), (-128, 127) if bits == 8 else (-32768, 32767)
    real = truth(
        "AVERAGE_POOL_2D", o, [TfliteTensor.of(shape, q, dtype)], TfliteTensor.of((2, oh, ow, c), q, dtype)
    )
    spec = make_tflm_avg_pool2d((oh, ow), (kh, kw), (sh, sw), (top, left), limits)
    return Case(spec, (shape,), (q,), q, real, 0, (INT8 if bits == 8 else INT16,))


def average_pool(rng: np.random.Generator) -> Case:
    return _pool(rng, 8)


def average_pool_s16(rng: np.random.Generator) -> Case:
    return _pool(rng, 16)


def _softmax(rng: np.random.Generator, bits: int) -> Case:
    o = schema.SoftmaxOptionsT()
    o.beta = float(rng.choice([1.0, 0.5, 2.0]))
    x = scale(rng, -9, 1)
    y = Quant(1 / 256, -128) if bits == 8 else Quant(1 / 65536, -32768)
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 40)))
    output = TfliteTensor.of(shape, y, np.int8 if bits == 8 else np.int16)
    return Case(make_tflm_softmax(x, o.beta, 1, bits), (shape,), (x,), y, truth(
        "SOFTMAX", o, [TfliteTensor.of(shape, x)], output), 0)


def softmax(rng: np.random.Generator) -> Case:
    return _softmax(rng, 8)


def softmax_s16(rng: np.random.Generator) -> Case:
    return _softmax(rng, 16)


def _dense16(rng: np.random.Generator, operator: str, wide: bool) -> Case:
    """A convolution, depthwise or linear layer of int16; a bias of 32 bits makes sums of as many."""
    n, h, w, i, o, kh, kw = (int(v) for v in rng.integers((1, 3, 3, 1, 1, 1, 1), (3, 7, 7, 9, 7, 4, 4)))
    depthwise = operator == "DEPTHWISE_CONV_2D"
    groups, o = (i, o * i) if depthwise else (1, o)
    x, y = (Quant(float(np.float32(2.0 ** rng.uniform(*r))), 0) for r in ((-14, -10), (-12, -8)))
    linear = operator == "FULLY_CONNECTED"
    if linear:
        h = w = kh = kw = 1
    weight = rng.integers(-127, 128, (o, kh, kw, i // groups)).astype(np.int8)
    scales = np.float32(2.0 ** rng.uniform(-9, -5, 1 if linear else o))
    bias = rng.integers(-(1 << 20), 1 << 20, o).astype(np.int64 if wide else np.int32)
    product = np.float32(x.scale) * scales if linear else x.scale * scales.astype(np.float64)
    m, shifts = tflm_factors(np.broadcast_to(product.astype(np.float64) / y.scale, (o,)), wide)
    sizes, limits = (h - kh + 1, w - kw + 1), {"wide": wide, "lo": -32768, "hi": 32767}
    shape, out = ((n, i), (n, o)) if linear else ((n, h, w, i), (n, *sizes, o))
    filters = weight.reshape(o, i) if linear else weight.transpose(3, 1, 2, 0) if depthwise else weight
    options: Any = schema.FullyConnectedOptionsT() if linear else schema.Conv2DOptionsT()
    if depthwise:
        options = schema.DepthwiseConv2DOptionsT()
        options.depthMultiplier = o // i
    if not linear:
        options.padding = schema.Padding.VALID
        options.strideH = options.strideW = options.dilationHFactor = options.dilationWFactor = 1
    tensors = [
        TfliteTensor.of(shape, x, np.int16),
        TfliteTensor(filters.shape, np.int8, scales, 0, 3 if depthwise else 0, filters),
        TfliteTensor((o,), bias.dtype.type, np.float32(x.scale) * scales, 0, 0, bias),
    ]
    attrs: dict[str, Any] = {"channels": o, **limits}
    if not linear:
        window = {"kernel": (kh, kw), "stride": (1, 1), "pad": (0, 0, 0, 0), "dilation": (1, 1), "groups": groups}
        attrs |= window
    constants = (weight.reshape(o, i) if linear else weight, bias.astype(np.int64), m, shifts)
    spec = NodeSpec("tflm_linear_s16" if linear else "tflm_conv2d_s16", attrs, constants)
    real = truth(operator, options, tensors, TfliteTensor.of(out, y, np.int16))
    return Case(spec, (shape,), (x,), y, real, 0, (INT16,))


def conv_s16(rng: np.random.Generator) -> Case:
    return _dense16(rng, "CONV_2D", True)


def conv_s16_narrow_sums(rng: np.random.Generator) -> Case:
    return _dense16(rng, "CONV_2D", False)


def depthwise_s16(rng: np.random.Generator) -> Case:
    return _dense16(rng, "DEPTHWISE_CONV_2D", True)


def linear_s16(rng: np.random.Generator) -> Case:
    return _dense16(rng, "FULLY_CONNECTED", True)


MAKERS = {
    f.__name__: f
    for f in (add, sub, mul, squared_difference, add_s16, mul_s16, ties, steep, average_pool, average_pool_s16, softmax,
              softmax_s16, conv_s16, conv_s16_narrow_sums, depthwise_s16, linear_s16)
}
