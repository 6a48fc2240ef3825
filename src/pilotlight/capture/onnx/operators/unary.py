"""Functions of one tensor, element by element."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pilotlight.capture.onnx.registry import operator

for _name, _function in {
    "Abs": torch.abs, "Neg": torch.neg, "Sign": torch.sign, "Floor": torch.floor, "Ceil": torch.ceil,
    "Round": torch.round, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal, "Exp": torch.exp, "Log": torch.log,
    "Sin": torch.sin, "Cos": torch.cos, "Tan": torch.tan, "Asin": torch.asin, "Acos": torch.acos, "Atan": torch.atan,
    "Sinh": torch.sinh, "Cosh": torch.cosh, "Tanh": torch.tanh, "Asinh": torch.asinh, "Acosh": torch.acosh,
    "Atanh": torch.atanh, "Erf": torch.erf, "IsNaN": torch.isnan, "Sigmoid": torch.sigmoid,
}.items():
    operator(_name)(lambda x, _of=_function: _of(x))


@operator("Identity")
def identity(x: Any) -> Any:
    return x


@operator("Det")
def determinant(x: Tensor) -> Tensor:
    """By the first row, which is what small matrices allow."""
    n = x.shape[-1]
    if n > 4:
        raise NotImplementedError(f"the determinant of {n} x {n} matrices")
    if n == 1:
        return x[..., 0, 0]
    total = torch.zeros_like(x[..., 0, 0])
    for k in range(n):
        rest = torch.cat([x[..., 1:, :k], x[..., 1:, k + 1 :]], -1)
        total = total + (-1) ** k * x[..., 0, k] * determinant(rest)
    return total


@operator("IsInf")
def is_inf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    up = x == torch.inf if detect_positive else torch.zeros_like(x, dtype=torch.bool)
    return up | (x == -torch.inf) if detect_negative else up


@operator("Clip", numbers=("least", "most"))
def clip(x: Tensor, least: Tensor | float | None = None, most: Tensor | float | None = None) -> Tensor:
    """Where `least` is above `most`, the result is `most`."""
    for limit, function in ((least, torch.maximum), (most, torch.minimum)):
        if isinstance(limit, Tensor):
            x = function(x, limit.to(x.dtype))
        elif limit is not None:
            x = x.clamp(min=limit) if function is torch.maximum else x.clamp(max=limit)
    return x


@operator("Dropout", fixed=("training",))
def dropout(x: Tensor, ratio: Tensor | None = None, training: bool = False, *, seed: int = 0, outputs: int) -> Any:
    """At inference nothing is dropped."""
    if training:
        raise NotImplementedError("dropping elements at random while training")
    return (x, torch.ones_like(x, dtype=torch.bool)) if outputs > 1 else x
