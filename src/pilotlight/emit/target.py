"""What the code generator has to know of a core: its instruction set features."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """The features that choose kernels; boards name them in their `isa` list."""

    isa: frozenset[str] = frozenset()
    optimize: str = "speed"

    @property
    def float_assembly(self) -> bool:
        """Whether the generated float micro-kernels run on this core."""
        return {"thumb2", "fpu32"} <= self.isa

    @property
    def fused(self) -> bool:
        """Whether a fused multiply-add costs less than a multiply and an add."""
        return "fast-fma" in self.isa
