"""How one of several candidates is chosen for a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilotlight.kernels.candidate import Candidate

ONLY = "only candidate"
USUAL = "fewest instructions without more flash or scratch"
LEAST_SCRATCH = "least scratch"
FLASH = "fewest instructions within the flash budget"
IDLE = "fewest instructions in arena that is idle"
MEASURED = "fewest cycles or instructions measured, within flash and arena"


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidate that computes a node, why, and which others there were."""

    candidate: Candidate
    reason: str
    offered: tuple[Candidate, ...]


def usual(offered: Sequence[Candidate]) -> Choice:
    """The first candidate, or a faster one that needs no more flash and no more scratch memory."""
    best = first = offered[0]
    for other in offered[1:]:
        if is_faster(other, best) and other.scratch <= first.scratch and other.flash <= first.flash:
            best = other
    return choice(best, USUAL, offered)


def least_scratch(offered: Sequence[Candidate]) -> Choice:
    """The least scratch memory; of equals, the one whose output may overlap its input furthest."""
    return choice(min(offered, key=_memory), LEAST_SCRATCH, offered)


def fastest(offered: Sequence[Candidate], scratch: int | None = None, flash: int | None = None) -> Candidate:
    """The usual candidate, or the fastest with at most `scratch` bytes and less than `flash` bytes."""
    best = usual(offered).candidate
    for other in offered:
        if is_faster(other, best) and (scratch is None or other.scratch <= scratch):
            best = other if flash is None or other.flash < flash else best
    return best


def is_faster(one: Candidate, other: Candidate) -> bool:
    """Whether it is estimated to execute fewer instructions; what is not known is not faster."""
    return one.instructions is not None and other.instructions is not None and one.instructions < other.instructions


def choice(candidate: Candidate, reason: str, offered: Sequence[Candidate]) -> Choice:
    return Choice(candidate, reason if len(offered) > 1 else ONLY, tuple(offered))


def _memory(candidate: Candidate) -> tuple[int, float, float]:
    forward, backward = candidate.distance, candidate.reverse
    return (
        candidate.scratch, float("inf") if forward is None else -forward,
        float("inf") if backward is None else backward,
    )
