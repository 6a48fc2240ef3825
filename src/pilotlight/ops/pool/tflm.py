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
from pilotlight.fixed import TFLM
from pilotlight.graph import Node
from pilotlight.ops.base import Result, add_op
from pilotlight.ops.concat.int8 import make_qpad
from pilotlight.ops.forms import Integer, all_int8, form
from pilotlight.ops.pointwise.tflm_table import quantized, tflm_table
from pilotlight.ops.pool.int8 import QPool, cells, make_qmax_pool2d
from pilotlight.ops.spec import Limits, NodeSpec, narrow, quant_of, wide


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
        kernel = f"q_tflm_avg_pool2d_s{8 * x.dtype.size}"
        c.use(kernel)
        table = c.table("pl_q_tflm_pool2d_t", "pool", {"pool": self.pool_fields(node), "lo": a["lo"], "hi": a["hi"]})
        c.call(f"pl_{kernel}", table, c.read(x), c.write(node.output))


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


def _in_scale(q: Integer, pool: Node, *before: Node) -> list[Node]:
    """The nodes of a pooling; where its result should have another scale than the input, QUANTIZE follows."""
    x = quant_of(q.inputs[0])
    if x == q.quant:
        return [*before, pool]
    return [*before, pool, q.build(tflm_table(quantized(x, q.quant), "requantize", q.limits), pool.output)]


def _limits(q: Integer) -> Limits:
    return q.limits if quant_of(q.inputs[0]) == q.quant else LIMITS


@form("max_pool2d", width=8, numerics=TFLM)
def max_pool(q: Integer) -> list[Node] | None:
    """MAX_POOL_2D; padding never wins."""
    if not all_int8(q) or tuple(q.node.attrs["dilation"]) != (1, 1):
        return None
    x = q.inputs[0]
    return _in_scale(q, q.build(make_qmax_pool2d(q.node.attrs, limits=_limits(q)), x, quant=x.quant))


@form("avg_pool2d", width=8, numerics=TFLM)
def average_pool(q: Integer) -> list[Node] | None:
    """AVERAGE_POOL_2D; padding that counts is put around the image first, as PAD does."""
    x, a = q.inputs[0], q.node.attrs
    if not all_int8(q) or a["divisor"]:
        return None
    before, pad = [], tuple(a["pad"])
    if a["count_padding"] and any(pad):
        ends = [(n - 1) * s + k - size - p for n, s, k, size, p in zip(
            a["size"], a["stride"], a["kernel"], x.shape[1:3], pad, strict=True)]
        if any(end > p for end, p in zip(ends, pad, strict=True)):
            return None  # a window that reaches beyond the padding counts less than its elements
        around = (0, *pad, 0)
        before, pad = [q.build(make_qpad(quant_of(x), around, around), x, quant=x.quant)], (0, 0)
        x = before[0].output
    kernel, stride, size = (tuple(a[name]) for name in ("kernel", "stride", "size"))
    spec = make_tflm_avg_pool2d(size, kernel, stride, pad, _limits(q))
    return _in_scale(q, q.build(spec, x, quant=x.quant), *before)
