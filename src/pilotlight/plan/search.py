"""Looking for the smallest arena: orders of placement first, then exact search, then repair.

Effort is counted in work (pairs looked at, plus a constant for each placement), never in seconds, so that the
same problem gives the same plan on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np

from pilotlight.plan.bounds import Bounds
from pilotlight.plan.exact import find_within
from pilotlight.plan.fit import Ints, Problem, first_fit, fit_within

PLACEMENT_WORK = 50  # of placing one buffer, besides looking at its neighbours
EXACT_PAIRS = 1500  # more conflicts than this are not worth an exact search


class ArenaSearch:
    """The best placement so far, and how much work it took."""

    def __init__(self, problem: Problem, bounds: Bounds, budget: int):
        self.problem = problem
        self.floor = bounds.lower_bound  # no placement is smaller
        self.budget = budget
        self.work = 0
        self.pass_work = sum(len(near) for near in problem.near) + PLACEMENT_WORK * len(problem)
        self.heat = [
            max(bounds.needs[int(first) - bounds.first_step : int(last) - bounds.first_step + 1])
            for first, last in zip(problem.first, problem.last, strict=True)
        ]
        self.offsets: Ints = np.zeros(0, np.int64)
        self.size = -1
        self.method = "none"

    def run(self) -> None:
        self._try_orders()
        if sum(len(near) for near in self.problem.near) <= 2 * EXACT_PAIRS:
            self._try_exact(self.budget // 2)
        self._repair()

    def done(self, work: int) -> bool:
        """Nothing left to gain, or not enough budget for `work` more."""
        return self.size == self.floor or self.work + work > self.budget

    def _take(self, offsets: Ints, method: str) -> None:
        size = self.problem.arena_size(offsets)
        if self.size < 0 or size < self.size:
            self.offsets, self.size, self.method = offsets, size, method

    def _orders(self) -> Iterator[tuple[str, Callable[[int], tuple[int, ...]]]]:
        size, first, last = (a.tolist() for a in (self.problem.size, self.problem.first, self.problem.last))
        yield "backwards", lambda i: (-first[i], -last[i], -size[i])
        yield "hottest", lambda i: (-self.heat[i], -size[i], -first[i])
        yield "largest", lambda i: (-size[i], first[i] - last[i], -first[i])
        yield "area", lambda i: (-size[i] * (last[i] - first[i] + 1), -first[i])
        yield "longest", lambda i: (first[i] - last[i], -size[i], -first[i])
        yield "forwards", lambda i: (first[i], -size[i])

    def _try_orders(self) -> None:
        for name, key in self._orders():
            if self.size >= 0 and self.done(self.pass_work):
                return
            self.work += self.pass_work
            self._take(first_fit(self.problem, sorted(range(len(self.problem)), key=key)), name)

    def _try_exact(self, share: int) -> None:
        """Halve the gap between what is proven impossible and what is found, beginning at the lower bound."""
        limit, budget = self.floor, min(self.budget, self.work + share)
        while self.size > self.floor and self.work < budget:
            outcome = find_within(self.problem, limit, budget - self.work)
            self.work += outcome.work
            if outcome.offsets is not None:
                self._take(outcome.offsets, "exact")
            elif outcome.complete:
                self.floor = limit + 1
            else:
                return
            limit = (self.floor + self.size) // 2 if self.floor < self.size else self.floor

    def _repair(self) -> None:
        """Place under a limit; what did not fit goes earlier next time, and sometimes to the other end."""
        chance = random.Random(0)
        limit, tries = self.floor, 0
        misses = [0] * len(self.problem)
        high = [False] * len(self.problem)
        base = sorted(range(len(self.problem)), key=lambda i: (-self.heat[i], -int(self.problem.size[i])))
        while not self.done(self.pass_work):
            order = sorted(base, key=lambda i: -misses[i])
            offsets, failed = fit_within(self.problem, order, high, limit)
            self.work += self.pass_work
            if failed < 0:
                self._take(offsets, "repair")
                limit, tries = (self.floor + self.size) // 2, 0
                continue
            misses[failed] += 1
            if chance.random() < 0.5:
                high[failed] = not high[failed]
            tries += 1
            if tries == 40:
                limit, tries = (limit + self.size) // 2, 0
                misses = [0] * len(self.problem)
            if limit >= self.size:
                limit = self.floor
