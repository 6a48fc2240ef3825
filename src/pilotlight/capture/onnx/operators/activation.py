"""Activation functions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.registry import operator

operator("Relu")(lambda x: torch.relu(x))
operator("HardSwish")(lambda x: F.hardswish(x))
operator("Mish")(lambda x: F.mish(x))
operator("Softplus")(lambda x: F.softplus(x))
operator("Softsign")(lambda x: F.softsign(x))


@operator("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return F.leaky_relu(x, alpha)


@operator("Elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.elu(x, alpha)


@operator("Celu")
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.celu(x, alpha)


@operator("Selu")
def selu(x: Tensor, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Tensor:
    return gamma * torch.where(x > 0, x, alpha * torch.expm1(x))


@operator("PRelu")
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """With one slope a channel, which operator sets before 7 give as a vector, or any that broadcasts."""
    by_channel = x.dim() > 1 and slope.numel() == x.shape[1] and slope.dim() in (1, x.dim() - 1) \
        and slope.shape[0] == x.shape[1] and (slope.dim() > 1 or x.shape[1] != x.shape[-1])
    if slope.numel() == 1 or by_channel:
        return F.prelu(x, slope.reshape(-1))
    return torch.where(x < 0, slope * x, x)


@operator("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return F.hardsigmoid(x)
    return (alpha * x + beta).clamp(0, 1)


@operator("Gelu")
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate)


@operator("Swish")
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.silu(x) if alpha == 1 else x * torch.sigmoid(alpha * x)


@operator("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return torch.where(x > alpha, x, 0)


@operator("Shrink")
def shrink(x: Tensor, *, lambd: float = 0.5, bias: float = 0.0) -> Tensor:
    return torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, 0)).to(x.dtype)


@operator("Softmax")
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return torch.softmax(x, axis)


@operator("LogSoftmax")
def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return torch.log_softmax(x, axis)


@operator("Hardmax")
def hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    first = x.argmax(axis, keepdim=True)
    sizes = [1] * x.dim()
    sizes[axis] = x.shape[axis]
    return (torch.arange(x.shape[axis]).reshape(sizes) == first).to(x.dtype)
