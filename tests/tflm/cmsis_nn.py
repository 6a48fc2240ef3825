"""CMSIS-NN itself against TFLM: random layers, and the networks of MLPerf Tiny: `make cmsis-nn CMSIS_NN=DIR`.

    python -m tests.tflm.cmsis_nn DIR --count 40 --board mps2-an386

A model has several layers that share nothing, so that few images run many layers. Layers that are refused are computed
by our own kernels; they are counted by reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from tests.support.tflite_random import CASES
from tests.support.tflite_random.draw import Draw
from tests.tflm.compare import inputs_for

import pilotlight as pl
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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operator", action="append")
    parser.add_argument("--board", action="append")
    parser.add_argument("--networks", type=Path, help="the folder of MLPerf Tiny's files")
    parser.add_argument("--inputs", type=int, default=10, help="for each network")
    args = parser.parse_args()
    torch.set_num_threads(1)
    wrong = 0
    for board in args.board or BOARDS:
        outcomes = Outcomes(board, args.folder)
        for seed in range(args.seed, args.seed + args.count // LAYERS):
            data = layers(seed, LAYERS, tuple(args.operator or OPERATORS))
            graph = capture_model(parse_tflite(data, f"layers-{seed}.tflite"), "layers")
            outcomes.compare(graph, seed, 3, f"seed {seed}")
        for name in NETWORKS if args.networks else ():
            graph = pl.load(str(args.networks / f"{name}_int8.tflite"))
            outcomes.compare(graph, 0, args.inputs, name)
        print(outcomes, flush=True)
        wrong += outcomes.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
