"""Resizing images, channels last: nearest, bilinear, bicubic. One-dimensional resizing is the case H = 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from pilotlight.capture.builder import Builder
from pilotlight.emit.step import Step
from pilotlight.emit.walk import forward_distance
from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.ops.base import Op, Result, lowers, register
from pilotlight.ops.conv import pair


@register
class Resize2d(Op):
    """attrs: mode, out (OH, OW), align (corners), scale (input pixels an output pixel), factors or None."""

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
    """Input pixels an output pixel, in float32 as PyTorch computes it."""
    if align:
        return float(np.float32(size - 1) / np.float32(out - 1)) if out > 1 else 0.0
    if factor is not None and factor > 0:
        return float(np.float32(1.0 / factor))
    return float(np.float32(size) / np.float32(out))


def _resize(
    b: Builder, mode: str, x: Value, rank: int, align: bool, factors: Sequence[float | None] | None
) -> Value:
    shape = b.results[0][1]
    out = pair(shape[-rank:], rank)
    if x.dtype != FLOAT32:
        raise b.refuse(f"resizing {x.dtype} is not supported; expected float32")
    x = b.channels_last(x)
    if rank == 1:
        x = b.reshape(x, (x.shape[0], 1, *x.shape[1:]))
    given = [None] * rank if not factors else list(factors)
    both = [None, *given] if rank == 1 else given
    scale = tuple(_scale(size, o, align, f) for size, o, f in zip(x.shape[1:3], out, both, strict=True))
    known = None if any(f is None for f in given) else tuple(1.0 if f is None else f for f in both)
    y = b.node("resize2d", [x], mode=mode, out=out, align=align, scale=scale, factors=known)
    return b.channels_first(b.reshape(y, (y.shape[0], *y.shape[2:])) if rank == 1 else y)


MODES = {
    "upsample_nearest1d": ("nearest", 1),
    "upsample_nearest2d": ("nearest", 2),
    "_upsample_nearest_exact1d": ("nearest-exact", 1),
    "_upsample_nearest_exact2d": ("nearest-exact", 2),
    "upsample_linear1d": ("bilinear", 1),
    "upsample_bilinear2d": ("bilinear", 2),
    "upsample_bicubic2d": ("bicubic", 2),
}


def _lower_mode(name: str, mode: str, rank: int) -> None:
    @lowers(f"{name}.default")
    def default(b: Builder, align_corners: bool = False, scales: float | None = None,
                scales_h: float | None = None, scales_w: float | None = None, **rest: Any) -> Value:
        factors = [scales] if rank == 1 else [scales_h, scales_w]
        return _resize(b, mode, rest["input" if "input" in rest else "self"], rank, align_corners, factors)

    @lowers(f"{name}.vec")
    def vec(b: Builder, input: Value, output_size: Sequence[int] | None, align_corners: bool = False,
            scale_factors: Sequence[float] | None = None) -> Value:
        return _resize(b, mode, input, rank, align_corners, scale_factors)


for _name, (_mode, _dims) in MODES.items():
    _lower_mode(_name, _mode, _dims)
