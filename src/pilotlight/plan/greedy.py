"""Orders of a region that cost little to find, whatever its size."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from pilotlight.plan.flow import Region


def greedy_orders(region: Region) -> Iterator[list[int]]:
    yield depth_first(region)
    yield _pick(region, lambda extra, change, age: (change > 0, age))
    yield _pick(region, lambda extra, change, age: (change, extra))
    yield _pick(region, lambda extra, change, age: (extra, change))


def depth_first(region: Region) -> list[int]:
    """Everything a task depends on right before it, the branch that needs most beyond what it leaves first.

    For trees this is the classic optimal order (Sethi and Ullman); shared branches run with their first user.
    """
    count = len(region.tasks)
    before: list[list[int]] = [[] for _ in range(count)]
    for k, later in enumerate(region.unlocks):
        for other in later:
            before[other].append(k)
    leaves, peak = [0] * count, [0] * count
    for k in range(count):
        before[k].sort(key=lambda early: (leaves[early] - peak[early], early))
        held = highest = 0
        for early in before[k]:
            highest = max(highest, held + peak[early])
            held += leaves[early]
        extra, change = region.cost(k, region.after[k])
        peak[k], leaves[k] = max(highest, held + extra), max(0, held + change)
    order: list[int] = []
    placed = [False] * count
    for sink in (k for k in range(count) if not region.unlocks[k]):
        stack = [sink]
        while stack:
            k = stack[-1]
            waiting = next((early for early in before[k] if not placed[early]), None)
            if waiting is None:
                stack.pop()
                if not placed[k]:
                    placed[k] = True
                    order.append(k)
            else:
                stack.append(waiting)
    return order


def _pick(region: Region, key: Callable[[int, int, int], tuple[int, ...]]) -> list[int]:
    """Always run the ready task with the smallest key of (extra bytes, change of bytes, - step it got ready).

    Keys are computed when a task becomes ready and when it becomes the last user of a buffer.
    """
    waiting = [mask.bit_count() for mask in region.after]
    uses = [[b for b in region.flow.uses[task] if b in region.users] for task in region.tasks]
    done = step = 0
    queue: list[tuple[tuple[int, ...], int]] = []
    ages: dict[int, int] = {}

    def push(k: int) -> None:
        heapq.heappush(queue, (key(*region.cost(k, done), ages[k]), k))

    for k in (k for k, count in enumerate(waiting) if not count):
        ages[k] = 0
        push(k)
    order: list[int] = []
    while queue:
        _, k = heapq.heappop(queue)
        if done >> k & 1:
            continue
        order.append(k)
        done |= 1 << k
        step += 1
        for other in region.unlocks[k]:
            waiting[other] -= 1
            if not waiting[other]:
                ages[other] = -step
                push(other)
        for b in uses[k]:
            left = region.users[b] & ~done
            if left.bit_count() == 1 and left.bit_length() - 1 in ages:
                push(left.bit_length() - 1)
    return order
