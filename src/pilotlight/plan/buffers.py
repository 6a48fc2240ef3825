"""What the arena planner works on: sizes, lifetimes and permitted overlaps, with no notion of an operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    place is 0; an output that grows has a negative distance. It counts only at the step where `input`, born
    earlier, is read for the last time and `output` is born; anywhere else it is ignored.
    """

    input: str
    output: str
    distance: int

    def applies(self, buffers: Mapping[str, Buffer]) -> bool:
        source, target = buffers[self.input], buffers[self.output]
        return source.first < source.last == target.first and source.size > 0 and target.size > 0


def usable_overlaps(buffers: Sequence[Buffer], overlaps: Sequence[Overlap]) -> dict[tuple[str, str], int]:
    """(input, output) -> distance for the overlaps that count; of several for one pair, the strictest.

    Raises for data that cannot be planned: such a thing is a mistake of the caller, never of the model.
    """
    by_name: dict[str, Buffer] = {}
    for buffer in buffers:
        if buffer.name in by_name:
            raise PilotlightError(f"two buffers are named {buffer.name!r}", kind="plan")
        if buffer.size < 0 or buffer.first > buffer.last:
            raise PilotlightError(f"expected size >= 0 and first <= last, got {buffer}", kind="plan")
        by_name[buffer.name] = buffer
    usable: dict[tuple[str, str], int] = {}
    for overlap in overlaps:
        for name in (overlap.input, overlap.output):
            if name not in by_name:
                raise PilotlightError(f"{overlap} names {name!r}, which is not a buffer", kind="plan")
        if overlap.applies(by_name):
            pair = (overlap.input, overlap.output)
            usable[pair] = min(overlap.distance, usable.get(pair, overlap.distance))
    return usable
