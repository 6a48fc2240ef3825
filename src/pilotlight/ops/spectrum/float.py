"""Frames of a signal, their spectra, and what features make of these, frame by frame: the node `spectrum`.

`pilotlight::spectrum` (`pilotlight/nn/spectrum.py`) says what it computes. The transform is one of the kernels for
`rfft`; only one frame's spectrum is in memory at a time, and a filter is summed where its weights are not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import pilotlight.nn.spectrum as definition
from pilotlight.codegen.step import Step, c_float
from pilotlight.codegen.target import Target
from pilotlight.graph import FLOAT32, Graph, Node, Value
from pilotlight.graph.builder import Builder
from pilotlight.kernels.candidate import Candidate
from pilotlight.kernels.layers import TransformLayer
from pilotlight.kernels.registry import candidates
from pilotlight.ops.base import Op, Result, lowers, register
from pilotlight.ops.quantizing import OwnScale, Treatment


@register
class Spectrum(Op):
    """attrs: n, hop, power, filters (0: no bank), offset (None: no logarithm); inputs x (..., T), window (length,) with
    its scale, and a bank (n/2 + 1, filters) or nothing."""

    name = "spectrum"

    def frames(self, node: Node) -> int:
        a = node.attrs
        return 1 + int((node.inputs[0].shape[-1] - a["n"]) // a["hop"])

    def width(self, node: Node) -> int:
        """Numbers of a frame's result."""
        return int(node.attrs["filters"] or node.attrs["n"] // 2 + 1)

    def infer(self, node: Node) -> Result:
        return [(FLOAT32, (*node.inputs[0].shape[:-1], self.frames(node), self.width(node)))]

    def reference(self, node: Node, args: list[torch.Tensor]) -> torch.Tensor:
        a, bank = node.attrs, args[2] if len(args) > 2 else None
        return definition._composed(args[0], args[1], bank, a["n"], a["hop"], 1.0, a["power"], a["offset"])

    def describe(self, node: Node) -> str:
        a = node.attrs
        return f"{self.group(node)} of {a['n']} points, hop {a['hop']}"

    def group(self, node: Node) -> str:
        log = "log " if node.attrs["offset"] is not None else ""
        return log + ("filter bank" if node.attrs["filters"] else "spectrum")

    def candidates(self, node: Node, target: Target) -> list[Candidate]:
        """The transforms of one frame."""
        n = node.attrs["n"]
        window = node.inputs[1].data
        assert window is not None
        padded = np.zeros(n, np.float32)
        padded[(n - len(window)) // 2 :][: len(window)] = window
        return candidates(TransformLayer("rfft", n, n // 2 + 1, x_point=1, window=padded), target)

    def take(self, node: Node, graph: Graph, candidate: Candidate) -> None:
        bank = node.inputs[2].data if len(node.inputs) > 2 else None
        packed = [graph.constant(c, "packed") for c in candidate.constants]
        if bank is not None:
            bands, weights = pack(bank)
            packed += [graph.constant(bands, "bands"), graph.constant(weights, "weights")]
        node.attrs["candidate"] = candidate
        node.inputs = [node.inputs[0], *packed]

    def scratch(self, node: Node) -> int:
        return _spectrum_bytes(node) + int(node.attrs["candidate"].scratch)

    def emit(self, node: Node, c: Step) -> None:
        kernel: Candidate = node.attrs["candidate"]
        a, x = node.attrs, node.inputs[0]
        count, bins, samples = len(kernel.ctypes), a["n"] // 2 + 1, x.shape[-1]
        c.use(*kernel.headers, "spectrum_f32" if a["power"] == 2.0 else "spectrum_power_f32", "spectrum_f32")
        c.bring(kernel.files, kernel.stack)
        c.micro |= kernel.micro
        table = c.table(kernel.ctype, kernel.hint, kernel.table(False))
        reads = [c.read(v, ctype) for v, ctype in zip(node.inputs[1:], kernel.ctypes, strict=False)]
        more = [f"({kernel.scratch_type} *)(void *)&spectrum[{_spectrum_bytes(node) // 4}]"] if kernel.scratch else []
        frames, width = self.frames(node), self.width(node)
        with c.block(f"for (int32_t row = 0; row < {x.elements // samples}; row++)"), \
                c.block(f"for (int32_t frame = 0; frame < {frames}; frame++)"):
            c.line(f"const float *const x = {c.read(x)};")
            c.line(f"float *const results = {c.write(node.output)};")
            c.line(f"float *const y = &results[((row * {frames}) + frame) * {width}];")
            c.line(f"float *const spectrum = {c.scratch()};")
            start = f"&x[(row * {samples}) + (frame * {a['hop']})]"
            c.call(kernel.driver, table, start, *reads, "spectrum", *more, *kernel.more)
            energies = "spectrum" if a["filters"] else "y"
            if a["power"] == 2.0:
                c.call("pl_spectrum_energy_f32", bins, "spectrum", energies)
            else:
                c.call("pl_spectrum_power_f32", bins, c_float(a["power"]), "spectrum", energies)
            if a["filters"]:
                bands = [c.read(v) for v in node.inputs[1 + count :]]
                c.call("pl_spectrum_bands_f32", a["filters"], bins, "spectrum", *bands, "y")
            if a["offset"] is not None:
                c.call("pl_spectrum_log_f32", width, c_float(a["offset"]), "y")


def _spectrum_bytes(node: Node) -> int:
    return 8 * (int(node.attrs["n"]) // 2 + 1)


def spans(bank: npt.NDArray[Any]) -> list[tuple[int, int]]:
    """Of each filter (bins, filters) the first bin with a weight, and the one after the last."""
    inside = [np.flatnonzero(column) for column in bank.T]
    return [(int(k[0]), int(k[-1]) + 1) if k.size else (0, 0) for k in inside]


def pack(bank: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.float32]]:
    """(bins, filters) as first bin and number of bins of each filter, and the weights in between."""
    found = spans(bank)
    weights = np.concatenate([bank[first:end, i] for i, (first, end) in enumerate(found)])
    bands = np.array([(first, end - first) for first, end in found], np.int16)
    return bands, weights if weights.size else np.zeros(1, np.float32)  # a constant is never empty


@lowers("pilotlight.spectrum.default", quantized=Treatment(OwnScale(), activations=1, samples=True))
def spectrum(
    b: Builder, x: Value, window: Value, bank: Value | None, n_fft: int, hop: int, scale: float, power: float,
    offset: float | None,
) -> Value:
    scaled = b.need_constant(window, "the window of a spectrum").astype(np.float32) * np.float32(scale)
    inputs = [x, b.constant(scaled, FLOAT32)]
    if bank is not None:
        inputs.append(b.constant(b.need_constant(bank, "the filter bank of a spectrum"), FLOAT32))
    filters = 0 if bank is None else bank.shape[1]
    return b.node("spectrum", inputs, n=n_fft, hop=hop, power=power, filters=filters, offset=offset)
