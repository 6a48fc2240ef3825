"""Parts of an image: which rows and columns of its inputs an operator needs for some rows and columns of its output.

Images are (1, H, W, C). What lies outside of an image is padding and stays padding: an area never reaches beyond the
border, the attributes of the part say how much padding is left on each side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pilotlight.graph import Node, Shape, Value

Span = tuple[range, int, int]  # what lies inside, and the padding before and after it


class Area(NamedTuple):
    """A rectangle of an image."""

    rows: range
    columns: range

    @property
    def size(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def corner(self) -> tuple[int, int]:
        return self.rows.start, self.columns.start

    def within(self, other: Area) -> tuple[int, int]:
        """How far down and to the right of another area's corner this one begins."""
        return self.rows.start - other.rows.start, self.columns.start - other.columns.start

    def hull(self, other: Area | None) -> Area:
        """The smallest area that holds both."""
        if other is None:
            return self
        pairs = zip(self, other, strict=True)
        return Area(*(range(min(a.start, b.start), max(a.stop, b.stop)) for a, b in pairs))


@dataclass(frozen=True)
class AreaPart:
    """The attributes with which an operator computes a part of its output, and what it reads of each input."""

    attrs: dict[str, Any]
    reads: list[Area | None]  # None: a constant, as it is
    made: Area | None = None  # what is computed, where that has to be more than was asked for


def is_image(shape: Shape) -> bool:
    return len(shape) == 4 and shape[0] == 1


def whole(shape: Shape) -> Area:
    return Area(range(shape[1]), range(shape[2]))


def window_part(
    node: Node, area: Area, kernel: Sequence[int], stride: Sequence[int], before: Sequence[int], dilation: Sequence[int]
) -> tuple[Area, list[Span]] | None:
    """What windows over input 0 read, and the padding that is left; None where a part would be padding alone."""
    spans = []
    for at, size, k, s, p, d in zip(area, node.inputs[0].shape[1:3], kernel, stride, before, dilation, strict=True):
        start, stop = at.start * s - p, (at.stop - 1) * s - p + (k - 1) * d + 1
        inside = range(max(start, 0), min(stop, size))
        if not inside:
            return None
        spans.append((inside, inside.start - start, stop - inside.stop))
    return Area(spans[0][0], spans[1][0]), spans


def same_part(node: Node, area: Area) -> AreaPart | None:
    """Element by element: every input in the same place, or stretched along rows and columns."""
    reads = [_same_area(value, area) for value in node.inputs]
    spread = (v.is_constant and all(size == 1 for size in v.shape[-3:-1]) for v in node.inputs)
    if any(read is None and not fixed for read, fixed in zip(reads, spread, strict=True)):
        return None
    return AreaPart(node.attrs, reads)


def _same_area(value: Value, area: Area) -> Area | None:
    if value.is_constant or not is_image(value.shape):
        return None
    rows, columns = (range(1) if size == 1 else span for size, span in zip(value.shape[1:3], area, strict=True))
    return Area(rows, columns)
