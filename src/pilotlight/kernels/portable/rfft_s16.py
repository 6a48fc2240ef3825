"""The transform of real int16 rows in block floating point: rfft_s16.h, and its table.

A row of n samples is a complex transform of n / 2 points, of radices 4, 2, 5 and 3 in this order, and a last step that
takes real and imaginary parts apart. The table has for each stage two numbers, the radix r and m, the number of sets of
factors, then the factors (m - 1, r - 1) of all sets but the first, which are 1; after the stages the factors of the
last step, k = 1 to (n / 2 - 1) / 2. Factors are pairs of 16 bits, times 2^15.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pilotlight.codegen.target import Target
from pilotlight.kernels.candidate import Array, Candidate
from pilotlight.kernels.registry import offers

LONGEST = 16384  # samples: rounding has room for ten stages
RADICES = (4, 2, 5, 3)
RATES = {"dsp": 7.2, "mve": 4.0}  # instructions for each point and stage
PORTABLE_RATE = 29.0


@dataclass(frozen=True)
class RfftS16Layer:
    """rows of n samples, each to n / 2 + 1 complex bins and an exponent."""

    rows: int
    n: int


def radices(points: int) -> list[int] | None:
    """The radix of each stage, the first one first; None where there is another prime factor than 2, 3 and 5."""
    found, rest = [], points
    for radix in RADICES:
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    return found if rest == 1 else None


def can_transform(n: int) -> bool:
    """Whether there is a kernel for rows of n samples."""
    return 2 <= n <= LONGEST and n % 2 == 0 and radices(n // 2) is not None


def factors(turns: Array) -> Array:
    """e^(-2 pi i t) for parts t of a turn, as int16 (..., 2)."""
    angles = 2 * np.pi * turns
    parts = np.stack([np.cos(angles), -np.sin(angles)], axis=-1)
    return np.clip(np.rint(32768 * parts), -32768, 32767).astype(np.int16)


def stages(n: int) -> Iterator[tuple[int, Array]]:
    """Of each stage the radix and the factors (m, r - 1, 2) of all sets."""
    m = n // 2
    for radix in radices(n // 2) or []:
        m //= radix
        yield radix, factors(np.arange(m)[:, None] * np.arange(1, radix) / (m * radix))


def bin_factors(n: int) -> Array:
    """Those of the last step, -i e^(-2 pi i k / n) for k from 1 on."""
    return factors(np.arange(1, (n // 2 + 1) // 2) / n + 0.25)


def table(n: int) -> Array:
    """What the kernel reads of the length: int16."""
    parts = [np.array([], np.int16)]
    for radix, turned in stages(n):
        parts += [np.array([radix, len(turned)], np.int16), turned[1:].ravel()]
    joined = np.concatenate([*parts, bin_factors(n).ravel()])
    return joined if joined.size else np.zeros(2, np.int16)  # a constant is never empty


def scratch_bytes(n: int) -> int:
    """Arena that the kernel needs while it runs, whatever the number of rows."""
    return -(-2 * n // 8) * 8


@offers(RfftS16Layer)
def rfft(layer: RfftS16Layer, target: Target) -> list[Candidate]:
    """The one kernel of a core."""
    n, points = layer.n, layer.n // 2
    family = next((name for name in ("mve", "dsp") if name in target.isa), "portable")
    work = points * (len(radices(points) or []) + 2)
    return [
        Candidate(
            name=f"{family}.rfft_s16",
            headers=("rfft_mve_s16" if family == "mve" else "rfft_s16",),
            ctype="pl_rfft_s16_t",
            table=lambda reverse: {"rows": layer.rows, "n": n},
            driver="pl_rfft_s16",
            pack=lambda: (table(n),),
            scratch=scratch_bytes(n),
            scratch_type="int16_t",
            distance=2 * n if layer.rows == 1 else -4 * (layer.rows - 1),  # a row is read before any of it is written
            micro=frozenset({"fft_s16"}),
            instructions=round(layer.rows * work * RATES.get(family, PORTABLE_RATE)),
            hint="rfft",
        )
    ]
