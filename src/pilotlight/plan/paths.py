"""Searching the orders of one region.

The bytes that a task needs depend only on which tasks ran before it, so an order is a path through sets of
tasks, and its peak the highest step of the path.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from pilotlight.plan.flow import Region
from pilotlight.plan.greedy import greedy_orders

EXACT_TASKS = 200  # a region with more than this is not searched to the end


class Found(NamedTuple):
    order: list[int] | None  # with a lower peak than asked for
    complete: bool  # no order has a lower peak than this one (or than asked for)
    work: int  # how often the cost of a task was looked at


def search_region(region: Region, peak: int, budget: int) -> Found:
    """An order with a peak below `peak`: the best there is where the budget allows, else the best found."""
    best: list[int] | None = None
    work = 0
    for order in greedy_orders(region):
        work += 4 * len(order)
        highest = max(region.walk(order)[0])
        if highest < peak:
            best, peak = order, highest
    exact = _best_first(region, peak, budget // 2 if len(region.tasks) <= EXACT_TASKS else 0)
    work += exact.work
    if exact.complete:
        return Found(exact.order or best, True, work)
    beam = _beam(region, peak, budget // 4)
    return Found(beam.order or best, False, work + beam.work)


class _State:
    """A set of tasks that have run, the path to it, its peak, and what may run next."""

    __slots__ = ("done", "last", "live", "peak", "previous", "ready")

    def __init__(self, previous: _State | None, last: int, done: int, peak: int, live: int, ready: list[int]):
        self.previous, self.last = previous, last
        self.done, self.peak, self.live, self.ready = done, peak, live, ready

    def path(self) -> list[int]:
        path: list[int] = []
        state: _State | None = self
        while state is not None and state.previous is not None:
            path.append(state.last)
            state = state.previous
        return path[::-1]


class _Move(NamedTuple):
    task: int
    need: int
    change: int


def _start(region: Region) -> _State:
    return _State(None, -1, 0, 0, region.live, [k for k, mask in enumerate(region.after) if not mask])


def _moves(region: Region, state: _State, below: int) -> list[_Move]:
    """The tasks that can run next with a need below `below`.

    A task that frees at least what it allocates and fits under the peak so far can always run at once:
    running a task earlier never makes another one need more. Then it is the only one worth looking at.
    """
    moves = []
    for k in state.ready:
        extra, change = region.cost(k, state.done)
        need = state.live + extra
        if need < below:
            if change <= 0 and need <= state.peak:
                return [_Move(k, need, change)]
            moves.append(_Move(k, need, change))
    return moves


def _advance(region: Region, state: _State, move: _Move) -> _State:
    done = state.done | 1 << move.task
    ready = [other for other in state.ready if other != move.task]
    ready += [other for other in region.unlocks[move.task] if not region.after[other] & ~done]
    return _State(state, move.task, done, max(state.peak, move.need), state.live + move.change, ready)


def _best_first(region: Region, peak: int, budget: int) -> Found:
    """Lowest peak first, and the longest path among equals: the first path that is whole is optimal."""
    everything = (1 << len(region.tasks)) - 1
    start = _start(region)
    queue: list[tuple[int, int, int, _State, _Move | None]] = [(0, 0, 0, start, None)]
    seen: set[int] = set()
    work = pushed = 0
    while queue:
        if work >= budget:
            return Found(None, False, work)
        _, depth, _, state, move = heapq.heappop(queue)
        if move is not None:
            if (state.done | 1 << move.task) in seen:
                continue
            state = _advance(region, state, move)
        if state.done == everything:
            return Found(state.path(), True, work)
        seen.add(state.done)
        work += len(state.ready)
        for following in _moves(region, state, peak):
            if (state.done | 1 << following.task) not in seen:
                pushed += 1
                highest = max(state.peak, following.need)
                heapq.heappush(queue, (highest, depth - 1, pushed, state, following))
    return Found(None, True, work)


def _beam(region: Region, peak: int, budget: int) -> Found:
    """Task by task, keeping as many of the lowest sets as the budget allows."""
    layer = [_start(region)]
    work = 0
    for depth in range(len(region.tasks)):
        following: dict[int, tuple[int, int, int, _State, _Move]] = {}
        for state in layer:
            work += len(state.ready)
            for move in _moves(region, state, peak):
                done, highest = state.done | 1 << move.task, max(state.peak, move.need)
                old = following.get(done)
                if old is None or highest < old[0]:
                    following[done] = highest, state.live + move.change, len(following), state, move
        if not following or work >= budget:
            return Found(None, False, work)
        choices = sorted(following.values(), key=lambda c: c[:3])
        ready = len(choices[0][3].ready) + 1
        width = max(1, (budget - work) // (len(region.tasks) - depth) // ready)
        layer = [_advance(region, state, move) for *_, state, move in choices[:width]]
    return Found(layer[0].path(), False, work)
