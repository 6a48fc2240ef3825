"""LSTM of int8 or int16 with int8 weights as TFLM computes it: a 16-bit cell, the states in and out.

A gate of a unit, in units of 2^-12, each part kept within 16 bits:
    gate = sat16(sat16(scaled(bias + Σ x·w_x)) + sat16(scaled(Σ h·w_h)))    zero points folded into biases
with `fixed.tflm_scaled` of 32-bit sums, or of int16 `fixed.tflm_scaled_wide` of 64-bit sums. Then
    c = sat16(scaled(f·c) + scaled(i·g)), kept within ±clip
    h = clamp(zh + scaled(o·tanh(c)))
where i, f and o are sigmoids and g a tanh (`pointwise/tflm_curve.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pilotlight import fixed
from pilotlight.codegen.step import Fields, Step
from pilotlight.graph import INT16, Node, Quant
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.pointwise.tflm_curve import curve_input, logistic, sigmoid_table, tanh
from pilotlight.ops.spec import NodeSpec, narrow, wide

GATE_SCALE = 2.0**-12
CURVE_SCALE = 2.0**-15
FACTORS = ("tanh", "forget", "update", "out")  # (q, shift) each


def _sat16(v: np.ndarray) -> np.ndarray:
    return np.clip(v, -32768, 32767)


@register
class TflmLstm(Op):
    """inputs: x (T, N, I), or (N, T, I) with attrs["batch_first"], h (N, H) of x's type, c int16 (N, H), w_x (H, I, 4),
    w_h (H, H, 4) with the gates i, f, g, o side by side, biases (H, 2, 4) int32 of x and h, or (H, 4) int64 for
    int16, gates int32 (4, 4): q and shift for x, then for h, and the curve; outputs: y, h, c. further attrs: clip, zh,
    lo, hi and FACTORS."""

    name = "tflm_lstm"
    called = "lstm"

    def _sizes(self, node: Node) -> tuple[int, int, int, int]:
        """Steps, batch, input, hidden."""
        first, second, width = node.inputs[0].shape
        steps, batch = (second, first) if node.attrs["batch_first"] else (first, second)
        return steps, batch, width, node.inputs[1].shape[1]

    def infer(self, node: Node) -> Result:
        _, batch, _, hidden = self._sizes(node)
        dtype = node.inputs[0].dtype
        return [(dtype, (*node.inputs[0].shape[:2], hidden)), (dtype, (batch, hidden)), (INT16, (batch, hidden))]

    def macs(self, node: Node) -> int:
        steps, batch, width, hidden = self._sizes(node)
        return steps * batch * 4 * hidden * (width + hidden)

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        a, dtype = node.attrs, node.inputs[0].dtype.numpy.type
        x, h, c, w_x, w_h, biases, gates, curve = (wide(v) for v in args)
        x = x.swapaxes(0, 1) if a["batch_first"] else x
        narrow_sums = biases.ndim == 3
        bias_x, bias_h = (biases[:, 0], biases[:, 1]) if narrow_sums else (biases, np.zeros_like(biases))

        def scaled(sums: np.ndarray, q: np.ndarray, shift: np.ndarray) -> np.ndarray:
            made = fixed.tflm_scaled(fixed.int32(sums), q, shift) if narrow_sums \
                else fixed.tflm_scaled_wide(sums, q, shift)
            return _sat16(made)

        def product(name: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
            return fixed.tflm_scaled(left * right, *a[name])

        outputs = []
        for row in x:
            from_x = scaled(np.einsum("ni,hig->nhg", row, w_x) + bias_x, gates[:, 0], gates[:, 1])
            from_h = scaled(np.einsum("ni,hig->nhg", h, w_h) + bias_h, gates[:, 2], gates[:, 3])
            i, f, g, o = np.moveaxis(3 * _sat16(from_x + from_h), -1, 0)
            i, f, g, o = logistic(curve, i), logistic(curve, f), tanh(curve, g), logistic(curve, o)
            c = _sat16(_sat16(product("forget", f, c)) + _sat16(product("update", i, g)))
            c = np.clip(c, -a["clip"], a["clip"]) if a["clip"] > 0 else c
            h = np.clip(product("out", tanh(curve, curve_input(c, *a["tanh"])), o) + a["zh"], a["lo"], a["hi"])
            outputs.append(h)
        y = np.stack(outputs, axis=1 if a["batch_first"] else 0)
        return narrow(y, dtype), narrow(h, dtype), narrow(c, np.int16)

    def emit(self, node: Node, c: Step) -> None:
        a, (steps, batch, width, hidden) = node.attrs, self._sizes(node)
        fields: dict[str, Any] = {"steps": steps, "batch": batch, "input": width, "hidden": hidden}
        for letter, size in (("x", width), ("y", hidden)):
            along_steps, along_batch = (1, steps) if a["batch_first"] else (batch, 1)
            fields |= {f"{letter}_step": along_steps * size, f"{letter}_batch": along_batch * size}
        factors: Fields = {name: {"q": a[name][0], "shift": a[name][1]} for name in FACTORS}
        limits = {name: a[name] for name in ("zh", "lo", "hi")}
        c.use("q_tflm_lstm")
        table = c.table("pl_q_tflm_lstm_t", "lstm", {**fields, "clip": a["clip"], **factors, **limits})
        *values, gates, curve = node.inputs
        inputs = [*(c.read(v) for v in values), c.read(gates, "pl_q_tflm_gate_t"), c.read(curve)]
        kernel = "pl_q_tflm_lstm" + ("_s16" if node.inputs[0].dtype == INT16 else "")
        c.call(kernel, table, *inputs, *(c.write(v) for v in node.outputs))


@dataclass(frozen=True)
class LstmScales:
    """What the integers of an LSTM stand for; weights have a scale for each gate, in the order i, f, g, o."""

    x: Quant
    h: Quant
    cell: float
    w_x: tuple[float, ...]
    w_h: tuple[float, ...]


def _factor(scale: float) -> tuple[int, int]:
    (q,), (shift,) = fixed.tflm_multiplier(scale)
    return int(q), int(shift)


def make_tflm_lstm(
    scales: LstmScales, w_x: np.ndarray, w_h: np.ndarray, bias: np.ndarray, clip: float, power: int, *, bits: int,
    batch_first: bool,
) -> NodeSpec:
    """w_x (4, H, I), w_h (4, H, H) and bias (4, H) of the gates i, f, g, o; the scale of the cell is about 2^power."""
    rows = []
    for k in range(4):
        pair = [
            x * w / GATE_SCALE
            for x, w in ((scales.x.scale, scales.w_x[k]), (scales.h.scale, scales.w_h[k]))
        ]
        q, shift = fixed.tflm_multiplier(np.array(pair))
        q = fixed.tflm_reduced(q) if bits == 16 else q
        rows.append([q[0], shift[0], q[1], shift[1]])
    biases = bias.astype(np.int64).T
    if bits == 8:
        folded = [
            b - q.zero_point * w.astype(np.int64).sum(axis=2).T
            for b, q, w in ((biases, scales.x, w_x), (np.zeros_like(biases), scales.h, w_h))
        ]
        biases = fixed.int32(np.stack(folded, axis=1)).astype(np.int32)
    up = 12 + power
    low, high = (-128, 127) if bits == 8 else (-32768, 32767)
    attrs = {
        "batch_first": batch_first, "clip": int(min(max(clip / scales.cell, -32768.0), 32767.0)),
        "tanh": (3 << up, 0) if up >= 0 else (3, -up),
        "forget": _factor(CURVE_SCALE * scales.cell / scales.cell),
        "update": _factor(CURVE_SCALE * CURVE_SCALE / scales.cell),
        "out": _factor(CURVE_SCALE * CURVE_SCALE / scales.h.scale),
        "zh": scales.h.zero_point, "lo": low, "hi": high,
    }
    constants = (
        np.ascontiguousarray(w_x.transpose(1, 2, 0)), np.ascontiguousarray(w_h.transpose(1, 2, 0)),
        np.ascontiguousarray(biases), np.array(rows, np.int32), sigmoid_table(),
    )
    return NodeSpec("tflm_lstm", attrs, constants)
