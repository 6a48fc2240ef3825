"""Does the board compute what PyTorch computes?

The truth is the graph's `Reference`: the user's module, run eagerly call after call; for a `.pt2` file the exported
program. Float outputs match when their largest distance from PyTorch in float64 is at most eight times PyTorch
float32's own, plus 4e-6 of the largest output. PyTorch's own distance is the largest over the inputs and over seven
copies of the first ones perturbed by one unit in the last place: deep networks amplify rounding, so a fixed tolerance
would be either blind or wrong. Integers and booleans must be equal, except where PyTorch itself gives another answer
for a perturbed copy (a tie).

Nothing may make the limit so wide that any answer passes. Elements that are infinite or NaN in PyTorch's float32 are
compared separately: the same infinity, NaN where NaN. Elements a thousand times smaller than all others, such as the
scores that a mask of -1e9 leaves, have a limit of their own.

A reference that rounds integers by other rules says how far an output may be off (`CoarseReference`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import torch

from pilotlight.capture.reference import one_thread
from pilotlight.errors import PilotlightError
from pilotlight.graph import Answers, CoarseReference, Reference
from pilotlight.graph.ports import as_complex, as_floats

Outputs = list[torch.Tensor]
Sequences = list[list[torch.Tensor]]  # inputs of one run after another

TIMES_OWN = 8.0
OF_LARGEST = 4e-6
PERTURBED = 7
STEPS = 8  # runs of a stateful model that are repeated with perturbed inputs
DOUBTFUL = 1e-3  # float32 this far from float64, of the largest: the module may compute something else in float64
GAP, SHARE = 1e3, 0.1  # elements GAP times smaller than the others, at least SHARE of all, have a limit of their own
FLIPS, FLIP_NOISE = 0.02, 1e-4  # elements, and power, that a float's rounding before a quantization may change
OVERFLOWN = 1e-5  # how near the float64 answer has to be where PyTorch's float32 overflows on the way and C does not
WEAK = 0.1  # a limit that is this share of an output's range says little


@dataclass(frozen=True)
class OutputMatch:
    """One output over all runs: how far it may be from float64 and how far it is.

    Where elements have limits of their own, these are the figures of those nearest to theirs. `not_finite` counts
    elements that are infinite or NaN in PyTorch.
    """

    name: str
    match: bool
    max_abs_error: float
    limit: float
    largest: float
    not_finite: int = 0
    warnings: tuple[str, ...] = ()


class Truth:
    """PyTorch's answers for a sequence of runs, and how far it trusts them itself."""

    def __init__(self, reference: Reference, inputs: Sequences):
        self._limits = reference.limits if isinstance(reference, CoarseReference) else ()
        with one_thread():
            single = reference.in_float32()
            self.single: list[Outputs] = [_floats(single(*row)) for row in inputs]
            exact, self.exact = self._in_float64(reference, inputs)
            self.copies: list[tuple[list[Outputs], list[Outputs]]] = []  # of perturbed inputs: float64, float32
            for seed in range(PERTURBED):
                nudged = [_nudge(row, seed) for row in inputs[: STEPS if reference.stateful else 1]]
                single.reset()
                narrow = [_floats(single(*row)) for row in nudged]
                wide = self.single[: len(nudged)]  # without float64: how far the perturbation alone moves float32
                if exact is not None:
                    exact.reset()
                    wide = [_floats(exact(*row)) for row in nudged]
                self.copies.append((wide, narrow))

    def _in_float64(self, reference: Reference, inputs: Sequences) -> tuple[Answers | None, list[Outputs]]:
        """The reference in float64, in the way that is nearest to float32 where one is doubtful; else float32 again."""
        best: tuple[Answers | None, list[Outputs]] = (None, self.single)
        distance = inf
        ways = reference.in_float64()
        while distance > DOUBTFUL:
            try:
                found = next(ways)
                results = [_floats(found(*row)) for row in inputs]
            except StopIteration:
                break
            except Exception:  # an operator, or Python code of the module, that has no float64
                continue
            apart = _relative_distance(self.single, results)
            if apart < distance:
                best, distance = (found, results), apart
        return best

    def of_runs(self, runs: Sequence[int]) -> Truth:
        """Of these runs alone, such as those of one entry point."""
        only = copy.copy(self)
        only.single, only.exact = ([rows[k] for k in runs] for rows in (self.single, self.exact))
        only.copies = [
            ([wide[k] for k in runs if k < len(wide)], [narrow[k] for k in runs if k < len(narrow)])
            for wide, narrow in self.copies
        ]
        return only

    def compare(self, outputs: list[Outputs], names: Sequence[str]) -> list[OutputMatch]:
        """The board's outputs, run by run, against the truth."""
        if len(outputs) != len(self.single) or any(len(row) != len(names) for row in (*outputs, *self.single)):
            counts = f"{len(outputs)} runs of {len(outputs[0]) if outputs else 0} outputs"
            raise PilotlightError(f"{counts} cannot be compared with {len(self.single)} runs of {len(self.single[0])}",
                                  kind="internal")
        rows = [self._output(name, k, _floats([row[k] for row in outputs])) for k, name in enumerate(names)]
        return [
            replace(row, match=True, limit=limit) if limit and row.max_abs_error <= limit else row
            for row, limit in zip(rows, self._limits, strict=True)
        ] if self._limits else rows

    def _output(self, name: str, k: int, got: Outputs) -> OutputMatch:
        warnings = tuple(f"output {name} {text}" for text in doubts([row[k] for row in self.single]))
        if any(g.dtype != row[k].dtype for g, row in zip(got, self.single, strict=True)):
            return OutputMatch(name, False, inf, 0.0, 0.0, 0, warnings)
        if self.single[0][k].is_floating_point():
            return self._floats(name, k, got, warnings)
        error = max((float((g.double() - row[k].double()).abs().max()) if g.shape == row[k].shape else inf
                     for g, row in zip(got, self.exact, strict=True) if g.numel()), default=0.0)
        return OutputMatch(name, not self._unexplained(k, got), error, 0.0, 0.0, 0, warnings)

    def _pairs(self, run: int, k: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """One output in float64 and float32: of the run itself, then of its perturbed copies."""
        copies = [(wide[run][k], narrow[run][k]) for wide, narrow in self.copies if run < len(narrow)]
        return [(self.exact[run][k], self.single[run][k]), *copies]

    def _floats(self, name: str, k: int, got: Outputs, warnings: tuple[str, ...]) -> OutputMatch:
        chosen = [_of_shape(self._pairs(run, k), g.shape) for run, g in enumerate(got)]
        if any(pair is None for pair in chosen):
            return OutputMatch(name, False, inf, 0.0, 0.0, 0, warnings)
        pairs = [pair for pair in chosen if pair is not None]
        exact, single = (torch.cat([pair[i].reshape(-1) for pair in pairs]) for i in (0, 1))
        board = torch.cat([g.reshape(-1) for g in got]).double()
        finite = single.isfinite()
        exact = _usable(exact, single)
        limits = _Limits(exact[finite])
        for run in range(len(got)):
            for wide, narrow in self._pairs(run, k):
                if wide.shape == narrow.shape:
                    both = narrow.isfinite() & wide.to(narrow.dtype).isfinite()
                    limits.own(wide[both].double(), narrow[both].double())
        error = (board - exact).abs()
        group, allowed = limits.of(exact)
        wrong = ~(error <= allowed)
        seen = [self._kinds(run, k, g.shape) for run, g in enumerate(got)]
        explained = torch.cat([_among(_kind(g).reshape(-1), kinds) for g, kinds in zip(got, seen, strict=True)])
        near = exact.isfinite() & (error <= OVERFLOWN * exact.abs())
        regular = finite & board.isfinite()
        wrong = torch.where(regular, wrong, torch.where(board.isfinite(), ~near, ~explained))
        worst, limit = limits.nearest(error[regular], group[regular])
        if bool(wrong.any()) and worst <= limit:
            worst = inf
        if limits.weak(exact[finite]):
            warnings += (f"output {name}: PyTorch's float32 is so far from its float64 that the limit is more than "
                         "a tenth of the output's range: the comparison says little",)
        return OutputMatch(name, not bool(wrong.any()), worst, limit, limits.largest, int((~finite).sum()), warnings)

    def _kinds(self, run: int, k: int, shape: torch.Size) -> list[torch.Tensor]:
        """Where PyTorch's float32 is finite, infinite or NaN in this run, also for inputs this close; the last one is
        float64's answer as float32 has it."""
        pairs = self._pairs(run, k)
        found = [narrow for _, narrow in pairs] + [pairs[0][0].to(pairs[0][1].dtype)]
        return [_kind(x).reshape(-1) for x in found if x.shape == shape]

    def _unexplained(self, k: int, got: Outputs) -> bool:
        """Whether an integer output holds a value that PyTorch never gives for inputs this close."""
        for run, values in enumerate(got):
            candidates = [c for pair in self._pairs(run, k) for c in pair if c.shape == values.shape]
            if not candidates or not bool(_among(values, candidates).all()):
                return True
        return False


class _Limits:
    """How far elements may be off, by their magnitude; `values` are the truth's finite elements."""

    def __init__(self, values: torch.Tensor):
        sizes = values[values != 0].abs().sort().values
        self.largest = float(sizes[-1]) if len(sizes) else 0.0
        gaps = (sizes[1:] >= GAP * sizes[:-1]).nonzero().reshape(-1) + 1
        cuts = [int(n) for n in gaps if n >= SHARE * len(sizes)]
        self._starts = torch.tensor([float(sizes[n]) for n in cuts], dtype=torch.float64)
        self._largest = torch.tensor([*(float(sizes[n - 1]) for n in cuts), self.largest], dtype=torch.float64)
        self._own = torch.zeros(len(cuts) + 1, dtype=torch.float64)

    def _group(self, exact: torch.Tensor) -> torch.Tensor:
        return torch.bucketize(exact.abs().nan_to_num(), self._starts, right=True)

    def own(self, exact: torch.Tensor, single: torch.Tensor) -> None:
        """PyTorch's own distance, seen at these elements."""
        self._own.scatter_reduce_(0, self._group(exact), (single - exact).abs(), "amax")

    def of(self, exact: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Which group each element is in, and its limit."""
        group = self._group(exact)
        return group, self._limits[group]

    @property
    def _limits(self) -> torch.Tensor:
        return TIMES_OWN * self._own + OF_LARGEST * self._largest

    def nearest(self, error: torch.Tensor, group: torch.Tensor) -> tuple[float, float]:
        """The largest error of the group that takes most of its limit, and that limit."""
        most = torch.zeros_like(self._own).scatter_reduce_(0, group, error, "amax")
        taken = torch.where(most > 0, most / self._limits.clamp(min=5e-324), 0.0)
        k = int(taken.argmax()) if bool(taken.any()) else len(most) - 1
        return float(most[k]), float(self._limits[k])

    def weak(self, exact: torch.Tensor) -> bool:
        """Whether a group's limit is a good part of the range of its elements."""
        group = self._group(exact)
        for k, limit in enumerate(self._limits.tolist()):
            members = exact[group == k]
            if members.numel() > 1 and WEAK * float(members.max() - members.min()) < limit \
                    and float(members.max()) > float(members.min()):
                return True
        return False


def _floats(tensors: Outputs) -> Outputs:
    """Complex numbers are compared part by part."""
    return [as_floats(x) for x in tensors]


def same_numbers(name: str, got: Outputs, want: Outputs, tolerance: float = 0.0) -> OutputMatch:
    """Equal, NaN to NaN and infinity to infinity; finite elements may be apart by this share of the largest."""
    warnings = tuple(f"output {name} {text}" for text in doubts(want))
    if any(g.shape != w.shape or g.dtype != w.dtype for g, w in zip(got, want, strict=True)):
        return OutputMatch(name, False, inf, 0.0, 0.0, 0, warnings)
    got, want = _floats(got), _floats(want)
    board, truth = (torch.cat([x.reshape(-1) for x in column]).double() for column in (got, want))
    finite = truth.isfinite()
    largest = float(truth[finite].abs().max()) if bool(finite.any()) else 0.0
    error = float((board - truth)[finite].abs().nan_to_num(inf).max()) if bool(finite.any()) else 0.0
    if not bool((_kind(board) == _kind(truth)).all()):
        error = inf
    limit = tolerance * largest
    return OutputMatch(name, error <= limit, error, limit, largest, int((~finite).sum()), warnings)


def nearly_same_numbers(name: str, got: Outputs, want: Outputs, tolerance: float) -> OutputMatch:
    """As `same_numbers`, for results of integers that were made from computed floats: where a float rounds differently,
    an integer is off by one. So a few elements may be further apart, by little: at most FLIPS of them, with at most
    FLIP_NOISE of the power."""
    row = same_numbers(name, got, want, tolerance)
    got, want = _floats(got), _floats(want)
    if row.match or row.max_abs_error == inf or not want[0].is_floating_point():
        return row
    error, truth = (torch.cat([x.reshape(-1) for x in column]).double().nan_to_num(0.0, 0.0, 0.0)
                    for column in ([g.double() - w.double() for g, w in zip(got, want, strict=True)], want))
    few = int((error.abs() > row.limit).sum()) <= max(2, int(FLIPS * error.numel()))
    small = float(error.square().sum()) <= FLIP_NOISE * float(truth.square().sum())
    return replace(row, match=few and small, limit=row.max_abs_error if few and small else row.limit)


def identical(left: torch.Tensor, right: torch.Tensor) -> bool:
    """The same shape, type and numbers, NaN where NaN."""
    return left.shape == right.shape and left.dtype == right.dtype and bool(
        ((left == right) | ((left != left) & (right != right))).all())


def doubts(runs: Outputs) -> list[str]:
    """Why agreement about this output would show little."""
    values = torch.cat([as_floats(x).reshape(-1) for x in runs])
    if not values.numel():
        return ["is empty in every run: nothing was compared"]
    if values.is_floating_point() and bool(values.isnan().all()):
        return ["is NaN everywhere, in PyTorch too: nothing else was compared"]
    if values.numel() > 1 and bool((values == values[0]).all()):
        return [f"is {values[0].item():g} everywhere in all runs: the comparison shows little"]
    return []


def _of_shape(
    pairs: list[tuple[torch.Tensor, torch.Tensor]], shape: torch.Size
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The first answer of this shape in float64 and float32: where data decide the size, rounding may change it."""
    for wide, narrow in pairs:
        if narrow.shape == shape:
            return (wide if wide.shape == shape else narrow).double(), narrow
        if wide.shape == shape:
            return wide.double(), wide.to(narrow.dtype)
    return None


def _usable(exact: torch.Tensor, single: torch.Tensor) -> torch.Tensor:
    """Float64, but float32 where only that is finite, as the lowest number of its type that a mask is filled with."""
    return torch.where(exact.to(single.dtype).isfinite() | ~single.isfinite(), exact, single.double())


def _kind(x: torch.Tensor) -> torch.Tensor:
    """0 finite, 1 NaN, 2 infinite, 3 negatively so."""
    return x.isnan() * 1 + x.isposinf() * 2 + x.isneginf() * 3


def _among(values: torch.Tensor, candidates: list[torch.Tensor]) -> torch.Tensor:
    """Element by element: whether a candidate has the same."""
    same = torch.zeros(values.shape, dtype=torch.bool)
    for candidate in candidates:
        same |= values == candidate
    return same


def _nudge(inputs: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """Every float one step up or down in the last place; zero, infinity and the largest number stay what they are."""
    generator = torch.Generator().manual_seed(1000 + seed)
    result = []
    for given in inputs:
        x = as_floats(given)
        if x.is_floating_point():
            up = torch.rand(x.shape, generator=generator) < 0.5
            infinity = torch.full_like(x, torch.inf)
            y = torch.where(up, torch.nextafter(x, infinity), torch.nextafter(x, -infinity))
            x = torch.where((x != 0) & y.isfinite(), y, x)
        result.append(as_complex(x) if given.is_complex() else x)
    return result


def _relative_distance(single: list[Outputs], exact: list[Outputs]) -> float:
    """Of the worst float output, over its largest element; infinite where shapes differ."""
    worst = 0.0
    for left, right in zip(single, exact, strict=True):
        for s, e in zip(left, right, strict=True):
            if s.shape != e.shape:
                return inf
            if s.is_floating_point() and s.numel():
                apart = torch.where(s.isfinite(), (_usable(e, s) - s.double()).abs(), 0.0)
                largest = float(s.double().abs().nan_to_num(0.0, 0.0, 0.0).max())
                worst = max(worst, float(apart.max()) / largest if largest else 0.0)
    return worst
