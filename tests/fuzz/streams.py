"""Random networks over time, streamed, against the eager module or the quantized model over the whole recording.

python -m fuzz.streams --from 0 --count 100 [--int8] [--recurrent] [--transposed]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence

import torch

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.graph.evaluate import evaluate_runs
from pilotlight.passes.pipeline import optimize
from pilotlight.stream import stream
from support.streaming import compared, integer_steps, offline_integers, quantized, random_net, steps_of

NEAR = 2e-5  # of the largest element


def apart(seed: int, int8: bool, recurrent: bool, transposed: bool) -> tuple[float, float]:
    """How far a stream is from the whole recording, as a share of its largest element, and how far it may be: in float
    more where PyTorch's own rounding is coarse, as when a norm divides by almost nothing."""
    net, stride = random_net(seed, recurrent, transposed)
    hop = stride * random.Random(seed).choice([1, 1, 2, 3])
    x = torch.randn(1, 2, hop * (720 // hop), generator=torch.Generator().manual_seed(seed))
    graph = pl.capture(net, (x,))
    graph = quantized(graph, x) if int8 else graph
    step = stream(graph, -1, hop)
    if int8:
        return worst(compared(step, integer_steps(step, x), offline_integers(graph, x))), 0.0
    want = net(x).detach()
    found = worst(compared(step, evaluate_runs(optimize(step.clone()), steps_of(x, hop)), [want]))
    return found, NEAR + 4 * worst([(want, net.double()(x.double()).detach())])


def worst(pairs: Sequence[tuple[torch.Tensor, ...]]) -> float:
    return max(float((got - want).abs().max() / want.abs().max().clamp_min(1e-6)) for got, want in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    for name in ("--int8", "--recurrent", "--transposed"):
        parser.add_argument(name, action="store_true")
    given = parser.parse_args()
    wrong = refused = 0
    for seed in range(given.first, given.first + given.count):
        try:
            found, allowed = apart(seed, given.int8, given.recurrent, given.transposed)
        except PilotlightError as error:
            refused += 1
            print(f"{seed}: refused: {error.message}")
            continue
        if not found <= allowed:
            wrong += 1
            print(f"{seed}: {found:.3g} apart, of {allowed:.3g} allowed")
    print(f"{given.count} networks: {wrong} wrong, {refused} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
