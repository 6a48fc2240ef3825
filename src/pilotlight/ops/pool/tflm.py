"""Average pooling of int8 or int16 as TFLM computes it, channels last: x (N, H, W, C), y (N, OH, OW, C).

    y = clamp(Σ x / count), half away from zero; padding is not counted, x and y have one scale

Maxima are the same in both contracts: `qmax_pool2d`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import Node
from pilotlight.ops.base import Result, add_op
from pilotlight.ops.pool.int8 import QPool, cells
from pilotlight.ops.spec import Limits, NodeSpec, narrow, wide


class TflmAveragePool(QPool):
    """attrs: size, kernel, stride, pad (above, left), dilation, lo, hi. The result has the input's type."""

    def infer(self, node: Node) -> Result:
        return [(node.inputs[0].dtype, shape) for _, shape in super().infer(node)]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x, a = wide(args[0]), node.attrs
        y = np.empty((x.shape[0], *a["size"], x.shape[3]), np.int64)
        for cell in cells(args[0].shape, a, False):
            y[:, *cell.at] = rounded_quotient(x[:, cell.rows][:, :, cell.columns].sum(axis=(1, 2)), cell.count)
        return narrow(np.clip(y, a["lo"], a["hi"]), node.inputs[0].dtype.numpy.type)

    def overlaps(self, node: Node) -> dict[tuple[int, int], int]:
        size = node.inputs[0].dtype.size
        return {pair: distance * size for pair, distance in super().overlaps(node).items()}

    def emit(self, node: Node, c: Step) -> None:
        a, x = node.attrs, node.inputs[0]
        c.use("q_tflm_pool2d")
        table = c.table("pl_q_tflm_pool2d_t", "pool", {"pool": self.pool_fields(node), "lo": a["lo"], "hi": a["hi"]})
        kernel = "pl_q_tflm_avg_pool2d" + ("_s16" if x.dtype.size == 2 else "")
        c.call(kernel, table, c.read(x), c.write(node.output))


add_op("tflm_avg_pool2d", TflmAveragePool("avg"))


def rounded_quotient(total: np.ndarray, count: int) -> np.ndarray:
    """total / count, half away from zero."""
    return np.sign(total) * ((np.abs(total) + count // 2) // count)


def make_tflm_avg_pool2d(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int],
    limits: Limits = LIMITS,
) -> NodeSpec:
    """`size` of the output, `pad` above and to the left."""
    pool: dict[str, Any] = {"size": size, "kernel": kernel, "stride": stride, "pad": pad, "dilation": (1, 1)}
    counts = {"count_padding": False, "divisor": 0}
    return NodeSpec("tflm_avg_pool2d", {**pool, **counts, "lo": limits[0], "hi": limits[1]})
