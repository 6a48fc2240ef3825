"""Scale and shift of int8 per channel, where no layer before could take them, and PReLU:

    d = x - zx
    y = clamp((d · (below_c if d < 0 else above_c) + begin_c) >> shift)
below and above are rint(slope · sx/sy · 2^shift), begin = rint((offset/sy + zy) · 2^shift) + 2^(shift-1); shift is the
largest up to 16 for which everything fits 32 bits. At most one step from float.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8
from pilotlight.graph import Node, Quant
from pilotlight.ops.base import Op, Result, register, same
from pilotlight.ops.spec import LIMIT, Limits, NodeSpec, narrow, overflow, wide


@register
class QScale(Op):
    """attrs: axes (the first of the channels, and one past the last), zx, shift, lo, hi; inputs x, lines (count, 3)."""

    name = "qscale"
    called = "scale and shift"

    def infer(self, node: Node) -> Result:
        return same(node)

    def _lanes(self, shape: tuple[int, ...], axes: tuple[int, int]) -> tuple[int, int, int]:
        first, last = axes
        return math.prod(shape[:first]), math.prod(shape[first:last]), math.prod(shape[last:])

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a, lines = node.attrs, wide(args[1])
        d = wide(args[0]).reshape(self._lanes(tuple(args[0].shape), a["axes"])) - a["zx"]
        below, above, begin = (lines[:, k, None] for k in range(3))
        y = (d * np.where(d < 0, below, above) + begin) >> a["shift"]
        return narrow(np.clip(y, a["lo"], a["hi"]).reshape(args[0].shape))

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        return {(0, 0): 0}

    def emit(self, node: Node, c: Step) -> None:
        a, (x, lines) = node.attrs, node.inputs
        c.use("q_scale")
        table = c.table("pl_q_scale_t", "scale", {"zero": a["zx"], **{k: a[k] for k in ("shift", "lo", "hi")}})
        pointers = (c.read(x), c.read(lines, "pl_q_lines_t"), c.write(node.output))
        c.call("pl_q_scale", table, *pointers, *self._lanes(x.shape, a["axes"]))


def make_qscale(
    x: Quant, y: Quant, axes: tuple[int, int], below: np.ndarray, above: np.ndarray, offset: np.ndarray,
    limits: Limits = INT8,
) -> NodeSpec:
    """y = x · (below or above) + offset, which are per channel; the channels are the axes from `axes[0]` up to but
    not `axes[1]` as one."""
    slopes = np.stack([np.ravel(below), np.ravel(above)], axis=1).astype(np.float64) * x.scale / y.scale
    offsets = np.ravel(offset).astype(np.float64) / y.scale + y.zero_point
    for shift in range(16, 0, -1):
        factors = np.rint(slopes * 2.0**shift)
        begins = np.rint(offsets * 2.0**shift) + (1 << (shift - 1))
        if (255 * np.abs(factors).max(axis=1) + np.abs(begins)).max() < LIMIT:
            break
    else:
        raise overflow(float(np.abs(slopes).max()))
    lines = np.concatenate([factors, begins[:, None]], axis=1).astype(np.int32)
    attrs = {"axes": axes, "zx": x.zero_point, "shift": shift, "lo": limits[0], "hi": limits[1]}
    return NodeSpec("qscale", attrs, (lines,))
