"""log(mel + offset) of 16-bit samples as int8: the node `qlog_mel`, in which no number is a float.

x (..., T) int16 of scale sx, window (L) int16, w = rint(32767 · window / largest), `first` its place among n points;
bands int16: of each filter its first bin, an even number of bins, and their weights rint(32767 · weight / largest
weight). For each frame of samples f, with bits(v) the number of binary digits of v and `>>` rounding down:

    c = clamp(bits(OR over j of f[2j]² + f[2j+1]²) + 1 >> 1, 1, 15),  u = 15 - c
    v = (f · w + 2^(c-1)) >> c, and 0 outside the window
    b, e = rfft_s16(v)                                          int16 bins, one exponent: ops/fft/int16.py
    p = b.re² + b.im²,  E = 2 · (e - u)                         energies p · 2^E, below 2^30 · 2^E
    k = power - E,  d = max(k - 31, 0)
    o = offset · 2^(k - d), rounded half up; 0 where k <= -32   `offset` and `power` are the offset over K
    s = max((Σ p · weight >> d) + o, 1)                         64 bits, over the bins of a filter
    l = log2(s) · 2^16 + bias + (E + d) · 2^16                  bias = rint(2^16 · log2(K))
    y = clamp(zy + rhmul(l << shift, m))                        m for ln(2) / 2^16 / sy

K, the energy that one unit stands for, is (sx · scale · largest / 32767 · 2^15)² · (largest weight / 32767). With t the
number of the highest bit of s and f the 16 bits after it,

    log2(s) · 2^16 = t · 2^16 + f + (((f · (2^16 - f) >> 16) · (28761 - (f · (15691 - (f · 5407 >> 16)) >> 16))) >> 16)

which is within 2^-12.9 of the logarithm. How near y is to float: docs/signals.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pilotlight.codegen.step import Step
from pilotlight.codegen.target import Target
from pilotlight.errors import PilotlightError
from pilotlight.fixed import INT8 as LIMITS
from pilotlight.graph import INT8, INT16, Graph, Node, Quant
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.portable.rfft_s16 import RfftS16Layer, can_transform
from pilotlight.kernels.registry import candidates
from pilotlight.ops.base import Op, Result, register
from pilotlight.ops.fft.int16 import rfft_s16
from pilotlight.ops.forms import Integer, form
from pilotlight.ops.spec import Limits, NodeSpec, narrow, output_attrs, quant_of, requantize_table, requantized
from pilotlight.ops.spectrum.float import spans

Numbers = npt.NDArray[np.int64]
TOP = 32767  # of window and weights
LARGEST_LOG = 1 << 24  # of log2 with its bias, in units of 2^-16


@register
class QLogMel(Op):
    """attrs: n, hop, first, mels, offset, power, bias, m, zy, shift, lo, hi; inputs x, window, bands, and with a kernel
    the table of the transform."""

    name = "qlog_mel"
    called = "log mel"

    def frames(self, node: Node) -> int:
        a = node.attrs
        return 1 + int((node.inputs[0].shape[-1] - a["n"]) // a["hop"])

    def infer(self, node: Node) -> Result:
        return [(INT8, (*node.inputs[0].shape[:-1], self.frames(node), node.attrs["mels"]))]

    def describe(self, node: Node) -> str:
        a = node.attrs
        return f"{a['mels']} log mels of {a['n']} points, hop {a['hop']}"

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        x, window, bands = (t.numpy() for t in args[:3])
        a, frames = node.attrs, self.frames(node)
        starts = a["first"] + a["hop"] * np.arange(frames)
        f = x[..., starts[:, None] + np.arange(len(window))].astype(np.int64)
        even = np.pad(f, [(0, 0)] * (f.ndim - 1) + [(0, f.shape[-1] % 2)])
        seen = np.bitwise_or.reduce(even[..., ::2] ** 2 + even[..., 1::2] ** 2, axis=-1)
        down = np.clip((bits(seen) + 1) >> 1, 1, 15)[..., None]
        v = np.zeros((*f.shape[:-1], a["n"]), np.int16)
        v[..., a["first"] : a["first"] + len(window)] = (f * window + ((1 << down) >> 1)) >> down
        bins, exponent = rfft_s16(v)
        energies = np.pad((bins.astype(np.int64) ** 2).sum(axis=-1), [(0, 0)] * (f.ndim - 1) + [(0, 1)])
        sums = np.stack([energies[..., k : k + len(w)] @ w for k, w in filters(bands)], axis=-1)
        return narrow(logs(sums, 2 * (exponent.astype(np.int64)[..., None] - (15 - down)), a))

    def candidates(self, node: Node, target: Target) -> list[Candidate]:
        """The transforms of one frame."""
        return candidates(RfftS16Layer(1, node.attrs["n"]), target)

    def take(self, node: Node, graph: Graph, candidate: Candidate) -> None:
        node.attrs["candidate"] = candidate
        node.inputs = [*node.inputs[:3], *(graph.constant(c, "packed") for c in candidate.constants)]

    def scratch(self, node: Node) -> int:
        return -(-(4 * int(node.attrs["n"]) + 8) // 8) * 8

    def emit(self, node: Node, c: Step) -> None:
        a, (x, window, bands, turns) = node.attrs, node.inputs
        kernel: Candidate = a["candidate"]
        c.use(*kernel.headers, "q_log_mel")
        c.micro |= kernel.micro
        fields = {
            "rows": x.elements // x.shape[-1], "samples": x.shape[-1], "frames": self.frames(node), "hop": a["hop"],
            "n": a["n"], "first": a["first"], "length": window.elements,
            **{k: a[k] for k in ("mels", "offset", "power", "bias", "m")}, "out": requantize_table(a),
        }
        struct = c.table("pl_q_log_mel_t", "log_mel", fields)
        reads = [c.read(v) for v in (x, window, turns, bands)]
        c.call("pl_q_log_mel", struct, *reads, c.write(node.output), c.scratch("int16_t"))


def bits(v: Numbers) -> Numbers:
    """The number of binary digits, at most 53."""
    return np.asarray(np.frexp(v.astype(np.float64))[1], np.int64)


def filters(bands: npt.NDArray[np.int16]) -> list[tuple[int, Numbers]]:
    """The first bin and the weights of each filter."""
    found, at = [], 0
    while at < len(bands):
        first, count = int(bands[at]), int(bands[at + 1])
        found.append((first, bands[at + 2 : at + 2 + count].astype(np.int64)))
        at += 2 + count
    return found


def logs(sums: Numbers, exponent: Numbers, a: dict[str, Any]) -> Numbers:
    """Weighted energies, and the exponents of their frames, as results."""
    k = a["power"] - exponent
    down = np.maximum(k - 31, 0)
    k = k - down
    right = np.clip(-k, 0, 62)
    rounded = (a["offset"] + ((1 << right) >> 1)) >> right
    offset = np.where(k <= -32, 0, np.where(k < 0, rounded, a["offset"] << np.maximum(k, 0)))
    s = np.maximum((sums >> np.minimum(down, 63)) + offset, 1)
    return requantized(log2(s) + a["bias"] + ((exponent + down) << 16), a["m"], a)


def log2(s: Numbers) -> Numbers:
    """log2(s) · 2^16."""
    top = np.array([int(v).bit_length() - 1 for v in s.reshape(-1)], np.int64).reshape(s.shape)
    f = np.where(top >= 16, s >> np.maximum(top - 16, 0), s << np.maximum(16 - top, 0)) & 0xFFFF
    curve = 28761 - ((f * (15691 - ((f * 5407) >> 16))) >> 16)
    return (top << 16) + f + ((((f * (65536 - f)) >> 16) * curve) >> 16)


def make_qlog_mel(
    x: Quant, y: Quant, window: np.ndarray, bank: np.ndarray, n: int, hop: int, offset: float, limits: Limits = LIMITS
) -> NodeSpec:
    """`window` (length,) float, with its scale, in the middle of n points; `bank` (n/2 + 1, mels) float."""
    largest, heaviest = float(np.abs(window).max()), float(bank.max())
    if not can_transform(n) or largest == 0 or heaviest == 0 or bank.min() < 0 or x.zero_point:
        raise PilotlightError(
            f"log mels of {n} points have no integer form here; expected an even number with no prime factor but 2, 3 "
            "and 5, weights that are not negative, and neither they nor the window all 0",
            hint="choose a power of two as n_fft, or keep the layer in float", kind="unsupported",
        )
    weights = np.rint(TOP / heaviest * bank.astype(np.float64)).astype(np.int64)
    unit = (x.scale * largest / TOP * 2.0**15) ** 2 * (heaviest / TOP)
    fraction, exponent = math.frexp(offset / unit)
    bias = round(math.log2(unit) * 65536)
    if abs(bias) > LARGEST_LOG // 2 or not -256 < exponent < 256:
        raise PilotlightError(
            f"log mels with an offset of {offset:g} times the energy of one step have no integer form",
            hint="scale samples to -1..1", kind="unsupported",
        )
    attrs = {
        "n": n, "hop": hop, "first": (n - len(window)) // 2, "mels": bank.shape[1],
        "offset": min(round(fraction * 2**31), 2**31 - 1), "power": exponent - 31, "bias": bias,
        **output_attrs(math.log(2.0) / 65536 / y.scale, LARGEST_LOG, y.zero_point, limits),
    }
    packed = np.rint(TOP / largest * window.astype(np.float64)).astype(np.int16)
    return NodeSpec("qlog_mel", attrs, (packed, pack_bands(weights)))


def pack_bands(weights: Numbers) -> npt.NDArray[np.int16]:
    """(bins, mels) as, of each filter, its first bin, the number of its bins, and their weights, with one of 0 after an
    odd number."""
    parts: list[Numbers] = []
    for i, (first, end) in enumerate(spans(weights)):
        odd = (end - first) % 2
        parts += [np.array([first, end - first + odd]), weights[first:end, i], np.zeros(odd, np.int64)]
    return np.concatenate(parts).astype(np.int16)


@form("spectrum", width=16, narrows=True)
def log_mel_form(q: Integer) -> list[Node] | None:
    """Logarithms of energies through a filter bank, as int8."""
    a, x = q.node.attrs, q.inputs[0]
    if q.dtype != INT8 or x.dtype != INT16 or len(q.inputs) < 3 or a["offset"] is None or a["power"] != 2.0:
        return None
    window, bank = (v.data for v in q.inputs[1:])
    assert window is not None and bank is not None
    spec = make_qlog_mel(quant_of(x), q.quant, window, bank, a["n"], a["hop"], a["offset"], q.limits)
    return [q.build(spec, x)]
