"""A loop over any number of steps with several of them in a turn: the first turn starts in its middle."""

from __future__ import annotations

from collections.abc import Sequence

from pilotlight.kernels.assembly.instructions import AsmInstruction, Core, Function

FARTHEST = 2 * 255  # bytes over which a table of bytes leads


def rest(f: Function, steps: Core, unroll: int) -> None:
    """Turns a number of steps into the number that the first turn of an unrolled loop leaves out."""
    f.add("rsb", steps, steps, 0)
    f.add("and", steps, steps, unroll - 1)


def unrolled(f: Function, step: Sequence[AsmInstruction], unroll: int, left_out: Core) -> None:
    """A turn, from the label `taps` on, entered `left_out` steps after its start by a table of half the distances."""
    starts = ["taps", *(f"taps{n}" for n in range(1, unroll))]
    near = 4 * len(step) * (unroll - 1) + unroll <= FARTHEST
    f.add("tbb" if near else "tbh", f"[pc, {left_out}]" if near else f"[pc, {left_out}, lsl #1]")
    f.label("table")
    f.add(".byte" if near else ".short", ", ".join(f"(.L{start} - .Ltable) / 2" for start in starts))
    for start in starts:
        f.label(start)
        f.body += step
