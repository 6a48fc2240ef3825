"""Placing buffers one after another, each at the lowest or highest start that is free.

All arithmetic is in units of the alignment: sizes rounded up, distances to the stricter side. Only a limit on the
arena is in bytes, because the buffer on top need not be padded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pilotlight.plan.buffers import Buffer, Overlap

Ints = NDArray[np.int64]
UNPLACED = -(2**40)  # so far below 0 that it blocks nothing


@dataclass(frozen=True)
class Problem:
    """Buffers as arrays. Buffer i must not start between start[near[i]] + below[i] and + above[i] (open)."""

    align: int
    size: Ints  # bytes
    first: Ints
    last: Ints
    near: list[Ints]  # for each buffer, those that may get in its way
    below: list[Ints]
    above: list[Ints]

    def __len__(self) -> int:
        return len(self.size)

    def highest_starts(self, limit: int) -> list[int]:
        """The last start of every buffer, in units, that keeps it within `limit` bytes."""
        starts: list[int] = ((limit - self.size) // self.align).tolist()
        return starts

    def arena_size(self, offsets: Ints) -> int:
        return int((offsets * self.align + self.size).max(initial=0))


def make_problem(buffers: Sequence[Buffer], overlaps: Iterable[Overlap], align: int) -> Problem:
    size = np.array([b.size for b in buffers], np.int64)
    first = np.array([b.first for b in buffers], np.int64)
    last = np.array([b.last for b in buffers], np.int64)
    units = -(-size // align)
    index = {b.name: i for i, b in enumerate(buffers)}
    pairs: dict[int, list[tuple[int, int, int]]] = {}  # other buffer, the last start below, the first above
    for overlap in overlaps:
        i, j = index[overlap.input], index[overlap.output]
        forward = max(-int(units[j]), overlap.distance // align)
        backward = int(units[i])
        if overlap.reverse is not None:
            backward = min(backward, -(-overlap.reverse // align))
        pairs.setdefault(j, []).append((i, forward, backward))
        pairs.setdefault(i, []).append((j, -backward, -forward))
    near, below, above = [], [], []
    for i in range(len(buffers)):
        others = np.flatnonzero((first <= last[i]) & (last >= first[i]))
        others = others[others != i]
        low, high = np.full(len(others), -units[i]), units[others]
        for j, below_j, above_j in pairs.get(i, ()):
            at = int(np.searchsorted(others, j))
            low[at], high[at] = below_j, above_j
        blocking = high - low > 1
        near.append(others[blocking])
        below.append(low[blocking])
        above.append(high[blocking])
    return Problem(align, size, first, last, near, below, above)


def lowest_gap(blocked_from: Ints, blocked_to: Ints) -> int:
    """The lowest start >= 0 outside all ranges [blocked_from, blocked_to)."""
    order = blocked_from.argsort(kind="stable")
    starts = blocked_from[order]
    if not len(starts) or starts[0] > 0:
        return 0
    ends = np.maximum(np.maximum.accumulate(blocked_to[order]), 0)
    free = starts[1:] > ends[:-1]
    gap = int(free.argmax()) if free.any() else len(free)
    return int(ends[gap])


def place_low(problem: Problem, offsets: Ints, i: int) -> int:
    around = offsets[problem.near[i]]
    return lowest_gap(around + (problem.below[i] + 1), around + problem.above[i])


def place_high(problem: Problem, offsets: Ints, i: int, top: int) -> int:
    """The highest free start <= `top`, negative when there is none: the lowest, counted down from `top`."""
    around = top - offsets[problem.near[i]]
    return top - lowest_gap(around - (problem.above[i] - 1), around - problem.below[i])


def first_fit(problem: Problem, order: Sequence[int]) -> Ints:
    offsets = np.full(len(problem), UNPLACED, np.int64)
    for i in order:
        offsets[i] = place_low(problem, offsets, i)
    return offsets


def fit_within(problem: Problem, order: Sequence[int], high: Sequence[bool], limit: int) -> tuple[Ints, int]:
    """Place all within `limit` bytes, from the bottom or (`high`) the top; also which fails first, or -1."""
    offsets = np.full(len(problem), UNPLACED, np.int64)
    tops = problem.highest_starts(limit)
    for i in order:
        start = place_high(problem, offsets, i, tops[i]) if high[i] else place_low(problem, offsets, i)
        if not 0 <= start <= tops[i]:
            return offsets, i
        offsets[i] = start
    return offsets, -1
