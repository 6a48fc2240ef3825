"""Element types."""

from __future__ import annotations

import torch
from torch import Tensor

from pilotlight.capture.onnx.registry import operator
from pilotlight.capture.onnx.types import TORCH, type_name


@operator("Cast")
def cast(x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    if to not in TORCH:
        raise NotImplementedError(f"a cast to {type_name(to)}")
    return x.to(TORCH[to])


@operator("CastLike")
def cast_like(x: Tensor, target: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    return x.to(target.dtype)


@operator("BitCast")
def bit_cast(x: Tensor, *, to: int) -> Tensor:
    """The same bits as another type."""
    if to not in TORCH:
        raise NotImplementedError(f"the bits of {type_name(to)}")
    return x.view(TORCH[to])


@operator("EyeLike")
def eye_like(x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    at = torch.arange(x.shape[1])[None, :] - torch.arange(x.shape[0])[:, None]
    return (at == k).to(TORCH[dtype] if dtype is not None else x.dtype)
