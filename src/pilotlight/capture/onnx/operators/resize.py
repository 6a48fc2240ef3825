"""Resize: along each axis a matrix of weights, or PyTorch's own interpolation where it is the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.registry import operator

_Weights = Callable[[float, float], np.ndarray]


@dataclass(frozen=True)
class Sampling:
    """How the elements of one axis are made from those before."""

    mode: str
    coordinates: str
    nearest: str
    cubic: float
    antialias: bool
    exclude_outside: bool


@operator("Resize", fixed=("roi", "scales", "sizes"))
def resize(
    x: Tensor, roi: list[float] | None = None, scales: list[float] | None = None, sizes: list[int] | None = None, *,
    antialias: int = 0, axes: list[int] | None = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest", nearest_mode: str = "round_prefer_floor",
) -> Tensor:
    chosen = [axis % x.dim() for axis in axes] if axes is not None else list(range(x.dim()))
    if sizes:
        scales = [size / x.shape[axis] for size, axis in zip(sizes, chosen, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            best = (min if keep_aspect_ratio_policy == "not_larger" else max)(scales)
            scales, sizes = [best] * len(scales), [int(best * x.shape[axis] + 0.5) for axis in chosen]
    else:
        assert scales is not None
        scales = [float(np.float32(s)) for s in scales]
        sizes = [int(s * x.shape[axis]) for s, axis in zip(scales, chosen, strict=True)]
    sampling = Sampling(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(antialias),
                        bool(exclude_outside))
    whole = all(s * x.shape[axis] == n for s, axis, n in zip(scales, chosen, sizes, strict=True))
    if any(n * x.shape[axis] > 1 << 24 for n, axis in zip(sizes, chosen, strict=True)):
        raise NotImplementedError(f"a result of {'x'.join(map(str, sizes))}")
    spatial = {axis: n for axis, n in zip(chosen, sizes, strict=True) if x.shape[axis] != n}
    if whole and set(spatial) <= {2, 3} and x.dim() == 4 and x.is_floating_point():
        same = _as_pytorch(x, [spatial.get(2, x.shape[2]), spatial.get(3, x.shape[3])], sampling)
        if same is not None:
            return same
    for k, axis in enumerate(chosen):
        part = (roi[k], roi[k + len(chosen)]) if roi else (0.0, 1.0)
        if scales[k] != 1 or sizes[k] != x.shape[axis] or (part != (0.0, 1.0) and "crop" in sampling.coordinates):
            x = _along(x, axis, scales[k], sizes[k], part, sampling, extrapolation_value)
    return x


def _as_pytorch(x: Tensor, size: list[int], s: Sampling) -> Tensor | None:
    """PyTorch's interpolation, where it gives the same."""
    if s.antialias or s.exclude_outside:
        return None
    if s.mode == "nearest":
        plain = all(_taken(n, m / n, m, s) == [k * n // m for k in range(m)]
                    for n, m in zip(x.shape[2:], size, strict=True))
        return F.interpolate(x, size, mode="nearest") if plain else None
    kind = {"linear": "bilinear", "cubic": "bicubic"}[s.mode]
    if s.mode == "cubic" and s.cubic != -0.75:
        return None
    if s.coordinates == "align_corners" or s.coordinates == "half_pixel" or (
            s.coordinates == "pytorch_half_pixel" and min(size) > 1):
        return F.interpolate(x, size, mode=kind, align_corners=s.coordinates == "align_corners")
    return None


def _taken(n: int, scale: float, count: int, s: Sampling) -> list[int]:
    """For the nearest element: its number."""
    places, _ = _places(n, scale, count, (0.0, 1.0), s.coordinates)
    if s.nearest == "floor":
        found = np.floor(places)
    elif s.nearest == "ceil":
        found = np.ceil(places)
    else:
        found = np.ceil(places - 0.5) if s.nearest == "round_prefer_floor" else np.floor(places + 0.5)
    return [int(k) for k in np.clip(found, 0, n - 1)]


def _places(n: int, scale: float, count: int, roi: Sequence[float], how: str) -> tuple[np.ndarray, np.ndarray]:
    """Where each new element lies among the old ones, and whether that is outside of what may be read."""
    y, wide = np.arange(count, dtype=np.float64), scale * n
    outside = np.zeros(count, bool)
    if how == "align_corners":
        return (np.zeros(count) if wide == 1 else y * (n - 1) / (wide - 1)), outside
    if how == "asymmetric":
        return y / scale, outside
    if how == "tf_crop_and_resize":
        start, end = roi
        x = np.full(count, (end - start) * (n - 1) / 2) if wide == 1 else y * (end - start) * (n - 1) / (wide - 1)
        x = x + start * (n - 1)
        return x, (x < 0) | (x > n - 1)
    if how == "pytorch_half_pixel" and wide == 1:
        return np.full(count, -0.5), outside
    shift = n / 2 * (1 - count / wide) if how == "half_pixel_symmetric" else 0.0
    return shift + (y + 0.5) / scale - 0.5, outside


def _cubic(ratio: float, a: float) -> np.ndarray:
    return np.array([_cubic_weight(abs(k - ratio), a) for k in range(-1, 3)])


def _cubic_weight(x: float, a: float) -> float:
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _smoothed(ratio: float, scale: float, reach: int, weight: Callable[[float], float]) -> np.ndarray:
    """Weights over more elements where there are to be fewer of them."""
    scale = min(scale, 1.0)
    start = math.floor(-reach / scale) + 1
    weights = np.array([weight(abs(scale * (k - ratio))) for k in range(start, 2 - start)])
    return weights / weights.sum()


def _weights(ratio: float, scale: float, s: Sampling) -> np.ndarray:
    if s.mode == "linear":
        if s.antialias:
            return _smoothed(ratio, scale, 1, lambda x: max(0.0, 1 - x))
        return np.array([1 - ratio, ratio])
    if s.antialias:
        return _smoothed(ratio, scale, 2, lambda x: _cubic_weight(x, s.cubic))
    return _cubic(ratio, s.cubic)


def _along(
    x: Tensor, axis: int, scale: float, count: int, roi: Sequence[float], s: Sampling, extrapolation: float
) -> Tensor:
    n = x.shape[axis]
    places, outside = _places(n, scale, count, roi, s.coordinates)
    if s.mode == "nearest":
        if outside.any():
            raise NotImplementedError("the nearest element of a box that reaches outside")
        if s.coordinates == "tf_crop_and_resize":
            found = np.ceil(places - 0.5) if s.nearest == "round_prefer_floor" else np.floor(places + 0.5)
            return x.index_select(axis, torch.tensor(np.clip(found, 0, n - 1).astype(int).tolist()))
        return x.index_select(axis, torch.tensor(_taken(n, scale, count, s)))
    matrix = np.zeros((count, n))
    for row, place in enumerate(places):
        left = math.floor(place)
        weights = _weights(place - left, scale, s)
        numbers = left - len(weights) // 2 + 1 + np.arange(len(weights))
        if s.exclude_outside:
            weights = np.where((numbers < 0) | (numbers >= n), 0.0, weights)
            weights = weights / weights.sum()
        np.add.at(matrix[row], np.clip(numbers, 0, n - 1), weights)
    matrix[outside] = 0
    moved = x.movedim(axis, -1)
    y = F.linear(moved.to(torch.float32), torch.tensor(matrix.astype(np.float32).tolist()))
    if outside.any():
        y = torch.where(torch.tensor(outside.tolist()), torch.tensor(extrapolation), y)
    if not x.is_floating_point():
        y = y.round()
    return y.to(x.dtype).movedim(-1, axis)
