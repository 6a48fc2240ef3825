"""Operators under TFLM's contract as cases of one node: `real` is what TFLM gives for the integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pilotlight.graph import INT8, INT16, Quant
from pilotlight.ops.pointwise.tflm_binary import make_tflm_add, make_tflm_mul, make_tflm_squared_difference
from pilotlight.ops.pool.tflm import make_tflm_avg_pool2d
from pilotlight.ops.softmax.tflm import make_tflm_softmax
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


MAKERS = {
    f.__name__: f
    for f in (add, sub, mul, squared_difference, add_s16, mul_s16, ties, steep, average_pool, average_pool_s16, softmax,
              softmax_s16)
}
