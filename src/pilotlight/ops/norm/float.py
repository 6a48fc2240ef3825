"""Layer, rms, group and instance norm: statistics of the tensor itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.codegen.step import Step, c_float
from pilotlight.graph import Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, add_op, lowers, register, same
from pilotlight.ops.pointwise.float import apply
from pilotlight.ops.quantizing import WITH_PARAMETERS
from pilotlight.ops.reduce.float import reduce


def _affine(node: Node, c: Step) -> list[str]:
    """Pointers to the scale and the shift, null where there is none."""
    pointers, at = [], 1
    for present in node.attrs["affine"]:
        pointers.append(c.read(node.inputs[at]) if present else "0")
        at += present
    return pointers


def _arguments(node: Node, args: list[torch.Tensor]) -> list[torch.Tensor | None]:
    rest = iter(args[1:])
    return [next(rest) if present else None for present in node.attrs["affine"]]


class RowNorm(Op):
    """attrs: size (elements of a row), eps, affine (has scale; layer norm: has shift too). Row by row, in place."""

    def __init__(self, kernel: str, function: Callable[..., torch.Tensor]):
        self.kernel, self.function = kernel, function

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        size = node.attrs["size"]
        given = [None if v is None else v.reshape(size) for v in _arguments(node, args)]
        rows = args[0].reshape(-1, size)
        return self.function(rows, (size,), *given, node.attrs["eps"]).reshape(args[0].shape)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        x, size = node.inputs[0], node.attrs["size"]
        shape = (x.elements // size, size, c_float(node.attrs["eps"]))
        c.use(self.kernel)
        c.call(f"pl_{self.kernel}", c.read(x), *_affine(node, c), c.write(node.output), *shape)


add_op("layer_norm", RowNorm("layer_norm_f32", F.layer_norm))
add_op("rms_norm", RowNorm("rms_norm_f32", F.rms_norm))


@register
class GroupNorm(Op):
    """x (N, ..., C); attrs: groups, eps, affine (has scale, has shift). Statistics first, then in place."""

    name = "group_norm"

    def infer(self, node: Node) -> Result:
        return same(node)

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        weight, bias = _arguments(node, args)
        y = F.group_norm(args[0].movedim(-1, 1), node.attrs["groups"], weight, bias, node.attrs["eps"])
        return y.movedim(1, -1).contiguous()

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def scratch(self, node: Node) -> int:
        return 8 * int(node.attrs["groups"])

    def emit(self, node: Node, c: Step) -> None:
        x, groups = node.inputs[0], node.attrs["groups"]
        n, channels = x.shape[0], x.shape[-1]
        c.use("group_norm_f32")
        c.call("pl_group_norm_f32", c.read(x), *_affine(node, c), c.scratch(), c.write(node.output), n,
               x.elements // (n * channels), channels, groups, c_float(node.attrs["eps"]))


# ---- ATen --------------------------------------------------------------------------------------------------


def _size(shape: Sequence[int]) -> int:
    return int(np.prod(list(shape), dtype=np.int64))


def moments(b: Builder, x: Value, axes: Sequence[int], eps: float) -> tuple[Value, Value, Value]:
    """Mean, variance and 1 / sqrt(variance + eps) over some axes, which stay with size 1."""
    mean = reduce(b, "mean", x, axes)
    variance = reduce(b, "mean", apply(b, "square", apply(b, "sub", x, mean)), axes)
    return mean, variance, apply(b, "rsqrt", apply(b, "add", variance, eps))


@lowers("layer_norm.default", quantized=WITH_PARAMETERS)
def layer_norm(
    b: Builder, input: Value, normalized_shape: Sequence[int], weight: Value | None = None,
    bias: Value | None = None, eps: float = 1e-5, cudnn_enable: bool = False,
) -> Value:
    extra = [v for v in (weight, bias) if v is not None]
    affine = (weight is not None, bias is not None)
    return b.node("layer_norm", [input, *extra], size=_size(normalized_shape), eps=eps, affine=affine)


@lowers("native_layer_norm.default")
def native_layer_norm(
    b: Builder, input: Value, normalized_shape: Sequence[int], weight: Value | None, bias: Value | None,
    eps: float,
) -> tuple[Value | None, ...]:
    axes = range(len(input.shape) - len(normalized_shape), len(input.shape))
    mean, _, deviation = moments(b, input, axes, eps)
    return layer_norm(b, input, normalized_shape, weight, bias, eps), mean, deviation


@lowers("rms_norm.default", quantized=WITH_PARAMETERS)
def rms_norm(
    b: Builder, input: Value, normalized_shape: Sequence[int], weight: Value | None = None,
    eps: float | None = None,
) -> Value:
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    inputs = [input] if weight is None else [input, weight]
    return b.node("rms_norm", inputs, size=_size(normalized_shape), eps=eps, affine=(weight is not None,))


@lowers("group_norm.default", quantized=WITH_PARAMETERS)
def group_norm(
    b: Builder, input: Value, num_groups: int, weight: Value | None = None, bias: Value | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = False,
) -> Value:
    extra = [v for v in (weight, bias) if v is not None]
    affine = (weight is not None, bias is not None)
    if len(input.shape) == 2:
        rows = b.reshape(input, (input.shape[0], 1, input.shape[1]))
        y = b.node("group_norm", [rows, *extra], groups=num_groups, eps=eps, affine=affine)
        return b.reshape(y, input.shape)
    y = b.node("group_norm", [b.channels_last(input), *extra], groups=num_groups, eps=eps, affine=affine)
    return b.channels_first(y)


@lowers("native_group_norm.default")
def native_group_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, group: int, eps: float, **_: int
) -> tuple[Value | None, ...]:
    rows = b.reshape(input, (input.shape[0], group, input.elements // (input.shape[0] * group)))
    mean, _variance, deviation = (b.reshape(v, rows.shape[:2]) for v in moments(b, rows, [2], eps))
    return group_norm(b, input, group, weight, bias, eps), mean, deviation


@lowers("instance_norm.default", quantized=WITH_PARAMETERS)
def instance_norm(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
    running_var: Value | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool = False,
) -> Value:
    if not use_input_stats:
        hint = "set track_running_stats=False"
        raise b.refuse("instance norm with running statistics is not supported", hint)
    if running_mean is not None and running_mean.is_constant:  # a buffer, which torch.export does not see change
        raise b.refuse("instance norm that updates running statistics is not supported", "give no running statistics")
    return group_norm(b, input, input.shape[1], weight, bias, eps)
