"""Transposed convolution: conv_transpose2d_f32.h over blocks of pixels by filters, q_conv_transpose2d.h for int8 and
q_conv_transpose2d_s16.h for int16.

In float, outputs whose position leaves the same remainder when divided by the stride are one phase: they see the same
taps, as an ordinary convolution of stride 1 does. So the kernel is one convolution for each pair of phases.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from pilotlight.codegen.target import Target
from pilotlight.codegen.walk import backward_distance, forward_distance
from pilotlight.kernels import pack_f32
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.estimate import Rate, float_rate
from pilotlight.kernels.layers import TransposedLayer
from pilotlight.kernels.registry import offers

Pair = tuple[int, int]
FLOAT_RATE, INT8_RATE, INT16_RATE = Rate(1.9, 8), Rate(4.4, 45), Rate(6.5, 120)
BLOCK = 4  # filters


@offers(TransposedLayer)
def transposed(layer: TransposedLayer, target: Target) -> list[Candidate]:
    """The one kernel of a layer."""
    return [_float(layer, target) if layer.out is None else _integer(layer)]


def _float(layer: TransposedLayer, target: Target) -> Candidate:
    s = layer.shape
    first, end = _input_rows(s)
    row = pack_f32.FLOAT * s.ow * s.oc
    sizes = {size for _, size in pack_f32.filter_blocks(s.oc // s.groups)}
    return Candidate(
        name=f"{'fpu' if target.float_assembly else 'portable'}.conv_transpose2d",
        headers=("conv_transpose2d_f32",),
        ctype="pl_conv_transpose2d_t",
        table=lambda reverse: asdict(s) | {"reverse": int(reverse)},
        driver="pl_conv_transpose2d_f32",
        pack=lambda: (pack(layer.w, (s.sh, s.sw), (s.dh, s.dw), s.groups), layer.bias),
        distance=forward_distance(first, np.arange(1, len(first) + 1) * row),
        reverse=backward_distance(end, np.arange(len(end)) * row),
        micro=frozenset(f"mac_f32_{pixels}x{size}" for pixels in (1, 2) for size in sizes),
        instructions=float_rate(target, FLOAT_RATE).total(layer.macs, s.n * s.oh * s.ow * s.oc),
        hint="conv_transpose",
    )


def _integer(layer: TransposedLayer) -> Candidate:
    s, m = layer.shape, layer.m
    assert m is not None and layer.out is not None
    wide = layer.down is not None
    table = {**asdict(s), "zx": layer.zx, "out": layer.out}
    kernel = "q_conv_transpose2d" + ("_s16" if wide else "" if layer.shifts is None else "_tflm")
    more = () if layer.shifts is None else (layer.shifts,)
    return Candidate(
        name=f"portable.conv_transpose2d_s{16 if wide else 8}",
        headers=(kernel,),
        ctype="pl_q_conv_transpose2d_t",
        table=lambda reverse: table,
        driver=f"pl_{kernel}",
        pack=lambda: (layer.w if wide else pack_int8(layer.w, s.groups), layer.bias, m, *more),
        more=() if layer.down is None else (layer.down,),
        instructions=(INT16_RATE if wide else INT8_RATE).total(layer.macs, s.n * s.oh * s.ow * s.oc),
        hint="conv_transpose",
    )


def taps(phase: int, kernel: int, stride: int, dilation: int) -> list[int]:
    """The kernel taps that outputs of one phase see, in the order of the inputs under them."""
    return [k for k in reversed(range(kernel)) if (k * dilation - phase) % stride == 0]


def pack(weight: Array, stride: Pair, dilation: Pair, groups: int) -> Array:
    """(I, KH, KW, O / groups) as the float kernel walks it: for each pair of phases an ordinary convolution."""
    _, kh, kw, _ = weight.shape
    filters = np.concatenate([part.transpose(3, 1, 2, 0) for part in np.split(weight, groups, axis=0)])
    parts = []
    for vertical in range(stride[0]):
        rows = taps(vertical, kh, stride[0], dilation[0])
        for horizontal in range(stride[1]):
            columns = taps(horizontal, kw, stride[1], dilation[1])
            if rows and columns:
                parts.append(pack_f32.pack_conv2d(filters[:, rows][:, :, columns], groups))
    return np.concatenate(parts)


def pack_int8(weight: Array, groups: int) -> Array:
    """(O, KH, KW, I / groups) as the int8 kernel walks it: per group blocks of at most 4 filters, each
    (KH, KW, I / groups, width)."""
    parts = []
    for part in np.split(weight, groups, axis=0):
        for first in range(0, len(part), BLOCK):
            parts.append(part[first : first + BLOCK].transpose(1, 2, 3, 0).reshape(-1))
    return np.concatenate(parts)


def _input_rows(s: pack_f32.Conv2dShape) -> tuple[Array, Array]:
    """For each output row of each image, the bytes that its taps may read, from and to: rows are written one after
    another, each while the input rows under its taps are read."""
    under = np.arange(s.oh) + s.top  # the place of the first tap, times the stride
    top = np.clip(-((s.dh * (s.kh - 1) - under) // s.sh), 0, s.ih)
    bottom = np.minimum(under // s.sh + 1, s.ih)
    images, row = np.arange(s.n)[:, None] * s.ih, pack_f32.FLOAT * s.iw * s.ic
    return ((images + top) * row).reshape(-1), ((images + bottom) * row).reshape(-1)
