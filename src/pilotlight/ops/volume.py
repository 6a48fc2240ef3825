"""Convolution and pooling over volumes, in PyTorch's order: x (N, C, D, H, W), float32 or int64.

What the faster channels-last kernels do not cover comes here as well, with D and H of size 1 where the model has fewer
dimensions: integers, convolutions whose weights are inputs, positions of maxima in adaptive windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, INT64, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, lowers, register

Triple = tuple[int, ...]
_FIELDS = {"kernel": ("kd", "kh", "kw"), "stride": ("sd", "sh", "sw"), "pad": ("pd", "ph", "pw"),
           "dilation": ("dd", "dh", "dw")}


class Volume(Op):
    """attrs: size (OD, OH, OW), kernel, stride, pad, dilation."""

    kernel = ""

    def infer(self, node: Node) -> Result:
        x = node.inputs[0]
        return [(x.dtype, (x.shape[0], node.attrs.get("channels", x.shape[1]), *node.attrs["size"]))]

    def emit(self, node: Node, c: Step) -> None:
        x, a = node.inputs[0], node.attrs
        fields = dict(zip(("n", "c", "id", "ih", "iw"), x.shape, strict=True))
        fields |= dict(zip(("oc", "od", "oh", "ow"), node.outputs[0].shape[1:], strict=True))
        for name, keys in _FIELDS.items():
            fields |= dict(zip(keys, a[name], strict=True))
        fields |= {name: int(a[name]) for name in ("groups", "count_padding", "divisor") if name in a}
        kernel = f"{self.kernel}_{'f32' if x.dtype.kind == 'f' else 'i64'}"
        c.use(kernel)
        table = c.table("pl_volume_t", "volume", fields)
        c.call(f"pl_{kernel}", table, *(c.read(v) for v in node.inputs), *(c.write(v) for v in node.outputs))


@register
class Conv3d(Volume):
    """attrs: also groups, channels, extra (output padding); inputs x, w as PyTorch has it, bias. A negative stride is
    that of a transposed convolution."""

    name = kernel = "conv3d"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        (x, w, bias), a = args, node.attrs
        if a["stride"][0] > 0:
            return F.conv3d(x, w, bias, a["stride"], a["pad"], a["dilation"], a["groups"])
        steps = [-s for s in a["stride"]]
        return F.conv_transpose3d(x, w, bias, steps, a["pad"], a["extra"], a["groups"], a["dilation"])

    def macs(self, node: Node) -> int:
        a, x = node.attrs, node.inputs[0]
        points = node.output.elements * x.shape[1] if a["stride"][0] > 0 else x.elements * a["channels"]
        return points * math.prod(a["kernel"]) // a["groups"]


@register
class MaxPool3d(Volume):
    """Gives the maxima and where they were."""

    name = kernel = "max_pool3d"

    def infer(self, node: Node) -> Result:
        return [*super().infer(node), (INT64, super().infer(node)[0][1])]

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        a = node.attrs
        if not a["stride"][0]:
            return tuple(F.adaptive_max_pool3d(args[0], a["size"], return_indices=True))
        window = (a["kernel"], a["stride"], a["pad"], a["dilation"])
        return tuple(F.max_pool3d(args[0], *window, ceil_mode=a["ceil"], return_indices=True))


@register
class AvgPool3d(Volume):
    """attrs: also count_padding, divisor."""

    name = kernel = "avg_pool3d"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        if not a["stride"][0]:
            return F.adaptive_avg_pool3d(args[0], a["size"])
        counting = {"count_include_pad": a["count_padding"], "divisor_override": a["divisor"] or None}
        return F.avg_pool3d(args[0], a["kernel"], a["stride"], a["pad"], a["ceil"], **counting)


# ---- ATen ------------------------------------------------------------------------------------------------------


def triple(values: Sequence[int], rank: int, fill: int = 1) -> Triple:
    """Per-dimension numbers of a 1-d, 2-d or 3-d operator as (depth, height, width)."""
    values = list(values) * rank if len(values) == 1 else list(values)
    return (*(fill,) * (3 - rank), *values)


def _number(b: Builder, x: Value) -> Value:
    """Kernels exist for float32 and int64."""
    return b.cast(x, x.dtype if x.dtype == FLOAT32 else INT64)


def _volume(b: Builder, x: Value, rank: int) -> Value:
    """(N, C, spatial...) or (C, spatial...) as (N, C, D, H, W)."""
    batch = x.shape[:-rank] if len(x.shape) == rank + 2 else (1, *x.shape[:-rank])
    return b.reshape(_number(b, x), (*batch, *triple(x.shape[-rank:], rank)))


def convolve(
    b: Builder, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, extra: Sequence[int], groups: int,
) -> Value:
    """Any convolution, direct or transposed; no operand has to be a constant."""
    rank, (dtype, shape) = len(weight.shape) - 2, b.results[0]
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    kernel = triple(weight.shape[2:], rank)
    volume, w = _volume(b, x, rank), b.reshape(_number(b, weight), (*weight.shape[:2], *kernel))
    steps = triple(stride, rank)
    if bias is None:
        bias = b.expand(b.scalar(0, volume.dtype), (channels,))
    y = b.node(
        "conv3d", [volume, w, b.cast(bias, volume.dtype)], size=triple(shape[-rank:], rank), kernel=kernel,
        stride=tuple(-s for s in steps) if transposed else steps, pad=triple(padding, rank, 0),
        dilation=triple(dilation, rank), extra=triple(extra, rank, 0), groups=groups, channels=channels,
    )
    return b.cast(b.reshape(y, shape), dtype)


def pool(b: Builder, op: str, x: Value, rank: int, ceil: bool = False, **window: Any) -> list[Value]:
    """Any pooling; windows divide the input evenly unless `kernel` is given."""
    dtype, shape = b.results[0]
    kernel = window.pop("kernel", ())
    even = not kernel
    attrs: dict[str, Any] = {
        "kernel": triple(kernel or (1,), rank),
        "stride": (0, 0, 0) if even else triple(window.pop("stride", ()) or kernel, rank),
        "pad": triple(window.pop("pad", (0,)), rank, 0),
        "dilation": triple(window.pop("dilation", (1,)), rank),
    }
    values, *places = b.nodes(op, [_volume(b, x, rank)], size=triple(shape[-rank:], rank), ceil=ceil, **attrs, **window)
    return [b.cast(b.reshape(values, shape), dtype), *(b.reshape(v, shape) for v in places)]


@lowers("max_pool3d_with_indices.default", "max_pool3d.default")
def max_pool3d(
    b: Builder, self: Value, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,), ceil_mode: bool = False,
) -> Value | tuple[Value, ...]:
    both = pool(b, "max_pool3d", self, 3, ceil_mode, kernel=kernel_size, stride=stride, pad=padding, dilation=dilation)
    return tuple(both) if len(b.results) > 1 else both[0]


@lowers("avg_pool3d.default")
def avg_pool3d(
    b: Builder, self: Value, kernel_size: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Value:
    counting = {"count_padding": count_include_pad, "divisor": divisor_override or 0}
    return pool(b, "avg_pool3d", self, 3, ceil_mode, kernel=kernel_size, stride=stride, pad=padding, **counting)[0]


@lowers("adaptive_avg_pool3d.default", "_adaptive_avg_pool3d.default")
def adaptive_avg_pool3d(b: Builder, self: Value, output_size: Sequence[int]) -> Value:
    return pool(b, "avg_pool3d", self, 3, count_padding=False, divisor=0)[0]


@lowers("adaptive_max_pool3d.default")
def adaptive_max_pool3d(b: Builder, self: Value, output_size: Sequence[int]) -> tuple[Value, ...]:
    return tuple(pool(b, "max_pool3d", self, 3))
