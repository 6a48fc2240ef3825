"""From sums to outputs in vectors: the product with a multiplier, rounded once or twice."""

from __future__ import annotations

from pilotlight.kernels.mve.function import HeliumFunction
from pilotlight.kernels.mve.names import Rounding


def multiply(t: HeliumFunction, q: str, m: str, rounding: Rounding) -> None:
    """The high word of the product; rounded twice, of the doubled one."""
    if rounding.shift:
        t.write(f"vshl.i32 {q}, {q}, #{rounding.shift}")
    t.write(f"{'vqrdmulh' if rounding.twice else 'vrmulh'}.s32 {q}, {q}, {m}")


def shift_right(
    t: HeliumFunction, q: str, shifts: str, spare: str, rounding: Rounding, load: str | None = None
) -> None:
    """The second rounding: half up, so negative ones are nudged first. `shifts`, which may be loaded after that, has in
    the lowest byte of each lane how far to the left."""
    if rounding.nudge:
        t.write(f"vshr.s32 {spare}, {q}, #31")
        t.write(f"vadd.i32 {q}, {q}, {spare}")
    if rounding.twice:
        if load:
            t.write(f"vldrw.32 {shifts}, {load}")
        t.write(f"vrshl.s32 {q}, {q}, {shifts}")
