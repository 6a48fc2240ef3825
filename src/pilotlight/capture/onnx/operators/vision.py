"""Images: sampling at given places, windows, crops."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from pilotlight.capture.onnx.operators.shape import cut_axis, pad_ends
from pilotlight.capture.onnx.registry import operator

_SAMPLES = {
    "linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic", "bicubic": "bicubic",
}


@operator("GridSample")
def grid_sample(
    x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Tensor:
    return F.grid_sample(x, grid, _SAMPLES[mode], padding_mode, bool(align_corners))


@operator("AffineGrid", fixed=("size",))
def affine_grid(theta: Tensor, size: list[int], *, align_corners: int = 0) -> Tensor:
    return F.affine_grid(theta, size, bool(align_corners))


@operator("CenterCropPad", fixed=("shape",))
def center_crop_pad(x: Tensor, shape: list[int], *, axes: list[int] | None = None) -> Tensor:
    for size, axis in zip(shape, axes if axes is not None else range(x.dim()), strict=True):
        more = size - x.shape[axis]
        if more < 0:
            start = -more // 2
            x = cut_axis(x, axis, start, start + size)
        elif more:
            before, after = [0] * x.dim(), [0] * x.dim()
            before[axis], after[axis] = more // 2, more - more // 2
            x = pad_ends(x, before, after)
    return x


@operator("Col2Im", fixed=("image_shape", "block_shape"))
def col_to_im(
    x: Tensor, image_shape: list[int], block_shape: list[int], *, dilations: list[int] | None = None,
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Tensor:
    """Windows are added up where they overlap: a transposed convolution whose filters are single elements."""
    dims = len(image_shape)
    dilations, strides = dilations or [1] * dims, strides or [1] * dims
    pads = pads or [0] * (2 * dims)
    whole = [n + pads[k] + pads[k + dims] for k, n in enumerate(image_shape)]
    counts = [(n - d * (b - 1) - 1) // s + 1 for n, d, b, s in zip(whole, dilations, block_shape, strides, strict=True)]
    size = math.prod(block_shape)
    channels = x.shape[1] // size
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
    weight = torch.eye(size, dtype=x.dtype).reshape(size, 1, *block_shape)
    y = function(x.reshape(x.shape[0] * channels, size, *counts), weight, None, strides, 0, 0, 1, dilations)
    y = pad_ends(y, [0] * y.dim(), [0, 0, *(n - m for n, m in zip(whole, y.shape[2:], strict=True))])
    for k, n in enumerate(image_shape):
        y = cut_axis(y, k + 2, pads[k], pads[k] + n)
    return y.reshape(x.shape[0], channels, *image_shape)


@operator("MaxUnpool", fixed=("output_shape",))
def max_unpool(
    x: Tensor, indices: Tensor, output_shape: list[int] | None = None, *, kernel_shape: list[int],
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Tensor:
    dims = len(kernel_shape)
    pads, strides = pads or [0] * (2 * dims), strides or [1] * dims
    sizes = [(n - 1) * s - pads[k] - pads[k + dims] + w for k, (n, s, w) in
             enumerate(zip(x.shape[2:], strides, kernel_shape, strict=True))]
    shape = [*x.shape[:2], *sizes]
    empty = torch.zeros(math.prod(shape), dtype=x.dtype)
    y = torch.scatter(empty, 0, indices.reshape(-1), x.reshape(-1)).reshape(shape)
    if output_shape is None:
        return y
    return pad_ends(y, [0] * y.dim(), [n - m for n, m in zip(output_shape, shape, strict=True)])


@operator("RoiAlign")
def roi_align(
    x: Tensor, rois: Tensor, batch_indices: Tensor, *, coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """Each box is cut into bins, and each bin is sampled at a fixed number of points."""
    if sampling_ratio <= 0:
        raise NotImplementedError("a number of samples that depends on the size of a box (sampling_ratio 0)")
    half = coordinate_transformation_mode == "half_pixel"
    boxes = rois * spatial_scale - (0.5 if half else 0.0)
    images = x.index_select(0, batch_indices.to(torch.int64))  # (box, channel, height, width)
    ways = []
    for axis, bins in ((1, output_height), (0, output_width)):
        start, end = boxes[:, axis], boxes[:, axis + 2]
        length = end - start if half else (end - start).clamp(min=1.0)
        steps = (torch.arange(bins * sampling_ratio) + 0.5) / sampling_ratio
        ways.append(start[:, None] + steps[None, :] * (length / bins)[:, None])
    rows, columns = (_corners(way, size) for way, size in zip(ways, x.shape[2:], strict=True))
    parts = []
    for at_row, row_weight in rows:
        for at_column, column_weight in columns:
            at = (at_row[:, :, None] * x.shape[3] + at_column[:, None, :]).reshape(len(rois), 1, -1)
            found = images.reshape(len(rois), x.shape[1], -1).gather(2, at.expand(-1, x.shape[1], -1))
            weight = (row_weight[:, :, None] * column_weight[:, None, :]).reshape(len(rois), 1, -1)
            parts.append(found * weight)
    shape = (len(rois), x.shape[1], output_height, sampling_ratio, output_width, sampling_ratio)
    if mode == "avg":
        return (parts[0] + parts[1] + parts[2] + parts[3]).reshape(shape).mean((3, 5))
    largest = torch.maximum(torch.maximum(parts[0], parts[1]), torch.maximum(parts[2], parts[3]))
    return largest.reshape(shape).amax((3, 5))


def _corners(places: Tensor, size: int) -> list[tuple[Tensor, Tensor]]:
    """The elements before and after each place, with their weights; places outside weigh nothing."""
    inside = ((places >= -1) & (places <= size)).to(places.dtype)
    at = places.clamp(0, size - 1)
    before = at.floor()
    share = at - before
    first = before.to(torch.int64)
    return [(first, (1 - share) * inside), ((first + 1).clamp(max=size - 1), share * inside)]


@operator("TensorScatter")
def tensor_scatter(
    cache: Tensor, update: Tensor, write_indices: Tensor | None = None, *, axis: int = -2, mode: str = "linear"
) -> Tensor:
    """Write an update into a cache along one axis, at a place for each sample of the batch."""
    axis %= cache.dim()
    count = torch.arange(update.shape[axis])
    at = count[None, :] + (write_indices[:, None] if write_indices is not None else 0)
    at = at % cache.shape[axis] if mode == "circular" else at
    sizes = [1] * cache.dim()
    sizes[0], sizes[axis] = at.shape[0], update.shape[axis]
    return torch.scatter(cache, axis, at.reshape(sizes).expand(update.shape), update)
