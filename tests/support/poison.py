"""A run in which every byte that is not alive is destroyed before each step, and every write is watched.

The plan says which buffers a step may read and which it may write. Here it is held to that: before step n
all bytes of the arena that no later step may read are overwritten, and after it nothing may have changed but
what the step writes. Outputs that come out right then owe nothing to dead bytes.
"""

from __future__ import annotations

import numpy as np

from pilotlight.plan import Plan
from support.compiled import Library, Tensors


class Watch:
    """Looks at the arena of a library between steps."""

    def __init__(self, library: Library, seed: int = 0):
        self.library, self.plan = library, library.build.plan
        self.random = np.random.default_rng(seed)
        self.before = library.arena.copy()

    def run(self, inputs: Tensors) -> Tensors:
        return self.library.run(inputs, self.between)

    def between(self, step: int) -> None:
        arena = self.library.arena
        if step > 0:
            may_change = self._mask(written(self.plan, step - 1))
            changed = np.flatnonzero((arena != self.before) & ~may_change)
            assert changed.size == 0, f"step {step - 1} ({self.plan.steps[step - 1]}) wrote to byte {changed[0]}"
        dead = ~self._mask(alive(self.plan, step))
        # Bytes of NaN, of large and of small numbers: no pattern is harmless for every type.
        noise = self.random.choice(np.array([0xFF, 0x7F, 0x00, 0x80, 0x3F], np.uint8), arena.size)
        arena[dead] = noise[dead]
        self.before = arena.copy()

    def _mask(self, ranges: list[tuple[int, int]]) -> np.ndarray:
        mask = np.zeros(self.library.arena.size, bool)
        for start, stop in ranges:
            mask[start:stop] = True
        return mask


def alive(plan: Plan, step: int) -> list[tuple[int, int]]:
    """Bytes that hold something which step `step` or a later one, or the caller, will read."""
    return [_range(plan, b.name, b.size) for b in plan.buffers if b.first < step <= b.last]


def written(plan: Plan, step: int) -> list[tuple[int, int]]:
    """Bytes that belong to the outputs and the scratch memory of a step."""
    return [_range(plan, b.name, b.size) for b in plan.buffers if b.first == step]


def _range(plan: Plan, name: str, size: int) -> tuple[int, int]:
    start = plan.arena.offsets[name]
    return start, start + size
