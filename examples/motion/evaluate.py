"""How often the network is right about simulated people that training did not know: PyTorch, and int8 on a board.

    python examples/motion/evaluate.py             # on this computer; --board mps2-an386 takes minutes
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

import pilotlight as pl
from model import SAMPLES, motion
from record import RECORDINGS
from simulate import CLASSES, windows

HELD_OUT = 2  # the seed of people that training does not know


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--board", default="host")
    parser.add_argument("--runs", type=int, default=360, help="windows to run in int8")
    options = parser.parse_args()
    x, y = (torch.from_numpy(a) for a in windows(HELD_OUT, 40, 12, SAMPLES))
    net, example = motion()
    with torch.no_grad():
        right = int((net(x)[:, 0].argmax(1) == y).sum())
    print(f"PyTorch: {right} of {len(y)} right ({right / len(y):.2%})")
    with np.load(RECORDINGS / "calibrate.npz") as data:
        samples = torch.from_numpy(data["x"])
    graph = pl.quantize(pl.capture(net, example, "motion"), calibration=samples.split(1))
    x, y = (a[:: max(len(a) // options.runs, 1)] for a in (x, y))
    session = pl.run(pl.compile(graph, board=options.board), x.split(1))
    guesses = torch.cat([outputs[0] for outputs in session.outputs])[:, 0].argmax(1)
    right = int((guesses == y).sum())
    print(f"int8 on {options.board}: {right} of {len(y)} right ({right / len(y):.2%}); bytes as on the host: "
          f"{session.match}")
    table = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(table, (y.numpy(), guesses.numpy()), 1)
    for name, row in zip(CLASSES, table, strict=True):
        print(f"{name:8}", *(f"{n:5}" for n in row))


if __name__ == "__main__":
    main()
