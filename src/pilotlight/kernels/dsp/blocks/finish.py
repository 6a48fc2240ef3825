"""From accumulators to outputs: shift, multiply, add the zero point, limit."""

from __future__ import annotations

from pilotlight.kernels.assembly.instructions import Core, Function
from pilotlight.kernels.dsp.blocks.names import Finish


def separate(f: Function, a: Core, b: Core, finish: Finish) -> None:
    """a holds 256 A + B, b holds B: leaves A << shift and B << shift."""
    f.add("sub", a, a, b)
    if finish.shift < 8:
        f.add("asr", a, a, 8 - finish.shift)
    elif finish.shift > 8:
        f.add("lsl", a, a, finish.shift - 8)
    shift_left(f, b, finish)


def shift_left(f: Function, a: Core, finish: Finish) -> None:
    if finish.shift:
        f.add("lsl", a, a, finish.shift)


def limit(f: Function, a: Core, lo: Core | None, hi: Core | None) -> None:
    """To the range of int8, or to lo..hi."""
    if lo is None or hi is None:
        f.add("ssat", a, 8, a)
        return
    f.add("cmp", a, lo)
    f.add("it", "lt")
    f.add("movlt", a, lo)
    f.add("cmp", a, hi)
    f.add("it", "gt")
    f.add("movgt", a, hi)
