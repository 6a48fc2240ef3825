"""PyTorch networks quantized with `numerics="tflm"` against TFLM, which runs a file written from PT2E's own scales.

    python -m tests.tflm.numerics --count 40 --boards host,mps2-an386,mps3-an547
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tests.support.tflite_from_graph import as_tflite
from torch import nn

import pilotlight as pl
from pilotlight.capture.tflite.read import parse_tflite
from pilotlight.capture.tflite.reference import FileAnswers
from pilotlight.errors import PilotlightError
from pilotlight.graph import Graph, Port
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.graph.ports import to_memory

INPUTS = 20

# A linear layer of one filter, a row, and the scales of row, filter and result by which the sum, -88337, is next to a
# tie of both roundings: with a product of the scales in float32 the result is another step.
TIE_SCALES = tuple(float(np.float32(scale)) for scale in (0.02479089, 0.019556683, 0.36449847))
TIE_FILTER = (-127, -127, -127, -127, -127, -61, 0, 55)
TIE_ROW = (127, 127, 127, 127, 127, 127, 0, 1)


@dataclass(frozen=True)
class NumericsResult:
    """How many bytes of the outputs there were, and how many are not TFLM's, by board."""

    compared: int
    different: dict[str, int]
    operators: list[str]


def integers(port: Port, y: torch.Tensor) -> np.ndarray:
    """The int8 that a number of an output came from."""
    quant = port.quant or port.value.quant
    if quant is None or not y.is_floating_point():
        return y.numpy().reshape(-1)
    return (np.rint(y.numpy().astype(np.float64) / quant.scale) + quant.zero_point).astype(np.int64).reshape(-1)


def ordered(port: Port, want: torch.Tensor) -> np.ndarray:
    """An output of the file, whose dimensions have the order of the memory, in PyTorch's."""
    found = want.numpy().reshape(port.value.shape)
    if port.perm is not None:
        found = found.transpose(np.argsort(port.perm))
    return found.astype(np.int64).reshape(-1)


def quantized(module: nn.Module, shapes: Sequence[tuple[int, ...]], seed: int = 0) -> Graph:
    torch.manual_seed(seed)
    samples = [[torch.randn(shape) for shape in shapes] for _ in range(8)]
    graph = pl.capture(module.eval(), tuple(samples[0]))
    return pl.quantize(graph, samples, numerics="tflm")


def compare_numerics(graph: Graph, boards: Sequence[str], seed: int = 0, count: int = INPUTS) -> NumericsResult:
    """Inputs go beyond what was calibrated; the graph's own definition is compared as `graph`."""
    truth = FileAnswers(parse_tflite(as_tflite(graph), "written.tflite"))
    torch.manual_seed(1000 + seed)
    lowered = pl.compile(graph, board="host").lowered
    runs = [[torch.randn(port.shape) * 1.5 for port in graph.inputs] for _ in range(count)]
    want = [
        truth(*(torch.from_numpy(to_memory(port, x).copy()) for port, x in zip(lowered.inputs, row, strict=True)))
        for row in runs
    ]
    found = {"graph": evaluate_runs(lowered, runs)}
    for board in boards:
        with pl.compile(graph, board=board).open(count=False) as running:
            found[board] = [running.flat(row) for row in runs]
    different: Counter[str] = Counter()
    for board, rows in found.items():
        different[board] = sum(
            int((integers(port, y) != ordered(port, w)).sum())
            for got, expected in zip(rows, want, strict=True)
            for port, y, w in zip(lowered.outputs, got, expected, strict=True)
        )
    compared = sum(w.numel() for row in want for w in row)
    return NumericsResult(compared, dict(different), [node.op for node in lowered.nodes])


class RandomNet(nn.Module):
    """Some layers one after another, each made from the seed; what goes into the head is a second output."""

    def __init__(self, seed: int):
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.channels = self.pick(1, 2, 3, 5, 8)
        self.size = (self.pick(6, 9, 12), self.pick(5, 8, 11))
        self.shape = (1, self.channels, *self.size)
        torch.manual_seed(seed)
        self.steps = nn.ModuleList(self.layer() for _ in range(self.pick(2, 4, 6)))
        self.head = nn.Linear(self.channels, self.pick(1, 3, 10))
        self.ending = self.pick("softmax", "sigmoid", "none")

    def pick(self, *choices: object) -> object:
        return choices[int(self.rng.integers(len(choices)))]

    def layer(self) -> nn.Module:
        kind = self.pick("conv", "conv", "depthwise", "branch", "join", "gate", "pool", "activation")
        c = self.channels
        small = min(self.size) < 5
        if kind == "conv":
            self.channels = self.pick(4, 7, 8, 12)
            k = self.pick(1, 3)
            parts = [nn.Conv2d(c, self.channels, k, padding=k // 2, bias=self.pick(True, False)),
                     self.pick(nn.BatchNorm2d(self.channels), nn.Identity()),
                     self.pick(nn.ReLU(), nn.ReLU6(), nn.Identity(), nn.LeakyReLU(0.1), nn.Hardswish(), nn.Hardtanh())]
            return nn.Sequential(*parts)
        if kind == "depthwise":
            stride = 1 if small else self.pick(1, 2)
            self.size = tuple(-(-n // stride) for n in self.size)
            return nn.Sequential(nn.Conv2d(c, c, 3, padding=1, stride=stride, groups=c), nn.ReLU())
        if kind == "branch":
            return Branch(nn.Conv2d(c, c, 1), self.pick("add", "sub", "mul"), self.pick(True, False))
        if kind == "join":
            self.channels = 2 * c
            return Branch(nn.Conv2d(c, c, 3, padding=1), "cat", False)
        if kind == "gate":
            gate = self.pick(nn.Sigmoid(), nn.Tanh())
            return Branch(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c, 1), gate), "mul", False)
        if kind == "pool":
            if small:
                return nn.Identity()
            self.size = tuple(n // 2 for n in self.size)
            return self.pick(nn.MaxPool2d, nn.AvgPool2d)(2)
        return self.pick(nn.ReLU(), nn.Tanh(), nn.Sigmoid(), Scaled(1.7, -0.3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for step in self.steps:
            x = step(x)
        y = self.head(x.mean((2, 3)))
        endings = {"softmax": lambda v: v.softmax(-1), "sigmoid": torch.sigmoid, "none": lambda v: v}
        return endings[self.ending](y), x


class Scaled(nn.Module):
    """Numbers as constants of an operator."""

    def __init__(self, factor: float, offset: float):
        super().__init__()
        self.factor, self.offset = factor, offset

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor + self.offset


class Branch(nn.Module):
    """A tensor together with what a layer makes of it."""

    def __init__(self, layer: nn.Module, op: str, clamped: bool):
        super().__init__()
        self.layer, self.op, self.clamped = layer, op, clamped

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.layer(x)
        if self.op == "cat":
            return torch.cat([x, z], 1)
        y = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}[self.op](x, z)
        return y.relu() if self.clamped else y


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--boards", default="host")
    args = parser.parse_args()
    torch.set_num_threads(1)
    outcomes: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    total = 0
    for seed in range(args.seed, args.seed + args.count):
        net = RandomNet(seed)
        try:
            found = compare_numerics(quantized(net, [net.shape], seed), args.boards.split(","), seed)
        except PilotlightError as error:
            outcomes["refused"] += 1
            print(f"  {seed}: {error}")
            continue
        wrong = {board: count for board, count in found.different.items() if count}
        outcomes["different" if wrong else "same"] += 1
        operators.update(found.operators)
        total += found.compared
        if wrong:
            print(f"  {seed}: {wrong} of {found.compared} bytes differ")
    print(f"{dict(outcomes)}, {total:,} bytes on graph,{args.boards}")
    print("operators: " + ", ".join(f"{name} {count}" for name, count in operators.most_common()))
    return 1 if outcomes["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
