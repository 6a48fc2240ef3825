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

PLACEMENT_WORK = 30  # of placing one buffer, and
NEIGHBOURS_PER_WORK = 4  # looked at while doing so, as arrays
TRIES = 100  # at repairing under one limit
EXACT_PAIRS = 4000  # more conflicts than this are not worth an exact search


class ArenaSearch:
    """The best placement so far, and how much work it took."""

    def __init__(self, problem: Problem, bounds: Bounds, budget: int):
        self.problem = problem
        self.floor = bounds.lower_bound  # no placement is smaller
        self.budget = budget
        self.work = 0
        self.neighbours = sum(len(near) for near in problem.near)
        self.pass_work = self.neighbours // NEIGHBOURS_PER_WORK + PLACEMENT_WORK * len(problem)
        self.heat = [
            max(bounds.needs[int(first) - bounds.first_step : int(last) - bounds.first_step + 1])
            for first, last in zip(problem.first, problem.last, strict=True)
        ]
        self.offsets: Ints = np.zeros(0, np.int64)
        self.size = -1
        self.method = "none"

    def run(self) -> None:
        self._try_orders()
        if self.neighbours <= 2 * EXACT_PAIRS:
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
            self._take(first_fit(self.problem, self._sorted(key)), name)

    def _sorted(self, key: Callable[[int], tuple[int, ...]]) -> list[int]:
        return sorted(range(len(self.problem)), key=key)

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
        """Place under a limit; what did not fit goes earlier next time, and sometimes to the other end.

        Limits begin at the lower bound and, as long as they fail, halve their distance to what is found.
        """
        chance = random.Random(0)
        base = self._sorted(dict(self._orders())["hottest"])
        high = [False] * len(self.problem)
        while not self.done(self.pass_work):
            limit = self.floor
            while limit < self.size and not self._repair_within(limit, base, high, chance):
                limit += (self.size - limit + 1) // 2

    def _repair_within(self, limit: int, base: list[int], high: list[bool], chance: random.Random) -> bool:
        misses = [0] * len(self.problem)
        for _ in range(TRIES):
            if self.done(self.pass_work):
                break
            order = sorted(base, key=lambda i: -misses[i])
            offsets, failed = fit_within(self.problem, order, high, limit)
            self.work += int(self.pass_work * np.mean(offsets >= 0)) + PLACEMENT_WORK
            if failed < 0:
                self._take(offsets, "repair")
                return True
            misses[failed] += 1
            if chance.random() < 0.5:
                high[failed] = not high[failed]
        return False
