"""Boxes and where filters look: object detection, deformable convolutions."""

from __future__ import annotations

import torch
from torch import Tensor

from pilotlight.capture.onnx.control import scanned
from pilotlight.capture.onnx.registry import operator


@operator("NonMaxSuppression", fixed=("most",), varying=True)
def non_max_suppression(
    boxes: Tensor, scores: Tensor, most: int | list[int] = 0, overlap: Tensor | None = None,
    score: Tensor | None = None, *, center_point_box: int = 0,
) -> Tensor:
    """(batch, class, box) of the boxes that are kept: for each class by their scores, the best first. A box is dropped
    when one that is kept before it covers more than the given share of their union."""
    batches, classes, count = scores.shape
    limit = most[0] if isinstance(most, list) else most
    share = torch.zeros(1) if overlap is None else overlap.reshape(1)
    ranked, order = torch.sort(scores, dim=2, descending=True, stable=True)
    at = order.reshape(batches, -1, 1).expand(-1, -1, 4)
    places = torch.gather(_corners(boxes, bool(center_point_box)), 1, at).reshape(batches * classes, count, 4)
    valid = torch.ones_like(ranked, dtype=torch.bool) if score is None else ranked > score.reshape(())

    def step(kept: Tensor, box: Tensor, fits: Tensor, here: Tensor, every: Tensor, share: Tensor) -> list[Tensor]:
        covered = (_covers(box[:, None, :], every, share) & (kept > 0)).any(1)
        good = fits & ~covered & (kept.sum(1) < limit)
        return [torch.where(here[None, :] & good[:, None], torch.ones_like(kept), kept), good]

    valid = valid.reshape(batches * classes, count)
    slices = [places.movedim(1, 0).contiguous(), valid.movedim(1, 0).contiguous(), torch.eye(count, dtype=torch.bool)]
    none = torch.zeros(batches * classes, count, dtype=torch.int32)
    _, good = scanned(step, [none], slices, [places, share])
    found = torch.nonzero(good.movedim(0, 1).reshape(batches, classes, count))
    if count == 1:
        return found
    rank = (found[:, 0] * classes + found[:, 1]) * count + found[:, 2]
    return torch.cat([found[:, :2], order.reshape(-1).index_select(0, rank)[:, None]], 1)


def _corners(boxes: Tensor, centered: bool) -> Tensor:
    """(low x, low y, high x, high y), whichever two corners a box is given by."""
    if centered:
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        return torch.cat([middle - half, middle + half], -1)
    first, second = boxes[..., :2].flip(-1), boxes[..., 2:].flip(-1)
    return torch.cat([torch.minimum(first, second), torch.maximum(first, second)], -1)


def _covers(box: Tensor, others: Tensor, share: Tensor) -> Tensor:
    low = torch.maximum(box[..., :2], others[..., :2])
    high = torch.minimum(box[..., 2:], others[..., 2:])
    common = (high - low).clamp(min=0).prod(-1)
    areas = [(x[..., 2:] - x[..., :2]).prod(-1) for x in (box, others)]
    union = areas[0] + areas[1] - common
    return (common > 0) & (areas[0] > 0) & (areas[1] > 0) & (union > 0) & (common / union > share)


@operator("DeformConv")
def deform_conv(
    x: Tensor, w: Tensor, offset: Tensor, bias: Tensor | None = None, mask: Tensor | None = None, *,
    dilations: list[int] | None = None, group: int = 1, kernel_shape: list[int] | None = None, offset_group: int = 1,
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Tensor:
    """A convolution whose filters look at places that are moved by offsets, between the elements."""
    if x.dim() != 4:
        raise NotImplementedError(f"{x.dim() - 2} dimensions; expected 2")
    (images, channels, *sizes), (outputs, _, *taps) = x.shape, w.shape
    dilations, strides, pads = dilations or [1, 1], strides or [1, 1], pads or [0, 0, 0, 0]
    points, counts = taps[0] * taps[1], list(offset.shape[2:])
    moved = offset.reshape(images, offset_group, points, 2, *counts)
    sampled = torch.zeros(())
    planes = x.reshape(images, offset_group, channels // offset_group, -1)
    ways = []
    for axis in (0, 1):
        tap = torch.arange(taps[axis]) * dilations[axis]
        tap = (tap[:, None] if axis == 0 else tap[None, :]).expand(taps).reshape(points, 1, 1)
        start = torch.arange(counts[axis]) * strides[axis] - pads[axis]
        start = start[:, None] if axis == 0 else start[None, :]
        ways.append((tap + start).to(x.dtype) + moved[:, :, :, axis])  # (image, group, point, row, column)
    for rows, row_weight in _neighbours(ways[0], sizes[0]):
        for columns, column_weight in _neighbours(ways[1], sizes[1]):
            at = (rows * sizes[1] + columns).reshape(images, offset_group, 1, -1)
            found = torch.gather(planes, 3, at.expand(-1, -1, planes.shape[2], -1))
            sampled = sampled + found * (row_weight * column_weight).reshape(images, offset_group, 1, -1)
    if mask is not None:
        sampled = sampled * mask.reshape(images, offset_group, 1, -1)
    parts = sampled.reshape(images, group, channels // group * points, counts[0] * counts[1])
    filters = w.reshape(1, group, outputs // group, channels // group * points)
    y = torch.matmul(filters, parts).reshape(images, outputs, *counts)
    return y if bias is None else y + bias[:, None, None]


def _neighbours(places: Tensor, size: int) -> list[tuple[Tensor, Tensor]]:
    """The elements before and after each place, with their weights; elements outside weigh nothing."""
    before = places.floor()
    share, found = places - before, []
    for at, weight in ((before, 1 - share), (before + 1, share)):
        inside = (at >= 0) & (at <= size - 1)
        found.append((at.clamp(0, size - 1).to(torch.int64), torch.where(inside, weight, torch.zeros_like(weight))))
    return found
