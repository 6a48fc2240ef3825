"""Operators that move data: shapes, axes, joining and cutting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.registry import operator


@operator("Shape")
def shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    """Where it depends on the data."""
    return torch.tensor(list(x.shape)[start:end])


@operator("Size")
def size(x: Tensor) -> Tensor:
    return torch.tensor(x.numel())


@operator("Reshape", fixed=("shape",))
def reshape(x: Tensor, shape: list[int], *, allowzero: int = 0) -> Tensor:
    return x.reshape([x.shape[k] if not n and not allowzero else n for k, n in enumerate(shape)])


@operator("Flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    axis = axis + x.dim() if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@operator("Transpose")
def transpose(x: Tensor, *, perm: list[int] | None = None) -> Tensor:
    return x.permute(perm if perm is not None else list(range(x.dim()))[::-1])


@operator("Squeeze", fixed=("axes",))
def squeeze(x: Tensor, axes: list[int] | int | None = None) -> Tensor:
    return x.squeeze() if axes is None else x.squeeze([axes] if isinstance(axes, int) else axes)


@operator("Unsqueeze", fixed=("axes",))
def unsqueeze(x: Tensor, axes: list[int] | int) -> Tensor:
    listed = [axes] if isinstance(axes, int) else axes
    dims = x.dim() + len(listed)
    for axis in sorted(axis % dims for axis in listed):
        x = x.unsqueeze(axis)
    return x


@operator("Concat")
def concat(*xs: Tensor, axis: int) -> Tensor:
    return torch.cat(xs, axis)


@operator("Split", fixed=("split",))
def split(
    x: Tensor, split: list[int] | None = None, *, axis: int = 0, num_outputs: int | None = None, outputs: int
) -> tuple[Tensor, ...]:
    count = num_outputs or outputs
    if count > outputs:
        raise NotImplementedError(f"{count} parts of which {outputs} are named")
    if split is None:
        size = -(-x.shape[axis] // count)
        split = [min(size, max(0, x.shape[axis] - k * size)) for k in range(count)]
    return torch.split(x, split, axis)


@operator("Slice", fixed=("starts", "ends", "axes", "steps"))
def cut(
    x: Tensor, starts: list[int], ends: list[int], axes: list[int] | None = None, steps: list[int] | None = None
) -> Tensor:
    axes = list(range(len(starts))) if axes is None else axes
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        taken = range(*slice(start, end, step).indices(x.shape[axis]))
        if step < 0 and taken:
            x = cut_axis(x, axis, taken[-1], taken[0] + 1, -step).flip(axis)
        else:
            x = cut_axis(x, axis, taken.start, max(taken.start, taken.stop) if step > 0 else taken.start, abs(step))
    return x


def cut_axis(x: Tensor, axis: int, start: int, end: int, step: int = 1) -> Tensor:
    return torch.ops.aten.slice.Tensor(x, axis, start, end, step)


@operator("Pad", fixed=("pads", "axes"), numbers=("value",))
def pad(
    x: Tensor, pads: list[int], value: Tensor | float | None = None, axes: list[int] | None = None, *,
    mode: str = "constant",
) -> Tensor:
    axes = list(range(x.dim())) if axes is None else axes
    before, after = [0] * x.dim(), [0] * x.dim()
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[k + len(axes)]
    if mode != "constant":
        for axis, (b, a) in enumerate(zip(before, after, strict=True)):
            x = _padded(x, axis, b, a, mode)
        return x
    value = value[0] if isinstance(value, list) else value
    if not isinstance(value, Tensor):
        return pad_ends(x, before, after, value or 0)
    inside = pad_ends(torch.ones_like(x, dtype=torch.bool), before, after, False)
    return torch.where(inside, pad_ends(x, before, after, 0), value.to(x.dtype))


def pad_ends(x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0) -> Tensor:
    """Elements of one value before and after, by axis; negative counts cut."""
    flat = [n for pair in zip(reversed(before), reversed(after), strict=True) for n in pair]
    return F.pad(x, flat, value=value) if any(flat) else x


def _padded(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    """Elements of the tensor itself before and after; negative counts cut."""
    x = cut_axis(x, axis, max(0, -before), x.shape[axis] - max(0, -after))
    before, after = max(0, before), max(0, after)
    if not before and not after:
        return x
    taken = np.pad(np.arange(x.shape[axis]), (before, after), mode=mode)  # type: ignore[call-overload]
    return x.index_select(axis, torch.from_numpy(taken))


@operator("Tile", fixed=("repeats",))
def tile(x: Tensor, repeats: list[int]) -> Tensor:
    return x.repeat(repeats)


@operator("Expand", fixed=("shape",))
def expand(x: Tensor, shape: list[int]) -> Tensor:
    return x.expand(torch.broadcast_shapes(x.shape, shape))


@operator("DepthToSpace")
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    if mode == "CRD":
        return F.pixel_shuffle(x, blocksize)
    n, c, h, w = x.shape
    y = x.reshape(n, blocksize, blocksize, c // blocksize**2, h, w).permute(0, 3, 4, 1, 5, 2)
    return y.reshape(n, c // blocksize**2, h * blocksize, w * blocksize)


@operator("SpaceToDepth")
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    if mode == "CRD":
        return F.pixel_unshuffle(x, blocksize)
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize).permute(0, 3, 5, 1, 2, 4)
    return y.reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


@operator("ReverseSequence")
def reverse_sequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    """The first elements of each sequence in reverse."""
    moved = x.movedim((batch_axis, time_axis), (0, 1))
    at, count = torch.arange(moved.shape[1])[None, :], lengths[:, None]
    taken = torch.where(at < count, count - 1 - at, at)
    taken = taken.reshape(*taken.shape, *[1] * (moved.dim() - 2)).expand(moved.shape)
    return torch.gather(moved, 1, taken).movedim((0, 1), (batch_axis, time_axis))
