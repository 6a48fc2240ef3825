"""Reductions, and sums and products that run along an axis."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pilotlight.capture.onnx.registry import operator

_Reduction = Callable[[Tensor, list[int], bool], Tensor]


def _largest(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    if x.dtype == torch.bool:
        return _largest(x.to(torch.uint8), axes, keep).to(torch.bool)
    return torch.amax(x, axes, keep) if x.numel() else _empty(x, axes, keep, -1)


def _smallest(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    if x.dtype == torch.bool:
        return _smallest(x.to(torch.uint8), axes, keep).to(torch.bool)
    return torch.amin(x, axes, keep) if x.numel() else _empty(x, axes, keep, 1)


def _empty(x: Tensor, axes: list[int], keep: bool, sign: int) -> Tensor:
    """The extreme of no elements at all."""
    limit = sign * torch.inf if x.is_floating_point() else \
        torch.iinfo(x.dtype).max if sign > 0 else torch.iinfo(x.dtype).min
    return torch.full_like(torch.sum(x, axes, keep, dtype=x.dtype), limit)


def _product(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = torch.prod(x, axis, keep, dtype=x.dtype)
    return x


def _sum(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    return torch.sum(x, axes, keep, dtype=x.dtype)


def _mean(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    if x.is_floating_point():
        return torch.mean(x, axes, keep)
    return torch.mean(x.to(torch.float32), axes, keep).to(x.dtype)


def _in_float(function: _Reduction) -> _Reduction:
    """Integers through float32."""
    def reduction(x: Tensor, axes: list[int], keep: bool) -> Tensor:
        return function(x if x.is_floating_point() else x.to(torch.float32), axes, keep).to(x.dtype)

    return reduction


def _log_sum_exp(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    return torch.logsumexp(x, axes, keep) if x.numel() else torch.log(_sum(x, axes, keep))


def _register(name: str, function: _Reduction) -> None:
    @operator(name, fixed=("axes",))
    def reduction(
        x: Tensor, axes: list[int] | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Tensor:
        if not axes and (noop_with_empty_axes or not x.dim()):
            return function(x.unsqueeze(-1), [-1], False)
        return function(x, list(axes or range(x.dim())), bool(keepdims))


for _name, _function in {
    "ReduceSum": _sum, "ReduceMean": _mean, "ReduceMax": _largest, "ReduceMin": _smallest, "ReduceProd": _product,
    "ReduceL1": lambda x, axes, keep: _sum(x.abs(), axes, keep),
    "ReduceL2": _in_float(lambda x, axes, keep: torch.sqrt(_sum(x * x, axes, keep))),
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
    "ReduceLogSum": _in_float(lambda x, axes, keep: torch.log(_sum(x, axes, keep))),
    "ReduceLogSumExp": _in_float(_log_sum_exp),
}.items():
    _register(_name, _function)


def _best(name: str, function: Callable[..., Tensor]) -> None:
    @operator(name)
    def best(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
        if select_last_index:
            return x.shape[axis] - 1 - function(x.flip(axis), axis, bool(keepdims))
        return function(x, axis, bool(keepdims))


_best("ArgMax", torch.argmax)
_best("ArgMin", torch.argmin)


def _running(name: str, function: Callable[..., Tensor], start: int) -> None:
    @operator(name, fixed=("axis",))
    def running(x: Tensor, axis: int | list[int], *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        along = axis[0] if isinstance(axis, list) else axis
        x = x.flip(along) if reverse else x
        if exclusive:  # the result before each element
            first = torch.full_like(x.narrow(along, 0, 1), start)
            x = torch.cat([first, x.narrow(along, 0, x.shape[along] - 1)], along)
        y = function(x, along, dtype=x.dtype)
        return y.flip(along) if reverse else y


_running("CumSum", torch.cumsum, 0)
_running("CumProd", torch.cumprod, 1)
