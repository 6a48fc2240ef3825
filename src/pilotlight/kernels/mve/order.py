"""The order of vector instructions in a straight piece of a block.

Each occupies its unit (loads and stores, multiplier, the rest) for two cycles, and another unit's may start after one:
what is ready goes first, as far as nothing depends on what it passes.
"""

from __future__ import annotations

from collections.abc import Iterable

from pilotlight.kernels.assembly.instructions import AsmInstruction
from pilotlight.kernels.assembly.order import Named, movable, uses

AHEAD = 40  # instructions over which one may be moved
BUSY = 2  # cycles


def scheduled(body: Iterable[AsmInstruction]) -> list[AsmInstruction]:
    left, done = list(body), list[AsmInstruction]()
    unit_free, ready = dict[str, int](), dict[Named, int]()
    cycle = 0

    def start(instruction: AsmInstruction) -> int:
        needed = [ready.get(register, 0) for register in uses(instruction)[0]]
        return max(cycle, unit_free.get(_unit(instruction), 0), *needed)

    while left:
        chosen = left.pop(min(movable(left, AHEAD), key=lambda i: (start(left[i]), i)))
        cycle = start(chosen)
        unit_free[_unit(chosen)] = cycle + BUSY
        ready |= dict.fromkeys(uses(chosen)[1], cycle + _latency(chosen))
        done.append(chosen)
        cycle += 1
    return done


def _unit(instruction: AsmInstruction) -> str:
    if instruction.op.startswith(("vldr", "vstr")):
        return "memory"
    return "multiplier" if "mul" in instruction.op else "integer"


def _latency(instruction: AsmInstruction) -> int:
    return 3 if instruction.op.startswith("vqmovn") else 2 if "mul" in instruction.op or "rshl" in instruction.op else 1
