"""Another order of the tasks, where one needs a smaller arena than the order given.

Where the graph narrows to a single task, all orders agree; in between lie regions that are searched one by
one, highest peak first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from pilotlight.plan.flow import Flow, Region, Task
from pilotlight.plan.paths import search_region

__all__ = ["DEFAULT_EFFORT", "Task", "best_order", "order_peak"]

DEFAULT_EFFORT = 120_000  # looks at the cost of a task, about half a second
WINDOW = 14  # tasks around the peak that are reordered when their region is too large for exact search


def best_order(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    *,
    inputs: Collection[str] = (),
    outputs: Collection[str] = (),
    before: Iterable[tuple[int, int]] = (),
    align: int = 16,
    effort: int = DEFAULT_EFFORT,
) -> list[int]:
    """The numbers of the tasks in the best order found; the order given unless another is strictly better.

    `inputs` are alive from the start until last used, `outputs` to the end. `before` holds pairs of tasks
    whose order must stay, besides what reads and writes of the same buffer imply. Every constraint must hold
    in the order given. What was found is remembered, as a model is often planned again.
    """
    return list(_best_order(tuple(tasks), frozenset(sizes.items()), frozenset(inputs), frozenset(outputs),
                            tuple(before), align, effort))


@lru_cache(maxsize=64)
def _best_order(
    tasks: Sequence[Task], sizes: frozenset[tuple[str, int]], inputs: frozenset[str], outputs: frozenset[str],
    before: Sequence[tuple[int, int]], align: int, effort: int,
) -> list[int]:
    flow = Flow(tasks, dict(sizes), inputs, outputs, before, align)
    return _Reordering(flow, effort).run() if len(flow) else []


def order_peak(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    order: Sequence[int],
    *,
    inputs: Collection[str] = (),
    outputs: Collection[str] = (),
    align: int = 16,
) -> int:
    """The most bytes any task needs in `order`: overlaps taken into account, sizes rounded up to `align`."""
    flow = Flow([tasks[k] for k in order], sizes, set(inputs), set(outputs), (), align)
    return max(_Reordering(flow, 0).needs, default=0)


class _Reordering:
    """The order so far: for each place in it the task, the bytes needed there and those alive before."""

    def __init__(self, flow: Flow, effort: int):
        self.flow, self.left = flow, effort
        self.order = list(range(len(flow)))
        self.place = list(range(len(flow)))
        given = sum(size for size, given in zip(flow.size, flow.given, strict=True) if given)
        everything = range(len(flow))
        self.needs, self.live = Region(flow, everything, everything, given).walk(everything)

    def run(self) -> list[int]:
        """Lower the highest peak until that fails: lowering any other would gain nothing."""
        given, peak = list(self.order), max(self.needs)
        narrow = _narrow_places(self.flow)
        settled: set[int] = set()
        while self.left > 0:
            at = self.needs.index(max(self.needs))
            start = max(b for b in narrow if b <= at)
            stop = min(b for b in narrow if b > at)
            if start in settled:
                break
            better, optimal = self._improve(start, stop)
            if optimal:
                settled.add(start)
            if not better and not any(self._improve(*window)[0] for window in _windows(at, start, stop)):
                break
        return self.order if max(self.needs) < peak else given

    def _improve(self, start: int, stop: int) -> tuple[bool, bool]:
        """Look for an order of the tasks at places start .. stop with a lower peak: (found, is optimal)."""
        region = Region(self.flow, self.order[start:stop], self.place, self.live[start])
        found = search_region(region, max(self.needs[start:stop]), self.left)
        self.left -= found.work
        if found.order is not None:
            self.needs[start:stop], self.live[start:stop] = region.walk(found.order)
            self.order[start:stop] = [region.tasks[k] for k in found.order]
            for at in range(start, stop):
                self.place[self.order[at]] = at
        return found.order is not None, found.complete


def _windows(at: int, start: int, stop: int) -> list[tuple[int, int]]:
    """Stretches of a large region that contain the place `at`."""
    if stop - start <= WINDOW:
        return []
    lows = [min(max(start, at - shift), stop - WINDOW) for shift in (WINDOW // 2, 1, WINDOW - 2)]
    return [(low, low + WINDOW) for low in lows]


def _narrow_places(flow: Flow) -> list[int]:
    """The places right before and after tasks that every other task either precedes or depends on."""
    count = len(flow)
    above, below = [0] * count, [0] * count
    for task in range(count):
        for early in flow.after[task]:
            above[task] |= above[early] | 1 << early
    for task in reversed(range(count)):
        for early in flow.after[task]:
            below[early] |= below[task] | 1 << task
    narrow = [k for k in range(count) if above[k].bit_count() + below[k].bit_count() == count - 1]
    return sorted({0, count, *narrow, *(k + 1 for k in narrow)})
