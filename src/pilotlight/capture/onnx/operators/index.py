"""Elements chosen by numbers: gathering, scattering, sorting."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.registry import operator


def from_start(indices: Tensor, size: int) -> Tensor:
    """Negative numbers count from the end."""
    return torch.where(indices < 0, indices + size, indices).to(torch.int64)


@operator("Gather", numbers=("indices",))
def gather(x: Tensor, indices: Tensor | int | list[int], *, axis: int = 0) -> Tensor:
    if isinstance(indices, int):
        return x.select(axis, indices)
    if isinstance(indices, list):
        known = torch.tensor(indices, dtype=torch.int64)
        indices = known % x.shape[axis]
    else:
        indices = from_start(indices, x.shape[axis])
    if axis == 0 and x.dim() == 2:
        return F.embedding(indices, x)
    axis %= x.dim()
    y = x.index_select(axis, indices.reshape(-1))
    return y.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


@operator("GatherElements")
def gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    return torch.gather(x, axis, from_start(indices, x.shape[axis]))


def _places(indices: Tensor, x: Tensor, batch_dims: int = 0) -> tuple[Tensor, ...]:
    """The last axis of `indices` as one tensor of numbers for each axis of `x` after the batch."""
    parts = [from_start(part, x.shape[batch_dims + k]) for k, part in enumerate(indices.unbind(-1))]
    batch = []
    for k in range(batch_dims):
        sizes = [1] * (indices.dim() - 1)
        sizes[k] = x.shape[k]
        batch.append(torch.arange(x.shape[k]).reshape(sizes).expand(indices.shape[:-1]))
    return (*batch, *parts)


@operator("GatherND")
def gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    return x[_places(indices, x, batch_dims)]


_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@operator("ScatterElements", "Scatter")
def scatter_elements(
    x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none"
) -> Tensor:
    at = from_start(indices, x.shape[axis])
    if reduction == "none":
        return torch.scatter(x, axis, at, updates)
    return torch.scatter_reduce(x, axis, at, updates, _REDUCTIONS[reduction])


@operator("ScatterND")
def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    if reduction in ("none", "add"):
        return torch.index_put(x, _places(indices, x), updates, reduction == "add")
    depth = indices.shape[-1]
    flat, row = torch.zeros(indices.shape[:-1], dtype=torch.int64), x[(0,) * depth].numel()
    for size, part in zip(x.shape[:depth], _places(indices, x), strict=False):
        flat = flat * size + part
    at = (flat.reshape(-1, 1) * row + torch.arange(row)).reshape(-1)
    y = torch.scatter_reduce(x.reshape(-1), 0, at, updates.reshape(-1), _REDUCTIONS[reduction])
    return y.reshape(x.shape)


@operator("OneHot", fixed=("depth",))
def one_hot(indices: Tensor, depth: int | list[int], values: Tensor, *, axis: int = -1) -> Tensor:
    """Numbers outside the range give rows of the first value alone."""
    count = int(depth[0] if isinstance(depth, list) else depth)
    whole = indices.to(torch.int64)
    whole = torch.where(whole < 0, whole + count, whole)
    axis = axis + indices.dim() + 1 if axis < 0 else axis
    sizes = [1] * (indices.dim() + 1)
    sizes[axis] = count
    return torch.where(whole.unsqueeze(axis) == torch.arange(count).reshape(sizes), values[1], values[0])


@operator("TopK", fixed=("k",))
def top_k(x: Tensor, k: list[int] | int, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Tensor, Tensor]:
    """Of equal elements the first ones."""
    count = k[0] if isinstance(k, list) else k
    values, indices = torch.sort(x, dim=axis, descending=bool(largest), stable=True)
    return values.narrow(axis, 0, count), indices.narrow(axis, 0, count)


@operator("Trilu", fixed=("k",))
def triangle(x: Tensor, k: int | list[int] = 0, *, upper: int = 1) -> Tensor:
    diagonal = k[0] if isinstance(k, list) else k
    return torch.triu(x, diagonal) if upper else torch.tril(x, diagonal)


@operator("NonZero", varying=True)
def nonzero(x: Tensor) -> Tensor:
    return torch.nonzero(x).transpose(0, 1)


@operator("Compress", varying=True)
def compress(x: Tensor, condition: Tensor, *, axis: int | None = None) -> Tensor:
    """The elements, or slices, whose condition is true."""
    x = x.reshape(-1) if axis is None else x
    return x.index_select(axis or 0, torch.nonzero(condition).reshape(-1))


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(x: Tensor, indices: Tensor) -> Tensor:
    found = x.index_select(x.dim() - 1, indices.reshape(-1))
    return found.reshape(1, -1) if x.dim() == 1 else found


@operator("Binarizer", domain="ai.onnx.ml")
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return (x > threshold).to(x.dtype)
