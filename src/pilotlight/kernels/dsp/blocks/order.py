"""The order of instructions in a straight piece of a block, for cores that start two of them in a cycle.

Of the two one is a product, and before it goes a load or a widening that it does not depend on. Cores that start one in
a cycle profit as well: a load is not waited for where others come between it and its use.
"""

from __future__ import annotations

from collections.abc import Iterable

from pilotlight.kernels.assembly.instructions import AsmInstruction
from pilotlight.kernels.assembly.order import Named, movable, uses

AHEAD = 32  # instructions over which one may be moved
FIRST, SECOND = ("other", "load", "product"), ("product", "load")  # what starts in a cycle, best first


def mixed(body: Iterable[AsmInstruction]) -> list[AsmInstruction]:
    """The same instructions; what depends on another one comes after it, a cycle later if it can."""
    left, done = list(body), list[AsmInstruction]()
    ready = dict[Named, int]()
    cycle = 0
    while left:
        for kinds in (FIRST, SECOND):
            found = [i for i in movable(left, AHEAD) if _kind(left[i]) in kinds]
            timely = [i for i in found if all(ready.get(r, 0) <= cycle for r in uses(left[i])[0])]
            if timely:
                chosen = left.pop(min(timely, key=lambda i: (kinds.index(_kind(left[i])), i)))
                done.append(chosen)
                ready |= dict.fromkeys(uses(chosen)[1], cycle + 1)
        cycle += 1
    return done


def _kind(instruction: AsmInstruction) -> str:
    return "load" if instruction.op == "ldr" else "product" if instruction.op.startswith("sm") else "other"
