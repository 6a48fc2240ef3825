"""Steps of optimizers: weights, gradients and what is remembered of them in, all of them changed out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from pilotlight.capture.onnx.registry import operator

DOMAIN = "ai.onnx.preview.training"


def _rows(tensors: Sequence[Tensor], kinds: int) -> Iterator[tuple[Tensor, ...]]:
    """All weights come first, then all gradients, and so on: what belongs together."""
    count = len(tensors) // kinds
    return zip(*(tensors[k * count : (k + 1) * count] for k in range(kinds)), strict=True)


def _columns(rows: Sequence[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(x for column in zip(*rows, strict=True) for x in column)


@operator("Adagrad", domain=DOMAIN)
def adagrad(
    rate: Tensor, turn: Tensor, *tensors: Tensor, decay_factor: float = 0.0, epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:
    step, rows = rate / (1 + turn * decay_factor), []
    for x, gradient, squares in _rows(tensors, 3):
        g = norm_coefficient * x + gradient
        total = squares + g * g
        rows.append((x - step * g / (total.sqrt() + epsilon), total))
    return _columns(rows)


@operator("Adam", domain=DOMAIN)
def adam(
    rate: Tensor, turn: Tensor, *tensors: Tensor, alpha: float = 0.9, beta: float = 0.999, epsilon: float = 1e-6,
    norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:
    at = turn.to(rate.dtype)
    step, rows = torch.where(turn > 0, rate * (1 - beta**at).sqrt() / (1 - alpha**at), rate), []
    for x, gradient, mean, squares in _rows(tensors, 4):
        g = norm_coefficient * x + gradient
        mean, squares = alpha * mean + (1 - alpha) * g, beta * squares + (1 - beta) * g * g
        moved = x - step * mean / (squares.sqrt() + epsilon)
        rows.append(((1 - norm_coefficient_post) * moved, mean, squares))
    return _columns(rows)


@operator("Momentum", domain=DOMAIN)
def momentum(
    rate: Tensor, turn: Tensor, *tensors: Tensor, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Tensor, ...]:
    share, rows = torch.where(turn > 0, beta, 1.0).to(rate.dtype), []
    for x, gradient, before in _rows(tensors, 3):
        g = norm_coefficient * x + gradient
        now = alpha * before + share * g
        rows.append((x - rate * (g + alpha * now if mode == "nesterov" else now), now))
    return _columns(rows)
