"""Images and volumes read at the points of a grid, channels last."""

from __future__ import annotations

import math

import torch

from pilotlight.codegen.step import Step
from pilotlight.graph import FLOAT32, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.ops.base import Op, Result, lowers, register


@register
class GridSample(Op):
    """x (N, D, H, W, C), D = 1 for images, and grid (N, points, 2 or 3); attrs: mode, padding, align, numbered as in
    ATen. The output is (N, points, C)."""

    name = "grid_sample"

    def infer(self, node: Node) -> Result:
        x, grid = node.inputs
        return [(FLOAT32, (x.shape[0], grid.shape[1], x.shape[4]))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a = node.attrs
        x, grid = args[0].permute(0, 4, 1, 2, 3), args[1].unsqueeze(1)
        if grid.shape[-1] == 3:
            y = torch.grid_sampler_3d(x, grid.unsqueeze(1), a["mode"], a["padding"], a["align"]).squeeze(2)
        else:
            y = torch.grid_sampler_2d(x.squeeze(2), grid, a["mode"], a["padding"], a["align"])
        return y.squeeze(2).permute(0, 2, 1).contiguous()

    def emit(self, node: Node, c: Step) -> None:
        (x, grid), a = node.inputs, node.attrs
        n, d, h, w, channels = x.shape
        fields = {"n": n, "d": d, "h": h, "w": w, "c": channels, "points": grid.shape[1], "dims": grid.shape[2],
                  "mode": a["mode"], "padding": a["padding"], "align_corners": a["align"]}
        c.use("grid_sample_f32")
        table = c.table("pl_grid_sample_t", "grid", fields)
        c.call("pl_grid_sample_f32", table, c.read(x), c.read(grid), c.write(node.output))


@lowers("grid_sampler_2d.default", "grid_sampler_3d.default")
def grid_sampler(
    b: Builder, input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    dims = grid.shape[-1]
    x = b.channels_last(input)
    volume = b.reshape(x, (x.shape[0], *(1,) * (3 - dims), *x.shape[1:]))
    points = math.prod(grid.shape[1:-1])
    y = b.node("grid_sample", [volume, b.reshape(grid, (grid.shape[0], points, dims))], mode=interpolation_mode,
               padding=padding_mode, align=align_corners)
    return b.channels_first(b.reshape(y, (grid.shape[0], *grid.shape[1:-1], x.shape[-1])))
