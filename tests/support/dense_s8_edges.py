"""int8 layers that random ones seldom cover: every remainder of a block, stride and padding, and numbers at their
ends."""

from __future__ import annotations

from itertools import product

import numpy as np

from pilotlight.kernels.layers import Int8Layer
from pilotlight.kernels.pack_f32 import Conv2dShape, LinearShape
from support.dense_s8_cases import random_layer

SHAPES = (
    LinearShape(1, 21, 7).as_conv2d(),
    LinearShape(5, 16, 6).as_conv2d(),
    Conv2dShape(1, 3, 5, 6, 3, 5, 5, 3, 3, 1, 1, 1, 1),
    Conv2dShape(1, 5, 6, 4, 3, 3, 8, 3, 3, 2, 2, 1, 1),
    Conv2dShape(1, 4, 5, 6, 4, 5, 4, 3, 3, 1, 1, 1, 1, groups=2),
    Conv2dShape(1, 4, 6, 17, 4, 6, 17, 3, 3, 1, 1, 1, 1, groups=17),
    Conv2dShape(1, 5, 7, 8, 3, 4, 8, 3, 3, 2, 2, 1, 1, groups=8),
    Conv2dShape(1, 5, 5, 6, 5, 5, 6, 5, 5, 1, 1, 2, 2, groups=6),
)
"""A shape for each kind of kernel: row, rows, convolutions, groups, depthwise in its three forms."""


def window(
    size: tuple[int, int, int], filters: int, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0), dilation: tuple[int, int] = (1, 1), groups: int = 1,
) -> Conv2dShape:
    """A convolution of an image (height, width, channels); padding is above, left, below, right."""
    (ih, iw, ic), (kh, kw), (sh, sw), (dh, dw) = size, kernel, stride, dilation
    oh = (ih + padding[0] + padding[2] - (kh - 1) * dh - 1) // sh + 1
    ow = (iw + padding[1] + padding[3] - (kw - 1) * dw - 1) // sw + 1
    return Conv2dShape(1, ih, iw, ic, oh, ow, filters, kh, kw, sh, sw, padding[0], padding[1], dh, dw, groups)


def shapes() -> list[Conv2dShape]:
    """Remainders of channels, filters and pixels by two, strides and paddings by all."""
    found = [LinearShape(1, i, o).as_conv2d() for i, o in product(range(1, 20), (1, 2, 3, 4, 5, 6, 7, 8, 9))]
    found += [LinearShape(n, 9, o).as_conv2d() for n, o in product(range(1, 9), range(1, 10))]
    found += [LinearShape(n, i, 3).as_conv2d() for n, i in product(range(2, 9), range(1, 20))]
    found += [window((5, 6, 3), 3, k, dilation=d) for k, d in product(product((1, 2, 3), (1, 2, 3)), ((1, 1), (2, 2)))]
    for stride, (a, b) in product(product((1, 2, 3), (1, 2, 3)), product((0, 1, 2, 3), (0, 1, 2, 3))):
        found.append(window((5, 6, 3), 5, (3, 3), stride, (a, b, b, a)))
        found.append(window((5, 6, 5), 5, (3, 3), stride, (a, b, b, a), groups=5))
    for channels, width, stride in product((*range(2, 10), 16, 17), range(1, 8), (1, 2)):
        found.append(window((3, width, channels), channels, (3, 3), (1, stride), (1, 1, 1, 1), groups=channels))
    for kernel, channels, stride in product(product((1, 2, 3, 4, 5), (1, 2, 3, 4, 5)), (2, 4, 7), (1, 2)):
        found.append(window((5, 6, channels), channels, kernel, (stride, stride), (2, 1, 1, 2), groups=channels))
    return found


def ends() -> list[tuple[Int8Layer, np.ndarray]]:
    """Zero points at both ends, weights and inputs at theirs, sums up to the last that 32 bits hold."""
    found = []
    for seed, (shape, zx, zy, sign, full) in enumerate(
        product(SHAPES, (-128, 127), (-128, 127), (-1, 1), (False, True))
    ):
        layer, x = random_layer(4 * seed, shape)
        w, taps = np.full_like(layer.w, 127 * sign), layer.w[0].size
        x = np.full_like(x, -128 if seed % 3 else 127)
        m, bias, shift = layer.m.copy(), layer.bias.copy(), layer.shift
        if full:
            shift = seed // 2 % 3
            most = ((2**31 - 1) >> shift) - taps * 127 * 128
            bias = np.where(np.arange(len(bias)) % 2, -most, most).astype(np.int32)
            m = np.resize(np.array([250, 2**31 - 1, 0, 1, 17 << shift, 61], np.int32), len(bias))
        else:
            bias = (bias - zx * 127 * sign * taps).astype(np.int32)
        lo, hi = (-128, 127) if full or seed % 4 else (-100, 90)
        found.append((Int8Layer(shape, w, bias, m, zx, zy, shift, lo, hi), x))
    return found


def ties() -> list[tuple[Int8Layer, np.ndarray]]:
    """Small sums whose products lie exactly between two outputs."""
    found = []
    for seed, shape in enumerate(SHAPES):
        rng = np.random.default_rng(seed)
        layer, x = random_layer(seed, shape)
        w = rng.integers(-1, 2, layer.w.shape).astype(np.int8)
        x = rng.integers(-9, 10, x.shape).astype(np.int8)
        m = np.int32(1) << rng.integers(28, 31, shape.oc, np.int32)
        layer = Int8Layer(shape, w, rng.integers(-9, 10, shape.oc, np.int32), m, 0, int(rng.integers(-9, 10)))
        found.append((layer, x))
    return found


def edges() -> list[tuple[Int8Layer, np.ndarray]]:
    return [random_layer(seed, shape) for seed, shape in enumerate(shapes())] + ends() + ties()
