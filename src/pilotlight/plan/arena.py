"""An offset in the arena for every buffer, as tightly as lifetimes and overlaps allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pilotlight.plan.bounds import find_bounds
from pilotlight.plan.buffers import Buffer, Overlap, usable_overlaps
from pilotlight.plan.fit import make_problem
from pilotlight.plan.search import ArenaSearch

__all__ = ["DEFAULT_EFFORT", "ArenaPlan", "Buffer", "Overlap", "plan_arena"]

DEFAULT_EFFORT = 2_000_000  # pairs of buffers looked at, about half a second


@dataclass(frozen=True)
class ArenaPlan:
    """Where every buffer starts. `size` lies between `lower_bound` and the sum of all sizes."""

    offsets: dict[str, int]
    size: int
    lower_bound: int  # the most bytes any single step needs, given the overlaps
    no_overlap: int  # the least it would be if no bytes were shared
    peak_step: int  # the step that needs `lower_bound` bytes
    method: str  # what found it
    optimal: bool  # proven: no smaller arena exists
    work: int  # effort spent
    backward: frozenset[str]  # outputs that are safe only when their step walks backward


def plan_arena(
    buffers: Sequence[Buffer],
    overlaps: Sequence[Overlap] = (),
    *,
    align: int = 16,
    effort: int = DEFAULT_EFFORT,
) -> ArenaPlan:
    """Place `buffers` so that no two alive at one step share a byte, except as `overlaps` permits.

    Only starts are aligned. More `effort` (a count of work, not of seconds) can only make the arena smaller;
    the first placement is made whatever it costs. The same input always gives the same plan, so it is remembered: a
    model is often planned again, for another board or with other kernels, and its buffers are the same.
    """
    return _plan(tuple(buffers), tuple(overlaps), align, effort)


@lru_cache(maxsize=64)
def _plan(buffers: Sequence[Buffer], overlaps: Sequence[Overlap], align: int, effort: int) -> ArenaPlan:
    usable = usable_overlaps(buffers, overlaps)
    bounds = find_bounds(buffers, usable, align)
    sized = [b for b in buffers if b.size]  # the others lie anywhere
    search = ArenaSearch(make_problem(sized, usable, align), bounds, effort)
    if sized:
        search.run()
    by_name = {b.name: b for b in buffers}
    offsets = dict.fromkeys((b.name for b in buffers), 0)
    offsets.update((b.name, int(unit) * align) for b, unit in zip(sized, search.offsets, strict=True))
    return ArenaPlan(
        offsets=offsets,
        size=max(search.size, 0),
        lower_bound=bounds.lower_bound,
        no_overlap=max(bounds.no_overlap, search.size),  # a placement without sharing is one of the placements
        peak_step=bounds.peak_step,
        method=search.method,
        optimal=not sized or search.size == search.floor,
        work=search.work,
        backward=frozenset(o.output for o in usable if o.needs_reverse(by_name, offsets)),
    )
