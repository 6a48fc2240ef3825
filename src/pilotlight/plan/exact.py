"""Exact search for a placement within a limit, for problems of a few dozen buffers.

Of each pair of buffers in conflict one has to lie low enough below the other: two ways, each a difference
constraint `start[x] >= start[y] + gap`. For a set of decided pairs the smallest starts are longest paths, so
only pairs that collide there have to be decided. Ranges of starts narrow from both ends as in job-shop
scheduling: a way that no longer fits decides the pair for the other one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pilotlight.plan.fit import Ints, Problem


class Conflict(NamedTuple):
    """start[i] - start[j] must not be between `below` and `above` (exclusive)."""

    i: int
    j: int
    below: int
    above: int


class Outcome(NamedTuple):
    offsets: Ints | None
    complete: bool  # without offsets: proven that there are none
    work: int


def find_within(problem: Problem, limit: int, budget: int) -> Outcome:
    """A placement within `limit` bytes; gives up after looking at about `budget` pairs."""
    search = _Search(problem, limit, budget)
    found = search.run()
    offsets = np.array(search.low, np.int64) if found else None
    return Outcome(offsets, found or search.work < budget, search.work)


class _Search:
    def __init__(self, problem: Problem, limit: int, budget: int):
        count = len(problem)
        self.conflicts = [
            Conflict(i, int(j), int(below), int(above))
            for i in range(count)
            for j, below, above in zip(problem.near[i], problem.below[i], problem.above[i], strict=True)
            if i < j
        ]
        self.of_buffer: list[list[int]] = [[] for _ in range(count)]
        for c, conflict in enumerate(self.conflicts):
            self.of_buffer[conflict.i].append(c)
            self.of_buffer[conflict.j].append(c)
        self.low = [0] * count
        self.high = problem.highest_starts(limit)
        self.decided = [0] * len(self.conflicts)  # 1: i lies low, 2: i lies high
        self.trail: list[tuple[list[int], int, int]] = []
        self.budget = budget
        self.work = 0

    def run(self) -> bool:
        if min(self.high, default=0) < 0 or not self._propagate(list(range(len(self.low)))):
            return False
        branches: list[tuple[int, int, int]] = []  # length of the trail, conflict, the way not tried yet
        while self.work < self.budget:
            choice = self._choose()
            if choice is None:
                return True
            conflict, way = choice
            branches.append((len(self.trail), conflict, 3 - way))
            while not self._decide(conflict, way):
                if not branches:
                    return False
                mark, conflict, way = branches.pop()
                self._undo(mark)
        return False

    def _set(self, values: list[int], at: int, value: int) -> None:
        self.trail.append((values, at, values[at]))
        values[at] = value

    def _undo(self, mark: int) -> None:
        while len(self.trail) > mark:
            values, at, value = self.trail.pop()
            values[at] = value

    def _choose(self) -> tuple[int, int] | None:
        """The colliding pair with the least freedom, and its freer way; None when nothing collides."""
        low, high = self.low, self.high
        best: tuple[int, int] | None = None
        least = (0, 0)
        self.work += len(self.conflicts)
        for c, (i, j, below, above) in enumerate(self.conflicts):
            if not self.decided[c] and below < low[i] - low[j] < above:
                slack_low, slack_high = high[j] - low[i] + below, high[i] - low[j] - above
                freedom = (min(slack_low, slack_high), slack_low + slack_high)
                if best is None or freedom < least:
                    best, least = (c, 1 if slack_low >= slack_high else 2), freedom
        return best

    def _decide(self, conflict: int, way: int) -> bool:
        self._set(self.decided, conflict, way)
        return self._propagate([self.conflicts[conflict].i])

    def _propagate(self, queue: list[int]) -> bool:
        """Narrow starts and decide pairs until nothing changes; False when something has no start left."""
        low, high, decided = self.low, self.high, self.decided
        waiting = set(queue)
        while queue and self.work < self.budget:
            buffer = queue.pop()
            waiting.discard(buffer)
            for c in self.of_buffer[buffer]:
                self.work += 1
                i, j, below, above = self.conflicts[c]
                way = decided[c]
                if not way:
                    fits_low, fits_high = low[i] - below <= high[j], low[j] + above <= high[i]
                    if fits_low and fits_high:
                        continue
                    if not fits_low and not fits_high:
                        return False
                    way = 1 if fits_low else 2
                    self._set(decided, c, way)
                lower, upper, gap = (i, j, -below) if way == 1 else (j, i, above)
                if low[upper] < low[lower] + gap:
                    self._set(low, upper, low[lower] + gap)
                    if low[upper] > high[upper]:
                        return False
                    if upper not in waiting:
                        waiting.add(upper)
                        queue.append(upper)
                if high[lower] > high[upper] - gap:
                    self._set(high, lower, high[upper] - gap)
                    if low[lower] > high[lower]:
                        return False
                    if lower not in waiting:
                        waiting.add(lower)
                        queue.append(lower)
        return True
