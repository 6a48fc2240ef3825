"""Pooling."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.operators.windows import Window, window
from pilotlight.capture.onnx.registry import operator

_AVERAGE = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
_MAX = (F.max_pool1d, F.max_pool2d, F.max_pool3d)


def _ends(x: Tensor, around: Window, ceil_mode: int) -> list[int]:
    """How much is read after the padding by windows that begin before the end."""
    more = []
    for axis, kernel in enumerate(around.kernel):
        whole = around.dilations[axis] * (kernel - 1) + 1
        size = x.shape[axis - len(around.kernel)] + around.before[axis] + around.after[axis]
        count = -(-(size - whole) // around.strides[axis]) + 1 if ceil_mode else 1
        if (count - 1) * around.strides[axis] >= size - around.after[axis]:
            count -= 1  # a window that would begin in the padding is left out
        more.append(max(0, (count - 1) * around.strides[axis] + whole - size) if ceil_mode else 0)
    return more


@operator("AveragePool")
def average_pool(
    x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: list[int] | None = None, kernel_shape: list[int], pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Tensor:
    around = window(x, kernel_shape, strides, dilations, pads, auto_pad)
    more, dims = _ends(x, around, ceil_mode), len(kernel_shape)
    fits = around.is_even and all(2 * p <= k for p, k in zip(around.before, kernel_shape, strict=True))
    if fits and not any(more) and max(around.dilations) == 1:
        return _AVERAGE[dims - 1](x, kernel_shape, around.strides, around.before, False, bool(count_include_pad))
    counted = around.padded(torch.ones_like(x[:1, :1]), float(count_include_pad))
    return _sums(around.padded(x), around, more) / _sums(counted, around, more)


def _sums(x: Tensor, around: Window, more: list[int]) -> Tensor:
    """The sum of each window, of an input that is padded already."""
    end = Window(around.kernel, around.strides, around.dilations, [0] * len(more), more)
    x = end.padded(x)
    dims = len(around.kernel)
    channels = x.shape[1]
    weight = torch.ones([channels, 1, *around.kernel], dtype=x.dtype)
    function = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    return function(x, weight, None, around.strides, 0, around.dilations, channels)


@operator("MaxPool")
def max_pool(
    x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: list[int] | None = None,
    kernel_shape: list[int], pads: list[int] | None = None, storage_order: int = 0, strides: list[int] | None = None,
    outputs: int,
) -> Tensor | tuple[Tensor, Tensor]:
    around = window(x, kernel_shape, strides, dilations, pads, auto_pad)
    more, dims = _ends(x, around, ceil_mode), len(kernel_shape)
    fits = around.is_even and all(2 * p <= k for p, k in zip(around.before, kernel_shape, strict=True))
    function = _MAX[dims - 1]
    if fits and not any(more):
        given, around_pads = x, around.before
    else:
        least = -torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
        after = [a + m for a, m in zip(around.after, more, strict=True)]
        given = Window(kernel_shape, around.strides, around.dilations, around.before, after).padded(x, least)
        around_pads = [0] * dims
    if outputs == 1:
        return function(given, kernel_shape, around.strides, around_pads, around.dilations)
    values, places = function(given, kernel_shape, around.strides, around_pads, around.dilations, return_indices=True)
    return values, _numbered(places, x, given, around, storage_order)


def _numbered(places: Tensor, x: Tensor, given: Tensor, around: Window, column_first: int) -> Tensor:
    """PyTorch numbers elements within a channel; ONNX over the whole tensor, and without the padding."""
    dims = len(around.kernel)
    sizes, wide = list(x.shape[2:]), list(given.shape[2:])
    shift = around.before if wide != sizes else [0] * dims
    parts: list[Tensor] = []
    for size, moved in zip(reversed(wide), reversed(shift), strict=True):
        parts.insert(0, places % size - moved)
        places = places // size
    flat = torch.zeros_like(parts[0])
    order = range(dims)[::-1] if column_first else range(dims)
    for axis in order:
        flat = flat * sizes[axis] + parts[axis]
    count = x.shape[0] * x.shape[1]
    whole = flat.new_ones(1)
    for size in sizes:
        whole = whole * size
    base = torch.arange(count).reshape(x.shape[0], x.shape[1], *[1] * dims) * whole
    return flat + base


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    return x.mean(list(range(2, x.dim())), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Tensor:
    return x.amax(list(range(2, x.dim())), keepdim=True)


@operator("LpPool")
def lp_pool(
    x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: list[int] | None = None,
    kernel_shape: list[int], p: int = 2, pads: list[int] | None = None, strides: list[int] | None = None,
) -> Tensor:
    around = window(x, kernel_shape, strides, dilations, pads, auto_pad)
    sums = _sums(around.padded(x).abs().pow(p), around, _ends(x, around, ceil_mode))
    return sums.sqrt() if p == 2 else sums.pow(1 / p)


@operator("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: int = 2) -> Tensor:
    return x.abs().pow(p).sum(list(range(2, x.dim())), keepdim=True).pow(1 / p)
