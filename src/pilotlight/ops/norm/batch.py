"""Batch norm with fixed statistics: a scale and a shift per channel, which fold into the layer before it."""

from __future__ import annotations

import numpy as np

from pilotlight.graph import FLOAT32, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import lowers
from pilotlight.ops.norm.float import moments
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import WITH_PARAMETERS


@lowers("batch_norm.default", quantized=WITH_PARAMETERS)
def batch_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
    running_var: Value | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool = False,
) -> Value:
    if training or running_mean is None or running_var is None:
        raise b.refuse("batch norm over the statistics of the batch is not supported", "call module.eval() first")
    given = (weight, bias, running_mean, running_var)
    if any(v is not None and b.known(v) is None for v in given):
        return _computed(b, input, *given, eps)
    mean, variance = (
        b.need_constant(v, "a batch norm statistic").astype(np.float64) for v in (running_mean, running_var)
    )
    scale = 1.0 / np.sqrt(variance + eps)
    if weight is not None:
        scale = scale * b.need_constant(weight, "a batch norm weight")
    shift = -mean * scale
    if bias is not None:
        shift = shift + b.need_constant(bias, "a batch norm bias")
    channels = (len(mean),) + (1,) * (len(input.shape) - 2)
    scaled = apply(b, "mul", input, b.constant(scale.reshape(channels), FLOAT32, "scale"))
    return apply(b, "add", scaled, b.constant(shift.reshape(channels), FLOAT32, "shift"))


def _computed(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value, eps: float
) -> Value:
    """The same with statistics or weights that the model computes."""
    channels = (x.shape[1],) + (1,) * (len(x.shape) - 2)
    scale = apply(b, "rsqrt", apply(b, "add", variance, eps))
    scale = scale if weight is None else apply(b, "mul", scale, weight)
    y = apply(b, "mul", apply(b, "sub", x, b.reshape(mean, channels)), b.reshape(scale, channels))
    return y if bias is None else apply(b, "add", y, b.reshape(bias, channels))


@lowers("_native_batch_norm_legit.no_stats")
def batch_norm_of_batch(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, training: bool, momentum: float, eps: float
) -> tuple[Value | None, ...]:
    """Statistics of the batch itself: its mean and variance by channel."""
    axes = [d for d in range(len(input.shape)) if d != 1]
    mean, variance, deviation = (b.reshape(v, (input.shape[1],)) for v in moments(b, input, axes, eps))
    return _computed(b, input, weight, bias, mean, variance, eps), mean, deviation


@lowers("_native_batch_norm_legit_no_training.default")
def native_batch_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value, running_var: Value,
    momentum: float, eps: float,
) -> tuple[Value | None, ...]:
    y = batch_norm(b, input, weight, bias, running_mean, running_var, False, momentum, eps)
    return y, *(b.constant(np.zeros(shape, dtype.numpy)) for dtype, shape in b.results[1:])  # of no elements
