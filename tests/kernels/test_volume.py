"""Convolution, pooling, resizing and padding beyond constant weights, two dimensions and float32."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from support.eager import Module, check


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(5)


def integers(*shape: int) -> torch.Tensor:
    return torch.randint(-9, 9, shape)


def test_convolutions_of_volumes_of_integers_and_with_weights_that_are_inputs() -> None:
    check(
        Module(
            lambda deep, back, x, w, bias, t, image, w2, t2, i, wi: (
                deep(x), back(x), F.conv3d(x, w, bias, (1, 2, 1), (1, 0, 2), (1, 2, 1), 2), F.conv3d(x[0], w, groups=2),
                F.conv_transpose3d(x, t, None, 2, 1, 1, 2), F.conv2d(image, w2, bias, 2, 1),
                F.conv_transpose2d(image, t2, None, (2, 3), (1, 0), (1, 2), 1, (1, 2)),
                F.conv1d(image[:, :, 0], w2[:, :, 0]), F.conv2d(i, wi, None, 1, (1, 0)), F.conv_transpose2d(i, wi[:4]),
                F.conv2d(image.half(), w2.half()),
            ),
            nn.Conv3d(4, 6, 3, 2, 1), nn.ConvTranspose3d(4, 6, 3, 2, 1),
        ),
        torch.randn(2, 4, 5, 6, 7), torch.randn(6, 2, 3, 2, 3), torch.randn(6), torch.randn(4, 3, 2, 3, 2),
        torch.randn(2, 4, 9, 8), torch.randn(6, 4, 3, 3), torch.randn(4, 3, 3, 2), integers(2, 4, 9, 8),
        integers(6, 4, 3, 3),
    )


def test_pooling_of_volumes_and_of_integers() -> None:
    x = torch.randn(2, 3, 5, 6, 7)
    x[0, 0, 1, 2, 3] = torch.nan
    check(Module(lambda x, image, i: (
        F.max_pool3d(x, 3, 2, 1, return_indices=True), F.max_pool3d(x, 2, 1, 1, 2, ceil_mode=True),
        F.avg_pool3d(x[0], 2), F.avg_pool3d(x, (3, 2, 2), 2, 1, ceil_mode=True), F.avg_pool3d(x, 3, 2, 1, True, False),
        F.avg_pool3d(x, 2, divisor_override=5), F.adaptive_avg_pool3d(x, (3, 4, 2)), F.adaptive_avg_pool3d(x, 1),
        F.adaptive_max_pool3d(x, (3, 4, 2), return_indices=True), F.adaptive_max_pool2d(image, (4, 3), True),
        F.adaptive_max_pool1d(image[0], 3, return_indices=True), F.max_pool1d(image[0], 2, return_indices=True),
        F.max_pool2d(i, 3, 2, 1, return_indices=True), F.max_pool2d(i.int(), 2), F.avg_pool2d(i, 3, 1, 1),
    )), x, torch.randn(2, 4, 9, 8), integers(2, 4, 9, 8))


def test_resizing_and_padding_of_every_type() -> None:
    size = F.interpolate
    check(Module(lambda x, u, h, v, s: (
        size(x, (5, 4), mode="bilinear", antialias=True), size(x, (12, 4), mode="bicubic", antialias=True),
        size(x, scale_factor=0.4, mode="bilinear", antialias=True), size(u, (13, 5)), size(u, scale_factor=2),
        size(u, (13, 5), mode="nearest-exact"), size(h, scale_factor=1.7), size(h, (3, 4), mode="bilinear"),
        size(v, scale_factor=2), size(v, (5, 7, 3), mode="trilinear"), size(v, (5, 7, 3), mode="nearest-exact"),
        size(v, (5, 7, 3), mode="trilinear", align_corners=True), F.pad(v, (1, 2, 1, 0, 2, 1), mode="reflect"),
        F.pad(v, (1, 2, 1, 0, 2, 1), mode="replicate"), F.pad(v, (1, 2, 1, 0, 2, 1), mode="circular"),
        F.pad(s, (1, 2), mode="reflect"), F.pad(u, (1, 1, 2, 0), value=7), F.pad(x, (-1, 2, -2, -1)),
        F.pad(x, (-1, 2, 3, -1), mode="replicate"), F.pad(x > 0, (1, 1), value=True), F.pad(h, (1, 1), value=0.1),
    )), torch.randn(2, 3, 9, 8), torch.randint(0, 255, (2, 3, 9, 8), dtype=torch.uint8), torch.randn(2, 3, 9, 8).half(),
        torch.randn(1, 2, 4, 5, 6), torch.randn(2, 3, 7))
