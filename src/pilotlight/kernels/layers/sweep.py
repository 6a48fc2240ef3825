"""Kernels that differ in numbers only, such as how many pixels share a patch: too many to estimate, few enough to
measure. They are offered to targets with `measured`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pilotlight.kernels.candidate import Candidate

PIXELS = (1, 2, 3, 4, 6, 9, 12, 24, 48)
OFTEN_BEST = 12
MOST_SCRATCH = 16384  # bytes


def pixel_counts(row: int) -> list[int]:
    """How many pixels of a row are tried at a time, first those that often are best."""
    return sorted({n for n in PIXELS if n < row} | {row}, key=lambda n: abs(math.log(n / OFTEN_BEST)))


def called(candidate: Candidate, *parts: str) -> Candidate:
    """The same under a longer name."""
    return replace(candidate, name=".".join([candidate.name, *parts]))


def unlike(usual: Sequence[Candidate], others: Iterable[Candidate]) -> Iterator[Candidate]:
    """The others that are not among the usual ones under another name, and not each other."""
    seen = {_identity(candidate) for candidate in usual}
    for candidate in others:
        identity = _identity(candidate)
        if identity not in seen and candidate.scratch <= MOST_SCRATCH:
            seen.add(identity)
            yield candidate


def _identity(candidate: Candidate) -> tuple[str, str]:
    return candidate.driver, repr(candidate.table(False))
