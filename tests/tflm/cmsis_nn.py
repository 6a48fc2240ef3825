"""CMSIS-NN itself against TFLM: random layers, and the networks of MLPerf Tiny: `make cmsis-nn CMSIS_NN=DIR`.

    python -m tests.tflm.cmsis_nn DIR --count 40 --board mps2-an386

A model has several layers that share nothing, so that few images run many layers. Layers that are refused are computed
by our own kernels; they are counted by reason. TFLite pads evenly or not at all: convolutions and pooling with any
other padding are PyTorch's, and are compared with our own kernels.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from tests.support.tflite_random import CASES
from tests.support.tflite_random.draw import Draw
from tests.tflm.compare import inputs_for
from torch import nn

import pilotlight as pl
from pilotlight.backends.cmsis_nn import scratch
from pilotlight.backends.cmsis_nn.scratch import Core, Window
from pilotlight.capture.tflite.capture import capture_model
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.graph import Graph

OPERATORS = (
    "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D", "AVERAGE_POOL_2D", "ADD", "MUL", "SOFTMAX")
BOARDS = ("host", "mps2-an385", "mps2-an386", "mps3-an547")
LAYERS = 16  # in a model
NETWORKS = ("kws", "vww", "ic", "ad")


def layers(seed: int, count: int, names: tuple[str, ...]) -> bytes:
    """A file of random layers, one operator after the other."""
    draw = Draw(seed, names[0])
    for number in range(count):
        draw.name = names[number % len(names)]
        CASES["INT8"][draw.name](draw)
    return draw.bytes()


class Windows(nn.Module):
    """Random convolutions and pooling, each on an input of its own; many are one pixel high."""

    def __init__(self, seed: int, count: int):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.steps, self.given, self.pads = nn.ModuleList(), [], []
        while len(self.steps) < count:
            row = rng.random() < 0.5
            kernel = (1 if row else int(rng.integers(1, 5)), int(rng.integers(1, 6)))
            stride = (int(rng.integers(1, 3)), int(rng.integers(1, 4)))
            dilation = (1, 1) if row or rng.random() < 0.7 else (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
            size = (1 if row else int(rng.integers(1, 8)), int(rng.integers(1, 14)))
            pad = [int(p) for p in rng.integers(0, 4, 4)]  # left, right, above, below
            if rng.random() < 0.5:
                pad[2:] = 0, 0
            if rng.random() < 0.3:
                pad[1] = pad[0]
            reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
            if size[0] + sum(pad[2:]) < reach[0] or size[1] + sum(pad[:2]) < reach[1]:
                continue
            kind, channels = int(rng.integers(4)), int(rng.choice([1, 2, 3, 4, 8, 12, 17]))
            if kind == 3:
                half = min(pad[2], kernel[0] // 2), min(pad[0], kernel[1] // 2)
                step: nn.Module = nn.MaxPool2d(kernel, stride, half) if rng.random() < 0.5 else nn.AvgPool2d(
                    kernel, stride, half, count_include_pad=False)
                if size[0] + 2 * half[0] < kernel[0] or size[1] + 2 * half[1] < kernel[1]:
                    continue
                pad = [0] * 4
            else:
                groups = channels if kind == 2 else 1
                out = channels * int(rng.integers(1, 3)) if kind == 2 else int(rng.integers(1, 14))
                step = nn.Conv2d(channels, out, kernel, stride, dilation=dilation, groups=groups)
            self.steps.append(step)
            self.pads.append(pad)
            self.given.append((1 if rng.random() < 0.8 else 2, channels, *size))

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(
            step(nn.functional.pad(x, pad) if any(pad) else x)
            for step, x, pad in zip(self.steps, inputs, self.pads, strict=True))


def windows(seed: int, count: int) -> Graph:
    torch.manual_seed(seed)
    net = Windows(seed, count).eval()
    samples = [tuple(torch.randn(shape) for shape in net.given) for _ in range(2)]
    return pl.quantize(pl.capture(net, samples[0], "windows"), samples, numerics="tflm")


def buffer_sizes(folder: Path, count: int) -> int:
    """How many of CMSIS-NN's own answers about scratch, for random layers, are not ours."""
    wrong, rng = 0, np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as work:
        library = Path(work) / "sizes.so"
        sources = [str(folder / "Source" / "ConvolutionFunctions" / f"arm_{kind}_get_buffer_sizes_s8.c")
                   for kind in ("convolve", "depthwise_conv")]
        subprocess.run(["gcc", "-shared", "-fPIC", f"-I{folder / 'Include'}", *sources, "-o", str(library)], check=True)
        sizes = ctypes.CDLL(str(library))
        for _ in range(count):
            kernel, stride, pad, size = (
                tuple(int(n) for n in rng.integers(low, high, 2)) for low, high in ((1, 6), (1, 4), (0, 3), (1, 12)))
            dilation, channels = (1, 1) if rng.random() < 0.7 else (2, 1), int(rng.integers(1, 30))
            if rng.random() < 0.5:
                kernel, size, pad = (1, kernel[1]), (1, size[1]), (0, pad[1])
            out = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip(size, pad, kernel, stride, strict=True))
            if min(out) < 1:
                continue
            for depth, kind in ((channels, "convolve"), (1, "depthwise_conv")):
                window = Window(1, size, channels, out, channels, depth, kernel, stride, pad, dilation)
                tiles = (stride[1], stride[0], pad[1], pad[0], dilation[1], dilation[0])
                params = (0, 0, *(() if kind == "convolve" else (1,)), *tiles, 0, 0)
                filters = (channels, *kernel, depth) if kind == "convolve" else (1, *kernel, channels)
                given = [(ctypes.c_int32 * len(row))(*row) for row in (
                    params, (1, *size, channels), filters, (1, *out, channels))]
                ours = scratch.conv if kind == "convolve" else scratch.depthwise
                ends = {Core.PLAIN: "", Core.DSP: "_dsp", Core.HELIUM: "_mve"}
                said = {core: getattr(sizes, f"arm_{kind}_wrapper_s8_get_buffer_size{end}")(*given)
                        for core, end in ends.items()}
                at_least = max(said.values()) if kind == "convolve" and window.missing < 0 else 0
                for core in Core:
                    expected = said[core] if kind != "convolve" else max(said[core], said[Core.PLAIN])
                    if ours(core, window) != expected and not at_least:
                        wrong += 1
                        print(f"  {kind} {core.name}: {ours(core, window)} bytes, CMSIS-NN {expected}: {window}")
    return wrong


class Outcomes:
    """What was compared on a board."""

    def __init__(self, board: str, folder: Path):
        self.board, self.folder = board, folder
        self.bytes, self.wrong = 0, 0
        self.taken: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def compare(self, graph: Graph, seed: int, calls: int, show: str) -> None:
        """Run a model several times and compare its bytes with TFLM's."""
        build = pl.compile(graph, self.board, cmsis_nn=self.folder)
        (found,) = build.lowered.partitions
        self.taken.update(row["function"] for row in found.taken)
        self.refused.update(f"{row['op']}: {row['reason']}" for row in found.refused)
        runs = inputs_for(graph, seed, calls)
        if graph.framework == "PyTorch":
            with pl.compile(graph, "host").open(count=False) as ours:
                want = [ours.flat(row) for row in runs]
        else:
            answers = graph.truth.in_float32()
            want = [answers(*row) for row in runs]
        with build.open(count=False) as running:
            results = [running.flat(row) for row in runs]
        makers = {value: node for node in build.lowered.nodes for value in node.outputs}
        for expected, got in zip(want, results, strict=True):
            for port, right, mine in zip(build.lowered.outputs, expected, got, strict=True):
                different = int(np.sum(np.asarray(right) != np.asarray(mine)))
                self.bytes += np.asarray(right).size
                if different:
                    self.wrong += different
                    print(f"  {self.board} {show}: {port.name} has {different} wrong bytes: {makers.get(port.value)}")

    def __str__(self) -> str:
        taken = ", ".join(f"{count} {name.removeprefix('pl_cmsis_nn_')}" for name, count in self.taken.items())
        rows = [f"{self.board}: {sum(self.taken.values())} calls ({taken}), {self.bytes} bytes, {self.wrong} wrong"]
        return "\n".join([*rows, *(f"    {count} not taken: {why}" for why, count in self.refused.most_common())])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=480, help="random layers")
    parser.add_argument("--windows", type=int, default=160, help="random convolutions and pooling with any padding")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operator", action="append")
    parser.add_argument("--board", action="append")
    parser.add_argument("--networks", type=Path, help="the folder of MLPerf Tiny's files")
    parser.add_argument("--inputs", type=int, default=10, help="for each network")
    args = parser.parse_args()
    torch.set_num_threads(1)
    wrong = buffer_sizes(args.folder, 2000)
    print(f"scratch of 4000 convolutions on three kinds of core: {wrong} sizes are not CMSIS-NN's", flush=True)
    for board in args.board or BOARDS:
        outcomes = Outcomes(board, args.folder)
        for seed in range(args.seed, args.seed + args.count // LAYERS):
            data = layers(seed, LAYERS, tuple(args.operator or OPERATORS))
            graph = capture_model(parse_tflite(data, f"layers-{seed}.tflite"), "layers")
            outcomes.compare(graph, seed, 3, f"seed {seed}")
        for seed in range(args.seed, args.seed + args.windows // LAYERS):
            outcomes.compare(windows(seed, LAYERS), seed, 2, f"windows {seed}")
        for name in NETWORKS if args.networks else ():
            graph = pl.load(str(args.networks / f"{name}_int8.tflite"))
            outcomes.compare(graph, 0, args.inputs, name)
        print(outcomes, flush=True)
        wrong += outcomes.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
