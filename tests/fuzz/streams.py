"""Random networks over time, streamed, against the eager module or the quantized model over the whole recording.

python -m fuzz.streams --from 0 --count 100 [--int8] [--recurrent] [--transposed] [--graphs] [--exact]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence

import torch

import pilotlight as pl
from pilotlight.errors import PilotlightError
from pilotlight.graph.evaluate import evaluate, evaluate_runs
from pilotlight.passes.pipeline import optimize
from pilotlight.stream import stream
from support.random_graphs import LENGTH, Tangle
from support.streaming import compared, every_kind, integer_steps, offline_integers, quantized, random_net, steps_of

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


def apart_in_graphs(seed: int, int8: bool, recurrent: bool, exact: bool) -> tuple[float, float]:
    """The same of a module that is no chain, with frames, answers over windows and last frames, over a recording that
    is longer than its example; in int8, where the model has one length, of that length as well."""
    net = Tangle(seed, recurrent).eval()
    r, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    hop = net.stride * r.choice([1, 1, 2, 3] if not int8 else [1])

    def recording(samples: int) -> list[torch.Tensor]:
        return [torch.randn(1, 2, samples, generator=generator) for _ in range(net.inputs)]

    example = recording(LENGTH)
    graph = pl.capture(net, tuple(example))
    if int8:
        graph = pl.quantize(graph, [tuple(example), *(tuple(recording(LENGTH)) for _ in range(3))])
    step = stream(graph, -1, hop, exact=exact)
    runner, length = optimize(step.clone()), LENGTH if int8 else None
    integers = optimize(graph.clone()) if int8 else None
    pairs = []
    for inputs in (example, recording(3 * LENGTH // hop * hop)):
        rows = [[x.narrow(-1, at, hop) for x in inputs] for at in range(0, inputs[0].shape[-1] - hop + 1, hop)]
        model = net if integers is None else lambda *given: evaluate(integers, list(given))
        with torch.no_grad():
            pairs += every_kind(step, model, evaluate_runs(runner, rows), inputs, length)
    return worst(pairs), 0.0 if int8 else NEAR


def worst(pairs: Sequence[tuple[torch.Tensor, ...]]) -> float:
    return max((float((got - want).abs().max() / want.abs().max().clamp_min(1e-6)) for got, want in pairs), default=0.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    for name in ("--int8", "--recurrent", "--transposed", "--graphs", "--exact"):
        parser.add_argument(name, action="store_true")
    given = parser.parse_args()
    wrong = refused = 0
    for seed in range(given.first, given.first + given.count):
        try:
            if given.graphs:
                found, allowed = apart_in_graphs(seed, given.int8, given.recurrent, given.exact)
            else:
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
