"""How many bytes a step needs at the very least, whatever the placement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pilotlight.plan.buffers import Buffer, Overlap


def round_up(size: int, align: int) -> int:
    return -(-size // align) * align


def round_down(distance: int, align: int) -> int:
    return distance // align * align


class Pair(NamedTuple):
    """A dying input and a new output of one step that may share bytes."""

    input: str
    output: str
    in_size: int
    out_size: int
    distance: int
    reverse: int | None = None

    def aligned(self, align: int) -> Pair:
        """The same for placements whose starts are multiples of `align`."""
        return self._replace(
            in_size=round_up(self.in_size, align),
            out_size=round_up(self.out_size, align),
            distance=round_down(self.distance, align),
            reverse=None if self.reverse is None else round_up(self.reverse, align),
        )


@dataclass(frozen=True)
class Bounds:
    first_step: int
    needs: list[int]  # bytes, by step from first_step on
    lower_bound: int  # the largest of needs
    peak_step: int  # the first step that needs that much
    no_overlap: int  # the same if no bytes were shared


def step_saving(pairs: Sequence[Pair]) -> int:
    """The most bytes that the dying inputs and new outputs of one step can share.

    Inputs are disjoint from one another and so are outputs. Seen from an output at 0, an input starts at
    `-distance` or later, so covering the output is scheduling jobs with release times on one machine: taking
    them by release time without idling covers the most. An input in turn shares at most its own size, and
    with one output at most min(in, out, out + distance). Only a single pair may be walked backward.
    """
    if len(pairs) == 1:
        return _pair_saving(pairs[0])
    jobs: dict[str, list[Pair]] = defaultdict(list)
    room: dict[str, int] = {}
    shared: dict[str, int] = defaultdict(int)
    for pair in pairs:
        jobs[pair.output].append(pair)
        room[pair.input] = pair.in_size
        shared[pair.input] += _pair_saving(pair)
    covered = 0
    for queue in jobs.values():
        clock = 0
        for pair in sorted(queue, key=lambda p: max(0, -p.distance)):
            start = max(clock, -pair.distance)
            clock = start + pair.in_size
            covered += max(0, min(clock, pair.out_size) - start)
    return min(covered, sum(min(room[name], shared[name]) for name in room))


def _pair_saving(pair: Pair) -> int:
    """Walking forward the output ends `distance` after the input starts, at best; backward it starts that
    much before the input ends."""
    reach = pair.out_size + pair.distance
    if pair.reverse is not None:
        reach = max(reach, pair.in_size - pair.reverse)
    return max(0, min(pair.in_size, pair.out_size, reach))


def find_bounds(buffers: Sequence[Buffer], overlaps: Iterable[Overlap], align: int) -> Bounds:
    """The need of every step: live bytes less what overlaps can save.

    Starts are multiples of `align`, so the same holds for sizes rounded up and distances rounded down, except
    for the unused tail of whichever buffer lies on top. The larger of both counts is valid and taken.
    """
    if not buffers:
        return Bounds(0, [], 0, -1, 0)
    first_step = min(b.first for b in buffers)
    steps = max(b.last for b in buffers) - first_step + 1
    by_name = {b.name: b for b in buffers}
    exact = np.zeros(steps + 1, np.int64)
    rounded = np.zeros(steps + 1, np.int64)
    tail = np.zeros(steps, np.int64)
    for b in buffers:
        start, stop, whole = b.first - first_step, b.last - first_step + 1, round_up(b.size, align)
        exact[start] += b.size
        exact[stop] -= b.size
        rounded[start] += whole
        rounded[stop] -= whole
        np.maximum(tail[start:stop], whole - b.size, out=tail[start:stop])
    need, need_rounded = np.cumsum(exact)[:steps], np.cumsum(rounded)[:steps]
    apart = int(np.maximum(need, need_rounded - tail).max())
    at_step: dict[int, list[Pair]] = defaultdict(list)
    for o in overlaps:
        source, target = by_name[o.input], by_name[o.output]
        pair = Pair(o.input, o.output, source.size, target.size, o.distance, o.reverse)
        at_step[target.first - first_step].append(pair)
    for step, pairs in at_step.items():
        need[step] -= step_saving(pairs)
        need_rounded[step] -= step_saving([pair.aligned(align) for pair in pairs])
    need = np.maximum(need, need_rounded - tail)
    peak = int(need.argmax())
    return Bounds(first_step, need.tolist(), int(need[peak]), first_step + peak, apart)
