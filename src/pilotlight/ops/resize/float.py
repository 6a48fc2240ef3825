"""Resizing images, channels last: nearest, bilinear, bicubic. One-dimensional resizing is the case H = 1, volumes
take two steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.codegen.step import Step
from pilotlight.codegen.walk import forward_distance
from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.areas import Area, AreaPart
from pilotlight.ops.base import Op, Result, lowers, moves, register
from pilotlight.ops.dense.conv import pair
from pilotlight.ops.dense.linear import linear_node
from pilotlight.ops.index.float import take
from pilotlight.ops.quantizing import OWN, SHARED


@register
class Resize2d(Op):
    """attrs: mode, out (OH, OW), align (corners), scale (input pixels per output pixel), factors or None."""

    name = "resize2d"

    def infer(self, node: Node) -> Result:
        n, _, _, c = node.inputs[0].shape
        return [(FLOAT32, (n, *node.attrs["out"], c))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        corners = a["align"] if a["mode"] in ("bilinear", "bicubic") else None
        x = args[0].permute(0, 3, 1, 2)
        if a["factors"] is None:
            y = F.interpolate(x, a["out"], mode=a["mode"], align_corners=corners)
        else:
            y = F.interpolate(x, scale_factor=a["factors"], mode=a["mode"], align_corners=corners)
        return y.permute(0, 2, 3, 1).contiguous()

    def part(self, node: Node, area: Area) -> AreaPart | None:
        """Enlarging by a power of two: places are exact then, wherever a part begins. Bilinear parts are made with a
        margin of one input pixel, as their borders count as the image's."""
        a, reads, made = node.attrs, [], []
        margin = 1 if a["mode"] == "bilinear" else 0
        for at, size, out, scale in zip(area, node.inputs[0].shape[1:3], a["out"], a["scale"], strict=True):
            factor = out // size
            if factor == 0 or factor & (factor - 1) or scale * factor != 1:
                return None
            first, last = max(0, at.start // factor - margin), min(size, -(-at.stop // factor) + margin)
            reads.append(range(first, last))
            made.append(range(first * factor, last * factor))
        if a["align"] or a["mode"] == "bicubic":
            return None
        return AreaPart({**a, "out": tuple(map(len, made))}, [Area(*reads)], Area(*made))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        """By rows of the output: the lowest input row that one still reads."""
        n, ih, iw, c = node.inputs[0].shape
        _, oh, ow, _ = node.output.shape
        reach = {"bilinear": 0, "bicubic": 1}.get(node.attrs["mode"], 0)
        middle = (np.arange(oh) + 0.5) * node.attrs["scale"][0] - 0.5
        if node.attrs["align"] or node.attrs["mode"] == "nearest":
            middle = np.arange(oh) * node.attrs["scale"][0]
        rows = np.clip(np.floor(middle).astype(np.int64) - reach - 1, 0, ih - 1)
        reads = (np.arange(n)[:, None] * ih + rows[None, :]).reshape(-1) * (4 * iw * c)
        written = np.arange(1, n * oh + 1, dtype=np.int64) * (4 * ow * c)
        return {(0, 0): forward_distance(reads, written)}

    def emit(self, node: Node, c: Step) -> None:
        a = node.attrs
        n, ih, iw, channels = node.inputs[0].shape
        oh, ow = a["out"]
        kernel = "nearest" if a["mode"].startswith("nearest") else a["mode"]
        c.use(f"resize_{kernel}_f32")
        fields = {"n": n, "ih": ih, "iw": iw, "c": channels, "oh": oh, "ow": ow, "align_corners": a["align"]}
        table = c.table("pl_resize2d_t", "resize", fields | {"sh": a["scale"][0], "sw": a["scale"][1]})
        half = [] if kernel != "nearest" else ["0.5f" if a["mode"] == "nearest-exact" else "0.0f"]
        c.call(f"pl_resize_{kernel}_f32", table, c.read(node.inputs[0]), c.write(node.output), *half)


# ---- ATen --------------------------------------------------------------------------------------------------


def _scale(size: int, out: int, align: bool, factor: float | None) -> float:
    """Input pixels per output pixel, in float32 as PyTorch computes it."""
    if align:
        return float(np.float32(size - 1) / np.float32(out - 1)) if out > 1 else 0.0
    if factor is not None and factor > 0:
        return float(np.float32(1.0 / factor))
    return float(np.float32(size) / np.float32(out))


def _resize(
    b: Builder, mode: str, x: Value, rank: int, align: bool, factors: Sequence[float | None] | None
) -> Value:
    """Images in one step; for a volume first the slices, then rows of whole slices."""
    if x.dtype != FLOAT32:
        return _repeated(b, mode, x, rank, factors)
    out = b.results[0][1][-rank:]
    given: list[float | None] = [None] * rank if not factors else list(factors)
    x = b.channels_last(x)
    batch, channels, deep = x.shape[0], x.shape[-1], x.shape[1] if rank == 3 else 1
    x = b.reshape(x, (batch * deep, *((1, x.shape[1]) if rank == 1 else x.shape[-3:-1]), channels))
    y = _image(b, mode, x, pair(out[-2:], min(rank, 2)), align, ([None] * 2 + given)[-2:])
    if rank == 3:
        slices = b.reshape(y, (batch, deep, 1, y.elements // (batch * deep)))
        y = _image(b, mode, slices, (out[0], 1), align, [given[0], None])
    return b.channels_first(b.reshape(y, (batch, *out, channels)))


def _image(
    b: Builder, mode: str, x: Value, out: tuple[int, int], align: bool, factors: Sequence[float | None]
) -> Value:
    """x (N, H, W, C)."""
    scale = tuple(_scale(size, o, align, f) for size, o, f in zip(x.shape[1:3], out, factors, strict=True))
    sizes = zip(x.shape[1:3], out, factors, strict=True)
    known = [1.0 if f is None and size == o == 1 else f for size, o, f in sizes]
    both = None if None in known else tuple(known)
    return b.node("resize2d", [x], mode=mode, out=out, align=align, scale=scale, factors=both)


def _repeated(b: Builder, mode: str, x: Value, rank: int, factors: Sequence[float | None] | None) -> Value:
    """The nearest elements, whatever type they have: rows and columns by number."""
    if not mode.startswith("nearest"):
        raise b.refuse(f"{mode} resizing of {x.dtype} is not supported; expected float32")
    middle = np.float32(0.5 if mode == "nearest-exact" else 0.0)
    given = list(factors or [None] * rank)
    for d, factor in zip(range(-rank, 0), given, strict=True):
        size, out = x.shape[d], b.results[0][1][d]
        scale = np.float32(_scale(size, out, False, factor))
        ids = np.floor((np.arange(out, dtype=np.float32) + middle) * scale).astype(np.int64)
        x = take(b, x, len(x.shape) + d, b.constant(np.minimum(ids, size - 1), hint="nearest"))
    return x


MODES = {
    "upsample_nearest1d": ("nearest", 1),
    "upsample_nearest2d": ("nearest", 2),
    "_upsample_nearest_exact1d": ("nearest-exact", 1),
    "_upsample_nearest_exact2d": ("nearest-exact", 2),
    "upsample_nearest3d": ("nearest", 3),
    "_upsample_nearest_exact3d": ("nearest-exact", 3),
    "upsample_linear1d": ("bilinear", 1),
    "upsample_trilinear3d": ("bilinear", 3),
    "upsample_bilinear2d": ("bilinear", 2),
    "upsample_bicubic2d": ("bicubic", 2),
}


def _lower_mode(name: str, mode: str, rank: int) -> None:
    decorate, scale = (moves, SHARED) if mode.startswith("nearest") else (lowers, OWN)
    treatment = scale if rank < 3 else None  # the integer forms are for images

    @decorate(f"{name}.default", quantized=treatment)
    def default(b: Builder, align_corners: bool = False, scales: float | None = None,
                scales_d: float | None = None, scales_h: float | None = None, scales_w: float | None = None,
                **rest: Any) -> Value:
        factors = [scales] if rank == 1 else [scales_d, scales_h, scales_w][-rank:]
        return _resize(b, mode, rest["input" if "input" in rest else "self"], rank, align_corners, factors)

    @decorate(f"{name}.vec", quantized=treatment)
    def vec(b: Builder, input: Value, output_size: Sequence[int] | None, align_corners: bool = False,
            scale_factors: Sequence[float] | None = None) -> Value:
        return _resize(b, mode, input, rank, align_corners, scale_factors)


for _name, (_mode, _dims) in MODES.items():
    _lower_mode(_name, _mode, _dims)


def _antialiased(b: Builder, op: Any, x: Value, align: bool, factors: Sequence[float | None]) -> Value:
    """Every output row is a weighted sum of input rows, and columns likewise: two constant matrices, which are what
    PyTorch makes of an identity matrix."""
    for d in (1, 0):
        size, out, scales = x.shape[-1], b.results[0][1][2 + d], [None, factors[d]]
        matrix = op(torch.eye(size)[None, None], [size, out], align, *scales)[0, 0].T
        y = linear_node(b, x, np.ascontiguousarray(matrix.numpy()), None)
        x = b.permute(y, (0, 1, 3, 2))
    return x


def _lower_antialiased(name: str) -> None:
    op = getattr(torch.ops.aten, name).default

    @lowers(f"{name}.default", quantized=OWN)
    def default(b: Builder, self: Value, output_size: Sequence[int], align_corners: bool,
                scales_h: float | None = None, scales_w: float | None = None) -> Value:
        return _antialiased(b, op, self, align_corners, [scales_h, scales_w])

    @lowers(f"{name}.vec", quantized=OWN)
    def vec(b: Builder, input: Value, output_size: Sequence[int] | None, align_corners: bool,
            scale_factors: Sequence[float] | None = None) -> Value:
        given: Sequence[float | None] = scale_factors or [None, None]
        return _antialiased(b, op, input, align_corners, given)


for _name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
    _lower_antialiased(_name)
