"""PT2E's and torchao's own operators: where a model goes from real numbers to integers and back.

Weights arrive as dequantized constants; the builder remembers their scales per channel, and the dense layers keep
them in `weight_scale`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pilotlight.graph import FLOAT32, Quant, Value
from pilotlight.graph.builder import Builder
from pilotlight.graph.dtypes import INT8, INT16
from pilotlight.ops.base import lowers
from pilotlight.ops.quantize import make_dequantize, make_quantize

_RANGES = {(-128, 127): INT8, (-127, 127): INT8, (-32768, 32767): INT16, (-32767, 32767): INT16}


@lowers("quantized_decomposed.quantize_per_tensor.default")
def quantize(
    b: Builder, input: Value, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: object
) -> Value:
    if (quant_min, quant_max) not in _RANGES:
        raise b.refuse(
            f"quantization to {quant_min}..{quant_max} is not supported; expected int8 or int16 over its whole range"
        )
    spec = make_quantize(Quant(scale, zero_point), 8 * _RANGES[quant_min, quant_max].size, (quant_min, quant_max))
    return b.node(spec.op, [input], **spec.attrs)


@lowers("quantized_decomposed.dequantize_per_tensor.default")
def dequantize(
    b: Builder, input: Value, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: object,
    out_dtype: object = None,
) -> Value:
    if input.data is not None:
        return b.constant((input.data.astype(np.float64) - zero_point) * scale, FLOAT32, input.name)
    spec = make_dequantize(Quant(scale, zero_point))
    return b.node(spec.op, [input], **spec.attrs)


@lowers("quantized_decomposed.quantize_per_channel.default")
def quantize_per_channel(
    b: Builder, input: Value, scales: Value, zero_points: Value, axis: int, quant_min: int, quant_max: int,
    dtype: object,
) -> Value:
    real = b.need_constant(input, "a tensor quantized per channel")
    shape = [1] * real.ndim
    shape[axis] = -1
    scale, zero = (b.need_constant(v, "a scale").reshape(shape) for v in (scales, zero_points))
    steps = np.rint(real * (np.float32(1) / scale.astype(np.float32))) + zero
    return b.constant(np.clip(steps, quant_min, quant_max), b.results[0][0], input.name)


@lowers("quantized_decomposed.dequantize_per_channel.default")
def dequantize_per_channel(
    b: Builder, input: Value, scales: Value, zero_points: Value | None, axis: int, quant_min: int, quant_max: int,
    dtype: object, out_dtype: object = None,
) -> Value:
    integers = b.need_constant(input, "a tensor quantized per channel")
    scale = b.need_constant(scales, "a scale").astype(np.float64)
    shape = [1] * integers.ndim
    shape[axis] = len(scale)
    zeros = np.zeros(len(scale)) if zero_points is None else b.need_constant(zero_points, "a zero point")
    value = b.constant((integers - zeros.reshape(shape)) * scale.reshape(shape), FLOAT32, input.name)
    b.channel_scales[value] = (scale, axis)
    return value


@lowers("torchao.dequantize_affine.default")
def dequantize_affine(
    b: Builder, input: Value, block_size: Sequence[int], scale: Value, zero_point: Value | None, input_dtype: object,
    quant_min: object = None, quant_max: object = None, output_dtype: object = None,
) -> Value:
    """Weights of `quantize_`: numbers in blocks share a scale; one block per row is a scale for each output."""
    integers = b.need_constant(input, "a tensor quantized in blocks").astype(np.float64)
    scales = b.need_constant(scale, "a scale").astype(np.float64)
    zeros = np.zeros(1) if zero_point is None else b.need_constant(zero_point, "a zero point").astype(np.float64)

    def spread(numbers: np.ndarray) -> np.ndarray:
        if numbers.size > 1:
            numbers = numbers.reshape([n // k for n, k in zip(integers.shape, block_size, strict=True)])
            for axis, size in enumerate(block_size):
                numbers = numbers.repeat(size, axis)
        return numbers

    value = b.constant((integers - spread(zeros)) * spread(scales), FLOAT32, input.name)
    if tuple(block_size) == (1, *integers.shape[1:]) and not zeros.any():
        b.channel_scales[value] = (scales.reshape(-1), 0)
    return value
