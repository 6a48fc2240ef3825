"""Integers that stand for real numbers.

Where scale and zero point are known, these are PyTorch's own operators for quantized models, from which the integer
graph is made; else they are computed as ONNX defines them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.operators.windows import window
from pilotlight.capture.onnx.registry import operator
from pilotlight.capture.onnx.types import TORCH


def _spread(scale: Tensor, x: Tensor, axis: int, block_size: int) -> Tensor:
    """A scale for each element: of the whole tensor, of a slice along an axis, or of a block."""
    if scale.numel() == 1 and not block_size:
        return scale.reshape(())
    if block_size:
        return scale.repeat_interleave(block_size, axis).narrow(axis, 0, x.shape[axis])
    sizes = [1] * x.dim()
    sizes[axis] = -1
    return scale.reshape(sizes)


@operator("DequantizeLinear")
def dequantize(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    wide = x.to(torch.int32)
    if zero_point is not None:
        wide = wide - _spread(zero_point.to(torch.int32), x, axis, block_size)
    real = wide.to(scale.dtype) * _spread(scale, x, axis, block_size)
    return real.to(TORCH[output_dtype]) if output_dtype else real


@operator("QuantizeLinear")
def quantize(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0, precision: int = 0, saturate: int = 1,
) -> Tensor:
    dtype = zero_point.dtype if zero_point is not None else TORCH[output_dtype] if output_dtype else torch.uint8
    x = x if x.is_floating_point() else x.to(torch.float32)
    steps = torch.round(x / _spread(scale, x, axis, block_size).to(x.dtype))
    if zero_point is not None:
        steps = steps.to(torch.float32) + _spread(zero_point.to(torch.float32), x, axis, block_size)
    limits = torch.iinfo(dtype)
    return steps.clamp(limits.min, limits.max).to(dtype)


def _centered(x: Tensor, zero_point: Tensor | None, axis: int) -> Tensor:
    wide = x.to(torch.int32)
    if zero_point is None:
        return wide
    zero = zero_point.to(torch.int32)
    if zero.numel() > 1:
        sizes = [1] * x.dim()
        sizes[axis] = -1
        zero = zero.reshape(sizes) if zero.dim() == 1 else zero
    return wide - (zero.reshape(()) if zero.numel() == 1 else zero)


@operator("MatMulInteger")
def matmul_integer(
    a: Tensor, b: Tensor, a_zero_point: Tensor | None = None, b_zero_point: Tensor | None = None
) -> Tensor:
    return torch.matmul(_centered(a, a_zero_point, -2), _centered(b, b_zero_point, -1))


@operator("ConvInteger")
def conv_integer(
    x: Tensor, w: Tensor, x_zero_point: Tensor | None = None, w_zero_point: Tensor | None = None, *,
    auto_pad: str = "NOTSET", dilations: list[int] | None = None, group: int = 1,
    kernel_shape: list[int] | None = None, pads: list[int] | None = None, strides: list[int] | None = None,
) -> Tensor:
    """In float32, which holds these sums exactly."""
    most = 2 * 255 * 255 * w[0].numel()
    if most >= 1 << 25:
        raise NotImplementedError(f"a sum of {w[0].numel()} products, which float32 does not hold exactly")
    around = window(x, list(w.shape[2:]), strides, dilations, pads, auto_pad)
    images = around.padded(_centered(x, x_zero_point, 1).to(torch.float32))
    filters = _centered(w, w_zero_point, 0).to(torch.float32)
    function = (F.conv1d, F.conv2d, F.conv3d)[w.dim() - 3]
    return function(images, filters, None, around.strides, 0, around.dilations, group).to(torch.int32)
