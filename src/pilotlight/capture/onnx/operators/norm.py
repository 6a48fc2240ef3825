"""Normalizations."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.registry import operator


def _by_channel(scale: Tensor, x: Tensor) -> Tensor:
    return scale.reshape(-1, *[1] * (x.dim() - 2))


@operator("BatchNormalization")
def batch_norm(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *, epsilon: float = 1e-5, momentum: float = 0.9,
    training_mode: int = 0,
) -> Tensor | tuple[Tensor, ...]:
    if not training_mode:
        return F.batch_norm(x, mean, var, scale, bias, False, 0.0, epsilon)
    axes = [k for k in range(x.dim()) if k != 1]
    now, spread = x.mean(axes), x.var(axes, correction=0)
    y = (x - _by_channel(now, x)) / torch.sqrt(_by_channel(spread, x) + epsilon)
    y = y * _by_channel(scale, x) + _by_channel(bias, x)
    return y, mean * momentum + now * (1 - momentum), var * momentum + spread * (1 - momentum)


@operator("InstanceNormalization")
def instance_norm(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


@operator("LayerNormalization")
def layer_norm(
    x: Tensor, scale: Tensor, bias: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-5,
    stash_type: int = 1, outputs: int,
) -> Tensor | tuple[Tensor, ...]:
    axis = axis + x.dim() if axis < 0 else axis
    shape = list(x.shape[axis:])
    if outputs == 1 and list(scale.shape) == shape and (bias is None or list(bias.shape) == shape):
        return F.layer_norm(x, shape, scale, bias, epsilon)
    axes = list(range(axis, x.dim()))
    mean = x.mean(axes, keepdim=True)
    inverse = torch.rsqrt((x - mean).square().mean(axes, keepdim=True) + epsilon)
    y = (x - mean) * inverse * scale
    return (y if bias is None else y + bias), mean, inverse


@operator("RMSNormalization")
def rms_norm(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Tensor:
    axis = axis + x.dim() if axis < 0 else axis
    shape = list(x.shape[axis:])
    if list(scale.shape) == shape:
        return F.rms_norm(x, shape, scale, epsilon)
    return F.rms_norm(x, shape, None, epsilon) * scale


@operator("GroupNormalization")
def group_norm(
    x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1
) -> Tensor:
    return F.group_norm(x, num_groups, scale, bias, epsilon)


@operator("LRN")
def local_response_norm(
    x: Tensor, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int
) -> Tensor:
    if size > 2 * x.shape[1]:
        raise NotImplementedError(f"a window of {size} channels over {x.shape[1]}")
    before, after = (size - 1) // 2, size // 2
    squares = F.pad(x.square(), [0, 0] * (x.dim() - 2) + [before, after])
    total = sum(squares.narrow(1, k, x.shape[1]) for k in range(size))
    return x / (bias + alpha / size * total) ** beta


@operator("LpNormalization")
def lp_norm(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    size = x.abs().sum(axis, keepdim=True) if p == 1 else x.square().sum(axis, keepdim=True).sqrt()
    return torch.where(size == 0, 0, x / size)


@operator("MeanVarianceNormalization")
def mean_variance_norm(x: Tensor, *, axes: list[int] | None = None) -> Tensor:
    axes = [0, 2, 3] if axes is None else axes
    mean = x.mean(axes, keepdim=True)
    spread = (x.square().mean(axes, keepdim=True) - mean.square()).clamp(min=0).sqrt()
    return (x - mean) / (spread + 1e-9)


