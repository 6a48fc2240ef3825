"""Pooling, channels last: x (N, H, W, C), y (N, OH, OW, C). One-dimensional pooling is the case H = 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import forward_distance
from pilotlight.graph import FLOAT32, INT64, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops import volume
from pilotlight.ops.areas import Area, AreaPart, window_part
from pilotlight.ops.base import Op, Result, add_op, lowers
from pilotlight.ops.dense.conv import pair
from pilotlight.ops.quantizing import AVERAGE, LARGEST, OWN
from pilotlight.ops.reduce.float import reduce


def pool_part(node: Node, area: Area, average: bool) -> AreaPart | None:
    """The attributes have one padding for both sides, so an average that counts it cannot be cut."""
    a = node.attrs
    if average and a["count_padding"] and not a["divisor"] and any(a["pad"]):
        return None
    found = window_part(node, area, a["kernel"], a["stride"], a["pad"], a["dilation"])
    if found is None:
        return None
    read, ((_, top, _), (_, left, _)) = found
    return AreaPart({**a, "size": area.size, "pad": (top, left)}, [read, *(None for _ in node.inputs[1:])])


class Pool(Op):
    """attrs: size (OH, OW), kernel, stride, pad (vertical, horizontal), dilation, count_padding, divisor."""

    def __init__(self, kind: str):
        self.kind = kind  # "avg" or "max", "adaptive_avg" or "adaptive_max"

    def infer(self, node: Node) -> Result:
        n, _, _, c = node.inputs[0].shape
        return [(FLOAT32, (n, *node.attrs["size"], c))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor | tuple[torch.Tensor, ...]:
        x, a = args[0].permute(0, 3, 1, 2), node.attrs
        oh, ow = a["size"]
        if self.kind.startswith("adaptive"):
            pool = F.adaptive_avg_pool2d if self.kind == "adaptive_avg" else F.adaptive_max_pool2d
            return pool(x, a["size"]).permute(0, 2, 3, 1).contiguous()
        ceil = (oh, ow) != self._floor(node)
        if self.kind == "max":
            y = F.max_pool2d(x, a["kernel"], a["stride"], a["pad"], a["dilation"], ceil_mode=ceil)
        else:
            y = F.avg_pool2d(
                x, a["kernel"], a["stride"], a["pad"], count_include_pad=bool(a["count_padding"]),
                divisor_override=a["divisor"] or None, ceil_mode=ceil,
            )
        return y.permute(0, 2, 3, 1).contiguous()

    @staticmethod
    def _floor(node: Node) -> tuple[int, ...]:
        _, h, w, _ = node.inputs[0].shape
        a = node.attrs
        return tuple(
            (size + 2 * p - d * (k - 1) - 1) // s + 1
            for size, k, s, p, d in zip(
                (h, w), a["kernel"], a["stride"], a["pad"], a["dilation"], strict=True
            )
        )

    def part(self, node: Node, area: Area) -> AreaPart | None:
        return None if self.kind.startswith("adaptive") else pool_part(node, area, self.kind == "avg")

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """Output pixels are written one after another, a few channels at a time: what is left to read of a window
        when those are written starts at the same channel, so the start of the pixel is what counts."""
        n, ih, iw, c = node.inputs[0].shape
        _, oh, ow, _ = node.output.shape
        a = node.attrs
        if self.kind.startswith("adaptive"):
            rows, cols = np.arange(oh) * ih // oh, np.arange(ow) * iw // ow
        else:
            rows = np.maximum(np.arange(oh) * a["stride"][0] - a["pad"][0], 0)
            cols = np.maximum(np.arange(ow) * a["stride"][1] - a["pad"][1], 0)
        images = np.arange(n)[:, None, None]
        pixels = (images * ih + rows[None, :, None]) * iw + cols[None, None, :]
        first = pixels.reshape(-1) * c * FLOAT32.size
        written = np.arange(n * oh * ow) * c * FLOAT32.size
        return {(0, 0): forward_distance(first, written)}

    def emit(self, node: Node, c: Step) -> None:
        header = f"{self.kind.removeprefix('adaptive_')}_pool2d_f32"
        self.call(node, c, header, f"{self.kind}_pool2d_f32")

    def call(self, node: Node, c: Step, header: str, function: str) -> None:
        n, ih, iw, channels = node.inputs[0].shape
        a = node.attrs
        fields = {"n": n, "ih": ih, "iw": iw, "c": channels, "oh": a["size"][0], "ow": a["size"][1]}
        if not self.kind.startswith("adaptive"):
            names = (("kh", "kw"), ("sh", "sw"), ("top", "left"), ("dh", "dw"))
            for keys, attr in zip(names, ("kernel", "stride", "pad", "dilation"), strict=True):
                fields |= dict(zip(keys, a[attr], strict=True))
            fields |= {"count_padding": int(a["count_padding"]), "divisor": a["divisor"]}
        c.use(header)
        table = c.table("pl_pool2d_t", "pool", fields)
        c.call(f"pl_{function}", table, c.read(node.inputs[0]), *(c.write(v) for v in node.outputs))


for _kind in ("avg", "max", "adaptive_avg", "adaptive_max"):
    add_op(f"{_kind}_pool2d", Pool(_kind))


def _pool(b: Builder, op: str, x: Value, rank: int, **attrs: Any) -> Value:
    """Wrap a pooling of (N, C, spatial...) or (C, spatial...) in the channels-last order of its kernel."""
    shape = b.results[0][1]
    if len(x.shape) == rank + 1:
        x = b.reshape(x, (1, *x.shape))
    x = b.channels_last(x)
    if rank == 1:
        x = b.reshape(x, (x.shape[0], 1, x.shape[1], x.shape[2]))
    y = b.node(op, [x], size=(1, shape[-1]) if rank == 1 else tuple(shape[-2:]), **attrs)
    if rank == 1:
        y = b.reshape(y, (y.shape[0], y.shape[2], y.shape[3]))
    return b.reshape(b.channels_first(y), shape)


def _window(
    kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], rank: int,
    dilation: Sequence[int] = (1,),
) -> dict[str, Any]:
    return {
        "kernel": pair(kernel, rank),
        "stride": pair(stride or kernel, rank),
        "pad": pair(padding, rank, fill=0),
        "dilation": pair(dilation, rank),
    }


def _lower_max(rank: int, *aten: str) -> None:
    def lower(
        b: Builder, self: Value, kernel_size: Sequence[int], stride: Sequence[int] = (),
        padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,), ceil_mode: bool = False,
    ) -> Value:
        if self.dtype != FLOAT32:
            window = {"kernel": kernel_size, "stride": stride, "pad": padding, "dilation": dilation}
            return volume.pool(b, "max_pool3d", self, rank, ceil_mode, **window)[0]
        return _pool(
            b, "max_pool2d", self, rank, count_padding=False, divisor=0,
            **_window(kernel_size, stride, padding, rank, dilation),
        )

    lowers(*aten, quantized=LARGEST)(lower)


_lower_max(1, "max_pool1d.default")
_lower_max(2, "max_pool2d.default")


class MaxPoolIndex(Pool):
    """The maxima and where they were; attrs as for max pooling."""

    def __init__(self) -> None:
        super().__init__("max")

    def infer(self, node: Node) -> Result:
        ((dtype, shape),) = super().infer(node)
        return [(dtype, shape), (INT64, shape)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        x, a = args[0].permute(0, 3, 1, 2), node.attrs
        ceil = tuple(a["size"]) != self._floor(node)
        both = F.max_pool2d(
            x, a["kernel"], a["stride"], a["pad"], a["dilation"], ceil_mode=ceil, return_indices=True
        )
        return tuple(v.permute(0, 2, 3, 1).contiguous() for v in both)

    def part(self, node: Node, area: Area) -> AreaPart | None:
        """Indices count within the whole image."""
        return None

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {}

    def emit(self, node: Node, c: Step) -> None:
        self.call(node, c, "max_pool2d_index_f32", "max_pool2d_index_f32")


add_op("max_pool2d_index", MaxPoolIndex())


@lowers("max_pool2d_with_indices.default")
def max_pool2d_with_indices(
    b: Builder, self: Value, kernel_size: Sequence[int], stride: Sequence[int] = (),
    padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,), ceil_mode: bool = False,
) -> tuple[Value, Value]:
    if self.dtype != FLOAT32:
        window = {"kernel": kernel_size, "stride": stride, "pad": padding, "dilation": dilation}
        values, at = volume.pool(b, "max_pool3d", self, 2, ceil_mode, **window)
        return values, at
    attrs = {"count_padding": False, "divisor": 0, **_window(kernel_size, stride, padding, 2, dilation)}
    shape = b.results[0][1]
    x = b.channels_last(b.reshape(self, (1, *self.shape)) if len(self.shape) == 3 else self)
    values, at = b.nodes("max_pool2d_index", [x], None, size=tuple(shape[-2:]), **attrs)
    return b.reshape(b.channels_first(values), shape), b.reshape(b.channels_first(at), shape)


def _lower_avg(rank: int, aten: str) -> None:
    def lower(
        b: Builder, self: Value, kernel_size: Sequence[int], stride: Sequence[int] = (),
        padding: Sequence[int] = (0,), ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        extra = {"count_padding": count_include_pad, "divisor": divisor_override or 0}
        if self.dtype != FLOAT32:
            window = {"kernel": kernel_size, "stride": stride, "pad": padding, **extra}
            return volume.pool(b, "avg_pool3d", self, rank, ceil_mode, **window)[0]
        return _pool(b, "avg_pool2d", self, rank, **extra, **_window(kernel_size, stride, padding, rank))

    lowers(aten, quantized=AVERAGE)(lower)


_lower_avg(1, "avg_pool1d.default")
_lower_avg(2, "avg_pool2d.default")


def _lower_adaptive(rank: int, op: str, *aten: str) -> None:
    def lower(b: Builder, self: Value, output_size: Sequence[int]) -> Value:
        shape = b.results[0][1]
        if self.dtype != FLOAT32:
            return volume.pool(b, "avg_pool3d", self, rank, count_padding=False, divisor=0)[0]
        if op == "adaptive_avg_pool2d" and all(size == 1 for size in shape[-rank:]):
            return b.reshape(reduce(b, "mean", self, range(-rank, 0)), shape)
        return _pool(b, op, self, rank)

    lowers(*aten, quantized=OWN)(lower)


_lower_adaptive(1, "adaptive_avg_pool2d", "adaptive_avg_pool1d.default")
_lower_adaptive(2, "adaptive_avg_pool2d", "adaptive_avg_pool2d.default", "_adaptive_avg_pool2d.default")


def _lower_adaptive_max(rank: int, aten: str) -> None:
    def lower(b: Builder, self: Value, output_size: Sequence[int]) -> tuple[Value, Value]:
        """The positions come from a kernel of their own, which is left out where nobody reads them."""
        values, places = volume.pool(b, "max_pool3d", self, rank)
        return (_pool(b, "adaptive_max_pool2d", self, rank) if self.dtype == FLOAT32 else values), places

    lowers(aten, quantized=LARGEST)(lower)


_lower_adaptive_max(1, "adaptive_max_pool1d.default")
_lower_adaptive_max(2, "adaptive_max_pool2d.default")
