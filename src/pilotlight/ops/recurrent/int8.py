"""LSTM and GRU of int8: int8 weights, int8 in and out, 16-bit state; one node per layer and direction.

A gate of a unit, in units of 2^-12:
    from_x = rhmul((bias_x + Σ x·w_x)·up_x, m_x),  m_x = rint(sx·s_wx·2^12 · 2^32 / up_x)      per gate and unit
    from_h = rhmul((bias_h + Σ h·w_h)·up_h, m_h),  zero points folded into the biases
    gate   = sat16(from_x + from_h)
Sigmoid and tanh come in units of 2^-15 from tables of 257, linear in between.
LSTM: c = sat16((f·c + 2^14 >> 15) + (i·g + half >> 30 - state)), in units of 2^-state
      h = (o·tanh(sat16(c·2^(12-state))) + 2^14) >> 15,                        y = clamp((h·out + begin) >> shift)
GRU:  n = tanh(sat16(from_x + (r·from_h + 2^14 >> 15))),  from_h within ±65535
      h = sat16((z·h + 2^14 >> 15) + ((2^15 - z)·n + 2^15 >> 16)), in units of 2^-14,  y likewise
Products see the int8 h, the update of the state its 16 bits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from pilotlight.codegen.step import Step
from pilotlight.fixed import check_accumulator, multiplier, rhmul, weight_scale
from pilotlight.graph import INT8, INT16, Node, Quant
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.spec import NodeSpec, narrow, quant_of, requantizer, terms, wide

HALF = 1 << 14
CELL = Quant(2.0**-11, 0)  # of an LSTM's cell, which stays within ±16
KEPT = Quant(2.0**-14, 0)  # of a GRU's state as its update has it


def sat16(v: np.ndarray) -> np.ndarray:
    return np.clip(v, -32768, 32767)


def curves() -> np.ndarray:
    """Sigmoid and tanh from -8 to 8 in steps of 1/16, times 2^15."""
    x = np.arange(-128, 129) / 16.0
    both = np.stack([1.0 / (1.0 + np.exp(-x)), np.tanh(x)])
    return np.clip(np.rint(both * 32768.0), -32768, 32767).astype(np.int16)


def curve(table: np.ndarray, v: np.ndarray) -> np.ndarray:
    at = (v + 32768) >> 8
    return table[at] + (((table[at + 1] - table[at]) * (v & 255) + 128) >> 8)


class QRecurrent(Op):
    """inputs: x (T, N, I), or (N, T, I) with attrs["batch_first"], the initial states (N, H) if attrs["initial"], then
    w_x (H, I, G), w_h (H, H, G), gates (H, G, 4), curves (2, 257); outputs: y and the final states (N, H), h as y's
    int8 and an LSTM's cell as int16 in units of 2^-state. further attrs: hidden, reverse, zh, up_x, up_h, state,
    state_up, out, begin, shift; carried: of a GRU, the states are those of an earlier run, h as int16."""

    gates = 0
    kernel = ""

    def _sizes(self, node: Node) -> tuple[int, int, int, int]:
        """Steps, batch, input, hidden."""
        first, second, width = node.inputs[0].shape
        steps, batch = (second, first) if node.attrs["batch_first"] else (first, second)
        return steps, batch, width, node.attrs["hidden"]

    def infer(self, node: Node) -> Result:
        _, batch, _, hidden = self._sizes(node)
        cell = [(INT16, (batch, hidden))] if self.gates == 4 else []
        final = INT16 if self.gates == 3 and node.attrs.get("carried") else INT8
        return [(INT8, (*node.inputs[0].shape[:2], hidden)), (final, (batch, hidden)), *cell]

    def macs(self, node: Node) -> int:
        steps, batch, width, hidden = self._sizes(node)
        return steps * batch * self.gates * hidden * (width + hidden)

    def reference(self, node: Node, args: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        a, (_, batch, _, hidden) = node.attrs, self._sizes(node)
        x, *initial, w_x, w_h, gates, tables = (wide(v) for v in args)
        x = x.swapaxes(0, 1) if a["batch_first"] else x
        h = initial[0] if initial else np.full((batch, hidden), a["zh"], np.int64)
        state = self.begin(node, h, initial)
        if self.gates == 3 and a.get("carried"):
            state, h = h, self.hidden(node, h)
        outputs = np.empty((*x.shape[:2], hidden), np.int64)
        order = range(len(x))
        for t in reversed(order) if a["reverse"] else order:
            sums_x = np.einsum("ni,hig->nhg", x[t], w_x) + gates[..., 0]
            sums_h = np.einsum("ni,hig->nhg", h, w_h) + gates[..., 2]
            from_x, from_h = rhmul(sums_x * a["up_x"], gates[..., 1]), rhmul(sums_h * a["up_h"], gates[..., 3])
            state, real = self.step(node, from_x, from_h, tables, state)
            h = self.hidden(node, real)
            outputs[t] = h
        y = outputs.swapaxes(0, 1) if a["batch_first"] else outputs
        cell = (narrow(state, np.int16),) if self.gates == 4 else ()
        final = narrow(state, np.int16) if self.gates == 3 and a.get("carried") else narrow(h)
        return narrow(y), final, *cell

    def hidden(self, node: Node, real: np.ndarray) -> np.ndarray:
        """h as int8."""
        a = node.attrs
        return np.clip((real * a["out"] + a["begin"]) >> a["shift"], -128, 127)

    def begin(self, node: Node, h: np.ndarray, initial: list[np.ndarray]) -> np.ndarray:
        """The 16-bit state before the first step."""
        raise NotImplementedError

    def step(
        self, node: Node, x: np.ndarray, h: np.ndarray, tables: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The state after one step, and h before it becomes int8; x and h (N, H, G)."""
        raise NotImplementedError

    def emit(self, node: Node, c: Step) -> None:
        a, (steps, batch, width, hidden) = node.attrs, self._sizes(node)
        fields: dict[str, Any] = {"steps": steps, "batch": batch, "input": width, "hidden": hidden}
        for letter, size in (("x", width), ("y", hidden)):
            along_steps, along_batch = (1, steps) if a["batch_first"] else (batch, 1)
            fields |= {f"{letter}_step": along_steps * size, f"{letter}_batch": along_batch * size}
        names = ("reverse", "zh", "up_x", "up_h", "state", "state_up", "out", "begin", "shift")
        c.use(f"q_{self.kernel}")
        table = c.table("pl_q_recurrent_t", self.kernel, fields | {k: a[k] for k in names})
        x, *initial, w_x, w_h, gates, tables = node.inputs
        constants = (c.read(w_x), c.read(w_h), c.read(gates, "pl_q_gate_t"), c.read(tables))
        states = [c.read(v) for v in initial] or ["0"] * (len(node.outputs) - 1)
        carried = self.gates == 3 and a.get("carried")
        scratch = [c.scratch("int8_t" if carried else "int16_t")] if self.scratch(node) else []
        outputs = (c.write(v) for v in node.outputs)
        function = f"pl_q_{self.kernel}{'_carried' if carried else ''}"
        c.call(function, table, c.read(x), *constants, *states, *outputs, *scratch)


@register
class QLstm(QRecurrent):
    """The gates are i, f, g, o; the 16-bit state is the cell."""

    name = "qlstm"
    called = "lstm"
    gates = 4
    kernel = "lstm"

    def begin(self, node: Node, h: np.ndarray, initial: list[np.ndarray]) -> np.ndarray:
        return initial[1] if initial else np.zeros_like(h)

    def step(
        self, node: Node, x: np.ndarray, h: np.ndarray, tables: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        bits = node.attrs["state"]
        i, f, g, o = np.moveaxis(sat16(x + h), -1, 0)
        i, f, o = (curve(tables[0], v) for v in (i, f, o))
        fresh = (i * curve(tables[1], g) + (1 << (29 - bits))) >> (30 - bits)
        cell = sat16(((f * state + HALF) >> 15) + fresh)
        return cell, (o * curve(tables[1], sat16(cell * node.attrs["state_up"])) + HALF) >> 15


@register
class QGru(QRecurrent):
    """The gates are r, z, n; the 16-bit state is h."""

    name = "qgru"
    called = "gru"
    gates = 3
    kernel = "gru"

    def scratch(self, node: Node) -> int:
        return 2 * node.attrs["hidden"]

    def begin(self, node: Node, h: np.ndarray, initial: list[np.ndarray]) -> np.ndarray:
        return sat16(rhmul((h - node.attrs["zh"]) * node.attrs["state_up"], node.attrs["state"]))

    def step(
        self, node: Node, x: np.ndarray, h: np.ndarray, tables: np.ndarray, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        r, z = (curve(tables[0], sat16(x[..., k] + h[..., k])) for k in (0, 1))
        n = curve(tables[1], sat16(x[..., 2] + ((r * np.clip(h[..., 2], -65535, 65535) + HALF) >> 15)))
        kept = sat16(((z * state + HALF) >> 15) + (((32768 - z) * n + 32768) >> 16))
        return kept, kept


def _rows(
    weight: np.ndarray, bias: np.ndarray, x: Quant
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Per row: int8 weights, the bias with the zero point folded in, the multiplier; and the common factor."""
    scale = weight_scale(weight, bias, x.scale)
    quantized = np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8)
    offset = np.rint(bias / (x.scale * scale)).astype(np.int64)
    m = multiplier(x.scale * scale * 4096.0)
    check_accumulator(quantized, offset, m.shift, 256)
    return quantized, offset - x.zero_point * quantized.astype(np.int64).sum(axis=1), m.value, 1 << m.shift


def _make(
    op: str, gates: int, x: Quant, y: Quant, w_x: np.ndarray, w_h: np.ndarray, biases: np.ndarray,
    attrs: dict[str, Any],
) -> NodeSpec:
    hidden = w_h.shape[1]
    rows_x, rows_h = _rows(w_x, biases[0], x), _rows(w_h, biases[1], y)
    packed = [r[0].reshape(gates, hidden, -1).transpose(1, 2, 0) for r in (rows_x, rows_h)]
    numbers = np.stack([rows_x[1], rows_x[2], rows_h[1], rows_h[2]], axis=1).astype(np.int32)  # (G * H, 4)
    packed.append(numbers.reshape(gates, hidden, 4).transpose(1, 0, 2))
    common = {"hidden": hidden, "zh": y.zero_point, "up_x": rows_x[3], "up_h": rows_h[3]}
    return NodeSpec(op, {**common, **attrs}, (*(np.ascontiguousarray(p) for p in packed), curves()))


def make_qlstm(
    x: Quant, y: Quant, w_x: np.ndarray, w_h: np.ndarray, biases: np.ndarray | None, *, cell: float = 16.0,
    reverse: bool = False, batch_first: bool = False, initial: bool = False,
) -> NodeSpec:
    """PyTorch's float weights (4H, I), (4H, H) and biases (2, 4H); h has y's scale, the cell stays within ±`cell`."""
    both = np.zeros((2, len(w_x))) if biases is None else np.asarray(biases, np.float64)
    both = np.stack([both.sum(axis=0), np.zeros(len(w_x))])
    bits = int(np.clip(15 - np.ceil(np.log2(max(cell, 1.0))), 4, 12))
    t = terms((2.0**-15 / y.scale,), (32768,), y.zero_point)
    attrs = {
        "state": bits, "state_up": 1 << (12 - bits), "out": t.factors[0], "begin": t.offset, "shift": t.shift,
        "reverse": bool(reverse), "batch_first": bool(batch_first), "initial": bool(initial),
    }
    return _make("qlstm", 4, x, y, np.asarray(w_x, np.float64), np.asarray(w_h, np.float64), both, attrs)


def make_qgru(
    x: Quant, y: Quant, w_x: np.ndarray, w_h: np.ndarray, biases: np.ndarray | None, *, reverse: bool = False,
    batch_first: bool = False, initial: bool = False, carried: bool = False,
) -> NodeSpec:
    """PyTorch's float weights (3H, I), (3H, H) and biases (2, 3H); h has y's scale."""
    both = np.zeros((2, len(w_x))) if biases is None else np.asarray(biases, np.float64)
    t = terms((2.0**-14 / y.scale,), (32768,), y.zero_point)
    state = requantizer(y.scale * 2.0**14, 255)
    attrs = {
        "state": int(state.value[0]), "state_up": 1 << state.shift, "out": t.factors[0], "begin": t.offset,
        "shift": t.shift, "reverse": bool(reverse), "batch_first": bool(batch_first), "initial": bool(initial),
    }
    if carried:
        attrs["carried"] = True
    return _make("qgru", 3, x, y, np.asarray(w_x, np.float64), np.asarray(w_h, np.float64), both, attrs)


@form("lstm", "gru", width=8)
def recurrent(q: Integer) -> list[Node] | None:
    """int8 weights and outputs; the LSTM's cell in int16."""
    a, (x, *rest) = q.node.attrs, q.inputs
    count = 2 + bool(a["bias"])
    weights, states = rest[:count], rest[count:]
    if q.dtype != INT8 or x.dtype != INT8 or any(not v.is_constant for v in weights):
        return None
    w_x, w_h, *biases = (np.asarray(v.data) for v in weights)
    carried = q.node.op == "gru" and a.get("carried", False)
    make = make_qlstm if q.node.op == "lstm" else partial(make_qgru, carried=carried)
    spec = make(
        quant_of(x), q.quant, w_x, w_h, biases[0] if a["bias"] else None, reverse=a["reverse"],
        batch_first=a["batch_first"], initial=bool(states),
    )
    made = q.build(spec, x, *states)
    for out, quant in zip(made.outputs[1:], (KEPT if carried else q.quant, CELL), strict=False):
        out.quant = quant
    return [made]
