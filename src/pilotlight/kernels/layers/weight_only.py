"""A linear layer of floats with int8 or int4 weights, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pilotlight.codegen.step import Fields
from pilotlight.kernels import pack_f32, pack_weights
from pilotlight.kernels.candidate import Array


@dataclass(frozen=True, eq=False)
class WeightLayer:
    """y = clamp(sum * scale + bias, lo, hi), `sum` as ops/dense/weights.py has it."""

    rows: int
    w: Array  # int8 (O, I); with `steps` in -8..7
    scale: Array  # float32 (O)
    bias: Array  # float32 (O)
    steps: Array | None = None  # int4: int32 (O, groups)
    group: int = 0  # int4: inputs that share a step
    bits: int = 0  # int4: of an input
    lo: float = -math.inf
    hi: float = math.inf

    @property
    def kind(self) -> str:
        """The end of its kernels' names."""
        return "w8" if self.steps is None else "w4"

    @property
    def numbers(self) -> dict[str, int]:
        """The members of the kernel's struct up to `reverse`."""
        o, i = self.w.shape
        numbers = {"n": self.rows, "i": i, "o": o, "width": pack_weights.width(i)}
        if self.steps is None:
            return numbers
        grid = pack_weights.Grid(i, self.group)
        per = self.group // grid.chunk
        return numbers | {"chunk": grid.chunk, "per": per, "groups": grid.groups, "bits": self.bits, "room": grid.room}

    def table(self, reverse: bool) -> Fields:
        return {**self.numbers, "reverse": int(reverse), **pack_f32.limits(self.lo, self.hi)}

    def packed(self) -> tuple[Array, ...]:
        """The weights, and for int4 the steps."""
        if self.steps is None:
            return (pack_weights.pack_w8(self.w),)
        return pack_weights.pack_w4(self.w), pack_weights.pack_steps(self.steps)

    @property
    def types(self) -> tuple[str, ...]:
        """The C types of `packed`."""
        return ("int8_t",) if self.steps is None else ("uint32_t", "uint16_t")
