"""From accumulators to outputs: shift, multiply, add the zero point, limit.

Rounded twice (layers/twice.py), what is added is the zero point and a half, shifted left by as many bits as the sum is
shifted right. A register that shifts counts only with its lowest byte, so other numbers may be above it.
"""

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


def multiply(f: Function, a: Core, m: Core, offset: Core, finish: Finish, spare: Core) -> None:
    """The product and what is added to it, nudged through `spare`, which may be `offset`."""
    if finish.nudge:
        f.add("add", spare, offset, f"{a}, asr #31")
        offset = spare
    f.add("smmlar", a, a, m, offset)


def limit(f: Function, a: Core, finish: Finish, lo: Core | None, hi: Core | None) -> None:
    """To the range of int8, or to lo..hi; rounded twice, the last bits to the right go first."""
    right = 1 if finish.twice else finish.down
    if lo is None or hi is None:
        f.add("ssat", a, 8, f"{a}, asr #{right}" if right else a)
        return
    if right:
        f.add("asr", a, a, right)
    f.add("cmp", a, lo)
    f.add("it", "lt")
    f.add("movlt", a, lo)
    f.add("cmp", a, hi)
    f.add("it", "gt")
    f.add("movgt", a, hi)
