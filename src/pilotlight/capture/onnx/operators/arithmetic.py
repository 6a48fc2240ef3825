"""Arithmetic, comparisons and logic of two or more tensors, which broadcast."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from pilotlight.capture.onnx.registry import operator

operator("Add")(lambda a, b: a + b)
operator("Sub")(lambda a, b: a - b)
operator("Mul")(lambda a, b: a * b)
operator("Equal")(lambda a, b: a == b)
operator("Less")(lambda a, b: a < b)
operator("LessOrEqual")(lambda a, b: a <= b)
operator("Greater")(lambda a, b: a > b)
operator("GreaterOrEqual")(lambda a, b: a >= b)
operator("And")(lambda a, b: torch.logical_and(a, b))
operator("Or")(lambda a, b: torch.logical_or(a, b))
operator("Xor")(lambda a, b: torch.logical_xor(a, b))
operator("Not")(lambda x: torch.logical_not(x))
operator("BitwiseAnd")(lambda a, b: a & b)
operator("BitwiseOr")(lambda a, b: a | b)
operator("BitwiseXor")(lambda a, b: a ^ b)
operator("BitwiseNot")(lambda x: ~x)
operator("Where")(lambda condition, a, b: torch.where(condition, a, b))


@operator("Div")
def div(a: Tensor, b: Tensor) -> Tensor:
    """Integers are divided towards zero."""
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


@operator("Mod")
def mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    return torch.fmod(a, b) if fmod else torch.remainder(a, b)


@operator("Pow", numbers=("y",))
def power(x: Tensor, y: Tensor | float | list[float]) -> Tensor:
    """The result has the type of the base."""
    if isinstance(y, list):
        y = torch.tensor(y)
    if isinstance(y, Tensor) and y.dtype != x.dtype:
        wide = torch.float32 if y.is_floating_point() or x.is_floating_point() else torch.int64
        return torch.pow(x.to(wide), y.to(wide)).to(x.dtype)
    if isinstance(y, float) and not x.is_floating_point():
        return torch.pow(x.to(torch.float32), y).to(x.dtype)
    return torch.pow(x, y).to(x.dtype)


@operator("BitShift")
def bit_shift(a: Tensor, b: Tensor, *, direction: str) -> Tensor:
    return torch.bitwise_left_shift(a, b) if direction == "LEFT" else torch.bitwise_right_shift(a, b)


@operator("Max")
def maximum(*xs: Tensor) -> Tensor:
    return functools.reduce(torch.maximum, xs)


@operator("Min")
def minimum(*xs: Tensor) -> Tensor:
    return functools.reduce(torch.minimum, xs)


@operator("Sum")
def add_all(*xs: Tensor) -> Tensor:
    return functools.reduce(torch.add, xs)


@operator("Mean")
def mean_of_all(*xs: Tensor) -> Tensor:
    return functools.reduce(torch.add, xs) / len(xs)
