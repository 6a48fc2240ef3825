"""The same arguments in other places of memory.

- transposed: the first dimension lies closest
- stepped: every second element along each dimension, after an offset
- odd: in one piece after an offset, with strides of dimensions of one that mean nothing
- expanded: one slice stands for all along a dimension, so that the elements are others
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

ODD = 7777
_OFFSET = 3
_LARGEST = 1 << 14  # elements: a call is one line of text


def _strides(sizes: torch.Size, step: int) -> list[int]:
    """Of every step-th element along each dimension."""
    strides: list[int] = []
    distance = 1
    for size in reversed(sizes):
        distance *= step
        strides.insert(0, distance)
        distance *= max(size, 1)
    return strides


def _placed(x: torch.Tensor, strides: list[int], offset: int) -> torch.Tensor:
    """A copy with these strides, in memory that has other numbers around it."""
    span = offset + sum((n - 1) * s for n, s in zip(x.shape, strides, strict=True) if n > 1) + 2
    y = torch.ones(span, dtype=x.dtype).as_strided(x.shape, strides, offset)
    y.copy_(x)
    return y


def _transposed(x: torch.Tensor) -> torch.Tensor:
    order = tuple(reversed(range(x.dim())))
    return x.permute(order).contiguous().permute(order)


def _stepped(x: torch.Tensor) -> torch.Tensor:
    return _placed(x, _strides(x.shape, 2), _OFFSET)


def _odd(x: torch.Tensor) -> torch.Tensor:
    strides = [ODD if n == 1 else s for n, s in zip(x.shape, _strides(x.shape, 1), strict=True)]
    return _placed(x, strides, _OFFSET)


def _expanded(x: torch.Tensor) -> torch.Tensor:
    dim = next((d for d, n in enumerate(x.shape) if n > 1), None)
    return x if dim is None else x.narrow(dim, 0, 1).clone().expand(x.shape)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": _transposed, "stepped": _stepped, "odd": _odd, "expanded": _expanded,
}


def laid_out(tree: Any, layout: str) -> Any:
    """The arguments with all their tensors laid out so; None where that changes nothing."""
    made: dict[int, torch.Tensor] = {}
    changed = False

    def other(x: Any) -> Any:
        nonlocal changed
        if not isinstance(x, torch.Tensor) or x.layout != torch.strided or x.is_quantized:
            return x
        if not 0 < x.numel() <= _LARGEST:
            return x
        if id(x) not in made:
            y = LAYOUTS[layout](x.detach())
            made[id(x)] = y
            changed = changed or y.stride() != x.stride() or y.storage_offset() != x.storage_offset()
        return made[id(x)]

    result = pytree.tree_map(other, tree)
    return result if changed else None
