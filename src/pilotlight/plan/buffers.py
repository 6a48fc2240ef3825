"""What the arena planner works on: sizes, lifetimes and permitted overlaps, with no notion of an operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pilotlight.errors import PilotlightError


@dataclass(frozen=True)
class Buffer:
    """`size` bytes that are live from step `first` to step `last`, both inclusive.

    Model inputs have `first` = -1 and model outputs `last` = number of steps; scratch memory of one step has
    `first` = `last`.
    """

    name: str
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Overlap:
    """`output` may share bytes with `input` when `out_offset - in_offset <= distance` (bytes, signed).

    The kernel walks forward, so up to that distance its writes never reach input that is still unread. In
    place is 0; an output that grows has a negative distance. A kernel that can also walk backward permits
    `out_offset - in_offset >= reverse`, the mirror image. It counts only at the step where `input`, born
    earlier, is read for the last time and `output` is born; anywhere else it is ignored.

    A step walks in one direction for all its pairs, so `reverse` counts only where it has a single pair.
    """

    input: str
    output: str
    distance: int
    reverse: int | None = None

    def applies(self, buffers: Mapping[str, Buffer]) -> bool:
        source, target = buffers[self.input], buffers[self.output]
        return source.first < source.last == target.first and source.size > 0 and target.size > 0

    def forward_only(self) -> Overlap:
        return replace(self, reverse=None)

    def stricter(self, other: Overlap | None) -> Overlap:
        """What both this and another one of the same pair permit."""
        if other is None:
            return self
        backward = None if self.reverse is None or other.reverse is None else max(self.reverse, other.reverse)
        return replace(self, distance=min(self.distance, other.distance), reverse=backward)

    def needs_reverse(self, buffers: Mapping[str, Buffer], offsets: Mapping[str, int]) -> bool:
        """Whether a placement that it permits is safe for a backward walk alone."""
        apart = offsets[self.output] - offsets[self.input]
        sharing = -buffers[self.output].size < apart < buffers[self.input].size
        return self.reverse is not None and sharing and apart > self.distance


def pairs_of_step(overlaps: Iterable[Overlap]) -> list[Overlap]:
    """The overlaps of one step, the strictest for each pair; backward only where there is a single pair."""
    strictest: dict[tuple[str, str], Overlap] = {}
    for overlap in overlaps:
        pair = (overlap.input, overlap.output)
        strictest[pair] = overlap.stricter(strictest.get(pair))
    alone = len(strictest) == 1
    return [overlap if alone else overlap.forward_only() for overlap in strictest.values()]


def usable_overlaps(buffers: Sequence[Buffer], overlaps: Sequence[Overlap]) -> list[Overlap]:
    """The overlaps that count, one for each pair of input and output.

    Raises for data that cannot be planned: that is a mistake of the caller, never of the model.
    """
    by_name: dict[str, Buffer] = {}
    for buffer in buffers:
        if buffer.name in by_name:
            raise PilotlightError(f"two buffers are named {buffer.name!r}", kind="plan")
        if buffer.size < 0 or buffer.first > buffer.last:
            raise PilotlightError(f"expected size >= 0 and first <= last, got {buffer}", kind="plan")
        by_name[buffer.name] = buffer
    steps: dict[int, list[Overlap]] = defaultdict(list)
    for overlap in overlaps:
        for name in (overlap.input, overlap.output):
            if name not in by_name:
                raise PilotlightError(f"{overlap} names {name!r}, which is not a buffer", kind="plan")
        steps[by_name[overlap.output].first].append(overlap)
    return [o for step in steps.values() for o in pairs_of_step(step) if o.applies(by_name)]
