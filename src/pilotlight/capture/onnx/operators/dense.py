"""Convolutions and products of matrices."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.operators.shape import cut_axis, pad_ends
from pilotlight.capture.onnx.operators.windows import window
from pilotlight.capture.onnx.registry import operator

_CONV = (F.conv1d, F.conv2d, F.conv3d)
_TRANSPOSED = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)


@operator("Conv")
def conv(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: list[int] | None = None, group: int = 1, kernel_shape: list[int] | None = None,
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Tensor:
    around = window(x, list(weight.shape[2:]), strides, dilations, pads, auto_pad)
    function = _CONV[weight.dim() - 3]
    if around.is_even:
        return function(x, weight, bias, around.strides, around.before, around.dilations, group)
    return function(around.padded(x), weight, bias, around.strides, 0, around.dilations, group)


@operator("ConvTranspose")
def conv_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: list[int] | None = None, group: int = 1, kernel_shape: list[int] | None = None,
    output_padding: list[int] | None = None, output_shape: list[int] | None = None, pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Tensor:
    dims = weight.dim() - 2
    strides, dilations = strides or [1] * dims, dilations or [1] * dims
    more = output_padding or [0] * dims
    sizes = x.shape[2:]
    whole = [s * (n - 1) + o + d * (k - 1) + 1 for s, n, o, d, k in
             zip(strides, sizes, more, dilations, weight.shape[2:], strict=True)]
    pads = pads or [0] * (2 * dims)
    before, after = list(pads[:dims]), list(pads[dims:])
    wanted = output_shape[-dims:] if output_shape else \
        [s * n for s, n in zip(strides, sizes, strict=True)] if auto_pad.startswith("SAME") else None
    if wanted is not None:
        for k in range(dims):
            total = whole[k] - wanted[k]
            small, large = total // 2, total - total // 2
            before[k], after[k] = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    function = _TRANSPOSED[dims - 1]
    if before == after and all(o < max(s, d) for o, s, d in zip(more, strides, dilations, strict=True)) \
            and min(before) >= 0:
        return function(x, weight, bias, strides, before, more, group, dilations)
    y = function(x, weight, None, strides, 0, 0, group, dilations)
    for k in range(dims):
        y = cut_axis(y, k + 2, max(0, before[k]), min(y.shape[k + 2], whole[k] - max(0, after[k])))
    end = [max(0, whole[k] - max(0, after[k]) - max(0, before[k]) - y.shape[k + 2]) + max(0, -after[k])
           for k in range(dims)]
    y = pad_ends(y, [0, 0, *(max(0, -b) for b in before)], [0, 0, *end])
    return y if bias is None else y + bias.reshape(-1, *[1] * dims)


@operator("MatMul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b)


@operator("Gemm")
def gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> Tensor:
    a = a.t() if transA else a
    b = b if transB else b.t()
    plain = alpha == 1 and beta == 1 and (c is None or (c.dim() == 1 and c.shape[0] == b.shape[0]))
    if plain:
        return F.linear(a, b, c)
    y = F.linear(a, b)
    y = y if alpha == 1 else alpha * y
    return y if c is None else y + (c if beta == 1 else beta * c)


@operator("Einsum")
def einsum(*xs: Tensor, equation: str) -> Tensor:
    return torch.einsum(equation, *xs)
