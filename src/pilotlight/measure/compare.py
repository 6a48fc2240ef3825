"""Does the board compute what PyTorch computes?

Float outputs match when their largest distance from PyTorch in float64 is at most eight times PyTorch float32's
own, plus 4e-6 of the largest output. PyTorch's own distance is the largest over the inputs and over seven copies
of the first ones perturbed by one unit in the last place: deep networks amplify rounding, so a fixed tolerance
would be either blind or wrong. Integers and booleans must be equal, except where PyTorch itself gives another
answer for a perturbed copy (a tie).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch.export import ExportedProgram

from pilotlight.capture.reference import Reference, functionalize, one_thread

Outputs = list[torch.Tensor]
Sequences = list[list[torch.Tensor]]  # inputs of one run after the other

TIMES_OWN = 8.0
OF_LARGEST = 4e-6
PERTURBED = 7
STEPS = 8  # runs of a stateful model that are repeated with perturbed inputs


@dataclass(frozen=True)
class OutputMatch:
    """One output over all runs: how far it may be from float64 and how far it is."""

    name: str
    match: bool
    max_abs_error: float
    limit: float
    largest: float


class Truth:
    """PyTorch's answers for a sequence of runs, and how far it trusts them itself."""

    def __init__(self, program: ExportedProgram, inputs: Sequences):
        functional = functionalize(program)
        stateful = bool(functional.graph_signature.buffers_to_mutate)
        with one_thread():
            self._run(Reference(functional, torch.float64), Reference(functional), inputs, STEPS if stateful else 1)

    def _run(self, exact: Reference, single: Reference, inputs: Sequences, steps: int) -> None:
        self.exact = [exact(*row) for row in inputs]
        self.single = [single(*row) for row in inputs]
        self.copies: list[list[Outputs]] = []
        self._own = [_distance(a, b) for a, b in zip(_columns(self.single), _columns(self.exact), strict=True)]
        for seed in range(PERTURBED):
            nudged = [_nudge(row, seed) for row in inputs[:steps]]
            exact.reset()
            single.reset()
            wide, narrow = [exact(*row) for row in nudged], [single(*row) for row in nudged]
            self.copies += [wide, narrow]
            distances = [_distance(a, b) for a, b in zip(_columns(narrow), _columns(wide), strict=True)]
            self._own = [max(a, b) if isfinite(b) else a for a, b in zip(self._own, distances, strict=True)]

    def compare(self, outputs: list[Outputs], names: Sequence[str]) -> list[OutputMatch]:
        """The board's outputs, run by run, against the truth."""
        rows = []
        for k, (name, got, want) in enumerate(zip(names, _columns(outputs), _columns(self.exact), strict=True)):
            if want[0].is_floating_point():
                largest = max((float(_finite(w).abs().max()) for w in want if w.numel()), default=0.0)
                limit = TIMES_OWN * self._own[k] + OF_LARGEST * largest
                error = _distance(got, want)
                rows.append(OutputMatch(name, error <= limit, error, limit, largest))
            else:
                wrong = self._unexplained(k, got)
                error = float(max((float((g.double() - w.double()).abs().max()) for g, w in zip(got, want, strict=True)
                                   if g.numel() and g.shape == w.shape), default=0.0))
                rows.append(OutputMatch(name, not wrong, error, 0.0, 0.0))
        return rows

    def _unexplained(self, k: int, got: Outputs) -> bool:
        """Whether an integer output holds a value that PyTorch never gives for inputs this close."""
        for run, values in enumerate(got):
            candidates = [self.exact[run][k], self.single[run][k], *(c[run][k] for c in self.copies if run < len(c))]
            same = torch.zeros(values.shape, dtype=torch.bool)
            for candidate in candidates:
                if candidate.shape == values.shape:
                    same |= values == candidate
            if not bool(same.all()) or all(c.shape != values.shape for c in candidates):
                return True
        return False


def _columns(runs: list[Outputs]) -> list[Outputs]:
    return [list(column) for column in zip(*runs, strict=True)]


def _nudge(inputs: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """Every float one step up or down in the last place."""
    generator = torch.Generator().manual_seed(1000 + seed)
    result = []
    for x in inputs:
        if x.is_floating_point():
            up = torch.rand(x.shape, generator=generator) < 0.5
            infinity = torch.full_like(x, torch.inf)
            x = torch.where(up, torch.nextafter(x, infinity), torch.nextafter(x, -infinity))
        result.append(x)
    return result


def _finite(x: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.isfinite(x), x, torch.zeros_like(x))


def _distance(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor]) -> float:
    """The largest absolute difference; equal infinities and NaN against NaN count as none, one alone as infinite,
    and so does another shape."""
    most = 0.0
    for g, w in zip(got, want, strict=True):
        if g.shape != w.shape:
            return float("inf")
        g, w = g.double(), w.double()
        same = (g == w) | (g.isnan() & w.isnan())
        difference = torch.where(same, torch.zeros_like(w), (g - w).abs())
        difference = torch.where(difference.isnan(), torch.full_like(w, torch.inf), difference)
        most = max(most, float(difference.max()) if difference.numel() else 0.0)
    return most


